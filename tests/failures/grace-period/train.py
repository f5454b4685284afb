import json
import os
import signal
import time

if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 1:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open("deaf", "w").close()
    time.sleep(600)
while not os.path.exists("deaf"):
    pass
raise ValueError("bad settings")
