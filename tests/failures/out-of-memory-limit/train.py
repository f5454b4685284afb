import os
import time
if '"index":1' in os.environ["TF_CONFIG"].replace(" ", ""):
    time.sleep(600)
hoard = []
while True:
    hoard.append(bytes(1 << 20).replace(b"\0", b"x"))
