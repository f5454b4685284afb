"""Stands for the `main.py` of an exercise for the TensorFlow operator, which was written for TensorFlow 1.10.

The same steps by way of `tensorflow.compat.v1`, on the digits of our examples: read TF_CONFIG (a task that is alone has
none), start a server, stay in it as a ps, else train; the master makes the variables.
"""

import json
import os

import numpy as np
import tensorflow

import data
import model

tf = tensorflow.compat.v1
STEPS, BATCH = 800, 64


def main():
    tf.disable_eager_execution()
    config = json.loads(os.environ.get("TF_CONFIG", "{}"))
    cluster, task = config.get("cluster", {}), config.get("task", {})
    if not cluster:
        print("a task alone, without TF_CONFIG", flush=True)
        train(tf.device(None), tf.train.ChiefSessionCreator())
        return
    job, index = task["type"], task["index"]
    definition = tf.train.ServerDef(
        cluster=tf.train.ClusterSpec(cluster).as_cluster_def(), protocol="grpc", job_name=job, task_index=index
    )
    server = tf.train.Server(definition)
    print(f"{job} {index} among {', '.join(sorted(cluster))}", flush=True)
    if job == "ps":
        server.join()
    me = f"/job:{job}/task:{index}"
    place = tf.train.replica_device_setter(worker_device=me, cluster=cluster)
    # Without the filters a session waits for every other worker too.
    filters = tf.ConfigProto(device_filters=["/job:ps", me])
    creator = tf.train.ChiefSessionCreator if job == "master" else tf.train.WorkerSessionCreator
    train(tf.device(place), creator(master=server.target, config=filters))


def train(place, creator):
    training, test = data.load()
    with place:
        step = tf.train.get_or_create_global_step()
        images, labels = tf.placeholder(tf.float32, [None, 64]), tf.placeholder(tf.int64, [None])
        weights = model.new_weights()
        loss = tf.reduce_mean(model.losses(images, labels, weights))
        one_step = tf.train.GradientDescentOptimizer(model.LEARNING_RATE).minimize(loss, global_step=step)
        accuracy = model.accuracy(images, labels, weights)
    reached = 0
    with tf.train.MonitoredSession(creator) as session:
        while reached < STEPS:
            some = np.random.randint(len(training[0]), size=BATCH)
            _, reached = session.run([one_step, step], {images: training[0][some], labels: training[1][some]})
        result = session.run(accuracy, {images: test[0], labels: test[1]})
    print(f"accuracy {result:.4f} on {len(test[0])} digits that were not trained on", flush=True)


if __name__ == "__main__":
    main()
