import json
import os
import signal
import time

role = json.loads(os.environ["TF_CONFIG"])["task"]["type"]
if role == "evaluator":
    def stop(*_):
        raise ValueError("no checkpoint to evaluate")
    signal.signal(signal.SIGTERM, stop)
    open("evaluating", "w").close()
    time.sleep(600)
while not os.path.exists("evaluating"):
    pass
