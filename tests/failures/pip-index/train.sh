python3 -m pip install --disable-pip-version-check --retries 0 --timeout 3 --index-url http://127.0.0.1:9/simple no-such-package-anywhere
