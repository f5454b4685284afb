"""Train with MultiWorkerMirroredStrategy: workers only, all in step, each with a copy of the whole model.

In every step each worker computes on its own part of the images; then they exchange what they found and change their
copies in the same way. So all workers print the same loss. And if one is lost, none can go on: the others end, all are
started again together (`restartScope: Job`), and go on from the last checkpoint.

To show that, LOSE_WORKER and LOSE_AT_STEP make one worker kill itself, once.
"""

import argparse
import os
import shutil
import signal
import tempfile
from pathlib import Path

import tensorflow as tf

import data
import model

BATCH = 32  # images in one step of one worker
ROUND = 100  # steps between two checkpoints
TRY_AGAIN = 138  # the exit code that restartPolicy ExitCode takes for "start me again"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400, help="how long to train")
    parser.add_argument("--checkpoints", type=Path, required=True, help="a directory that all workers share")
    options = parser.parse_args()

    # This waits until all workers are there, and must come before TensorFlow is used for anything else.
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    # TensorFlow has now caught SIGTERM and would ignore it. We want to end when we are asked to.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        train(strategy, options)
    except (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.InternalError) as error:
        print(f"a worker was lost: {type(error).__name__}", flush=True)
        # At once, without waiting for those who are gone.
        os._exit(TRY_AGAIN)


def train(strategy, options):
    worker = strategy.cluster_resolver.task_id or 0
    workers = strategy.num_replicas_in_sync
    print(f"worker {worker} of {workers}", flush=True)
    training, test = data.load()
    with strategy.scope():  # variables that are made in here have a copy in every worker
        # MEAN: when the workers change a variable in one step, it changes by the mean of what they want.
        weights = model.new_weights(aggregation=tf.VariableAggregation.MEAN)
        step = tf.Variable(0, dtype=tf.int64)
    options.checkpoints.mkdir(parents=True, exist_ok=True)
    checkpoint = tf.train.Checkpoint(weights=weights, step=step)
    last = tf.train.latest_checkpoint(str(options.checkpoints))
    if last:
        checkpoint.restore(last)
        print(f"resumed at step {step.numpy()}", flush=True)

    batches = tf.data.Dataset.from_tensor_slices(training).shuffle(len(training[0]), seed=0).repeat()
    sharding = tf.data.Options()  # each worker takes a part of every batch: there is only one file to share out
    sharding.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    batches = batches.batch(BATCH * workers).with_options(sharding)
    batches = iter(strategy.experimental_distribute_dataset(batches))

    def on_each_worker(images, labels):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model.losses(images, labels, weights))
        for weight, gradient in zip(weights, tape.gradient(loss, weights)):
            weight.assign_sub(model.LEARNING_RATE * gradient)
        return loss

    @tf.function
    def one_step(batches):
        loss = strategy.run(on_each_worker, args=next(batches))
        step.assign_add(1)
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, loss, axis=None)

    while step.numpy() < options.steps:
        loss = one_step(batches)
        lose_a_worker(worker, step.numpy(), options.checkpoints)
        if step.numpy() % ROUND == 0 or step.numpy() >= options.steps:
            print(f"step {step.numpy()} loss {loss:.6f}", flush=True)
            save(checkpoint, step, worker, options.checkpoints)

    accuracy = model.accuracy(*test, weights)
    print(f"accuracy {accuracy:.4f} on {len(test[0])} digits that were not trained on", flush=True)
    if worker == 0:
        # The work is finished: the next run begins anew.
        shutil.rmtree(options.checkpoints)


def save(checkpoint, step, worker, directory):
    """Worker 0 saves for all. TensorFlow wants the others to save too; what they save is thrown away."""
    with tempfile.TemporaryDirectory() as nowhere:
        place = str(directory) if worker == 0 else nowhere
        tf.train.CheckpointManager(checkpoint, place, max_to_keep=3).save(int(step.numpy()))


def lose_a_worker(worker, step, directory):
    """Plays a machine that fails: no message, no farewell."""
    chosen = (int(os.environ.get("LOSE_WORKER", -1)), int(os.environ.get("LOSE_AT_STEP", -1)))
    mark = directory / "lost-a-worker"
    if (worker, step) == chosen and not mark.exists():
        mark.touch()
        print(f"step {step}: this worker dies now", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
        os._exit(128 + signal.SIGKILL)  # the first process of a container cannot kill itself by a signal


if __name__ == "__main__":
    main()
