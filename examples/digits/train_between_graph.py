"""Train as TensorFlow 1 did: workers that each build the graph, and share its variables on parameter servers (ps).

Each task is told who it is in one of two ways:

- by flags: --job_name=worker --task_index=1 --ps_hosts=host:port --worker_hosts=host:port,host:port
- by the variable TF_CONFIG, if there are no flags.

The chief makes the variables and saves them; it is the task named chief or master, or else worker 0.
"""

import argparse
import json
import os
import sys

import numpy as np
import tensorflow

import data
import model

tf = tensorflow.compat.v1
BATCH = 64  # images in one step of one worker


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--job_name", help="ps or worker")
    parser.add_argument("--task_index", type=int, default=0)
    parser.add_argument("--ps_hosts", default="", help="host:port of each, with commas")
    parser.add_argument("--worker_hosts", default="", help="host:port of each, with commas")
    parser.add_argument("--steps", type=int, default=800, help="how long to train, counted over all workers")
    options = parser.parse_args()
    if options.job_name:
        cluster = {"ps": options.ps_hosts.split(","), "worker": options.worker_hosts.split(",")}
        job, index = options.job_name, options.task_index
    elif "TF_CONFIG" in os.environ:
        config = json.loads(os.environ["TF_CONFIG"])
        cluster, job, index = config["cluster"], config["task"]["type"], config["task"]["index"]
    else:
        sys.exit("no --job_name and no TF_CONFIG: start this with `trainyard run examples/digits-flags.yaml`")

    tf.disable_eager_execution()  # build a graph first, run it in a session later
    server = tf.train.Server(tf.train.ClusterSpec(cluster), job_name=job, task_index=index)
    print(f"{job} {index} of {', '.join(f'{len(hosts)} {name}' for name, hosts in cluster.items())}", flush=True)
    if job == "ps":
        # This never returns. When the training is over the parameter servers are stopped.
        server.join()
    train(server, cluster, job, index, options.steps)


def train(server, cluster, job, index, steps):
    chiefs = [name for name in ("chief", "master") if name in cluster] or ["worker"]
    is_chief = (job, index) == (chiefs[0], 0)
    training, test = data.load()

    # Variables go to the parameter servers, everything else stays here.
    place = tf.train.replica_device_setter(worker_device=f"/job:{job}/task:{index}", cluster=cluster)
    with tf.device(place):
        step = tf.train.get_or_create_global_step()
        images, labels = tf.placeholder(tf.float32, [None, 64]), tf.placeholder(tf.int64, [None])
        weights = model.new_weights()
        loss = tf.reduce_mean(model.losses(images, labels, weights))
        optimizer = tf.train.GradientDescentOptimizer(model.LEARNING_RATE)
        one_step = optimizer.minimize(loss, global_step=step)
        accuracy = model.accuracy(images, labels, weights)

    random = np.random.RandomState(seed=index + 100 * is_chief)  # every worker takes other images
    reached, last_told = 0, 0
    with session(server, job, index, is_chief) as running:
        while reached < steps:
            some = random.randint(len(training[0]), size=BATCH)
            batch = {images: training[0][some], labels: training[1][some]}
            _, reached, lost = running.run([one_step, step, loss], batch)
            if reached >= last_told + 100:
                last_told = reached
                print(f"step {reached} loss {lost:.4f}", flush=True)
        result = running.run(accuracy, {images: test[0], labels: test[1]})
    print(f"accuracy {result:.4f} on {len(test[0])} digits that were not trained on", flush=True)


def session(server, job, index, is_chief):
    """A session that mends itself when a parameter server is started again."""
    # Talk to the parameter servers and to ourselves: without this a session waits for all other workers too.
    config = tf.ConfigProto(device_filters=["/job:ps", f"/job:{job}/task:{index}"])
    if is_chief:
        creator = tf.train.ChiefSessionCreator(master=server.target, config=config)
    else:
        creator = QuickWorker(master=server.target, config=config)
    return tf.train.MonitoredSession(creator)


class QuickWorker(tf.train.WorkerSessionCreator):
    """A worker that asks every second whether the chief has made the variables. TensorFlow's own asks every 30."""

    def _get_session_manager(self):
        manager = super()._get_session_manager()
        manager._recovery_wait_secs = 1
        return manager


if __name__ == "__main__":
    main()
