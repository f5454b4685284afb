"""Train with ParameterServerStrategy: a chief, some workers, some parameter servers (ps).

Every task of the job runs this same file. The variable TF_CONFIG tells each who it is and where the others are:

- a ps holds the model's weights;
- a worker computes how the weights should change, and tells the ps;
- the chief tells the workers what to do, one step after the other, and looks at the result.

Workers do not wait for each other, so a slow one does not hold up the rest.
"""

import argparse
import shutil
import time
from pathlib import Path

import tensorflow as tf

import data
import logs
import model

BATCH = 64  # images in one step of one worker
ROUND = 150  # steps between two looks at the result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=600, help="how long to train")
    parser.add_argument("--checkpoints", type=Path, help="keep unfinished work here, and go on with what is there")
    parser.add_argument("--logs", type=Path, help="write curves for TensorBoard here")
    parser.add_argument("--wait-for-evaluator", type=float, metavar="SECONDS", default=0)
    options = parser.parse_args()

    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver(rpc_layer="grpc")
    if cluster.task_type in ("worker", "ps"):
        serve(cluster)
    else:
        train(cluster, options)


def serve(cluster):
    """What workers and parameter servers do: whatever the chief asks of them."""
    # On a machine with one processor TensorFlow would do one thing at a time, and a worker would wait for itself.
    config = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=4)
    server = tf.distribute.Server(
        cluster.cluster_spec(), job_name=cluster.task_type, task_index=cluster.task_id, config=config
    )
    print(f"{cluster.task_type} {cluster.task_id} is ready", flush=True)
    # This never returns. The job is over when the chief ends; then the others are stopped.
    server.join()


def train(cluster, options):
    """What the chief does."""
    strategy = tf.distribute.ParameterServerStrategy(cluster)  # waits until all workers and servers are there
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    training, test = data.load()
    with strategy.scope():  # variables that are made in here live on the parameter servers
        weights = model.new_weights()
        step = tf.Variable(0, dtype=tf.int64)
    print(f"the weights are on {weights[0].device}", flush=True)

    checkpoints = None
    if options.checkpoints:
        checkpoint = tf.train.Checkpoint(weights=weights, step=step)
        checkpoints = tf.train.CheckpointManager(checkpoint, str(options.checkpoints), max_to_keep=3)
        if checkpoints.restore_or_initialize():
            print(f"resumed at step {step.numpy()}", flush=True)

    @tf.function
    def one_step(batches):
        images, labels = next(batches)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model.losses(images, labels, weights))
        for weight, gradient in zip(weights, tape.gradient(loss, weights)):
            weight.assign_sub(model.LEARNING_RATE * gradient)
        step.assign_add(1)
        return loss

    def batches():
        return tf.data.Dataset.from_tensor_slices(training).shuffle(len(training[0])).repeat().batch(BATCH)

    each_workers_batches = iter(coordinator.create_per_worker_dataset(batches))
    curves = logs.Curves(options.logs, "train")
    while step.numpy() < options.steps:
        # Steps are handed to whichever worker is free. If a worker is lost, another does its step.
        for _ in range(min(ROUND, options.steps - step.numpy())):
            loss = coordinator.schedule(one_step, args=(each_workers_batches,))
        coordinator.join()
        print(f"step {step.numpy()} loss {loss.fetch():.4f}", flush=True)
        curves.add(int(step.numpy()), loss=float(loss.fetch()))
        if checkpoints:
            checkpoints.save(int(step.numpy()))

    if options.wait_for_evaluator:
        wait_for_evaluator(options.checkpoints, options.wait_for_evaluator)
    if checkpoints:
        # The work is finished: the next run begins anew.
        shutil.rmtree(options.checkpoints)
    accuracy = model.accuracy(*test, [tf.convert_to_tensor(weight) for weight in weights])
    print(f"accuracy {accuracy:.4f} on {len(test[0])} digits that were not trained on", flush=True)


def wait_for_evaluator(checkpoints, seconds):
    """The job ends with the chief, so the chief lets the evaluator see the last checkpoint."""
    end = time.monotonic() + seconds
    while not (checkpoints / "evaluated").exists():
        if time.monotonic() > end:
            print(f"no word from the evaluator for {seconds:.0f} seconds", flush=True)
            return
        time.sleep(0.2)


if __name__ == "__main__":
    main()
