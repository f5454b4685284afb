import tensorflow as tf

cluster = tf.train.ClusterSpec({"worker": ["127.0.0.1:18765"]})
tf.distribute.Server(cluster, job_name="worker", task_index=0)
