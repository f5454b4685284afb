import json
import os
import time

import tensorflow as tf

config = json.loads(os.environ["TF_CONFIG"])
cluster = tf.train.ClusterSpec(config["cluster"])
if config["task"]["type"] == "ps":
    time.sleep(8)
# Every task takes itself for worker 0.
server = tf.distribute.Server(cluster, job_name="worker", task_index=0)
server.join()
