import subprocess

subprocess.check_call(["ls", "/data/not-there"])
