set -e
echo one
exit 1
