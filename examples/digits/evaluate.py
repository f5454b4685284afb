"""Judge a training from beside it: the evaluator.

It takes no part in the training. It watches the directory of checkpoints, tries each on the images that were held back,
and ends with the one of the last step.
"""

import argparse
import os
import sys
from pathlib import Path

import tensorflow as tf

import data
import logs
import model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=600, help="the last step of the training")
    parser.add_argument("--checkpoints", type=Path, required=True, help="where the chief keeps them")
    parser.add_argument("--logs", type=Path, help="write curves for TensorBoard here")
    parser.add_argument("--patience", type=float, default=300, help="how many seconds to wait for a new checkpoint")
    options = parser.parse_args()

    _, test = data.load()
    curves = logs.Curves(options.logs, "evaluate")
    weights, step = model.new_weights(), tf.Variable(0, dtype=tf.int64)
    checkpoint = tf.train.Checkpoint(weights=weights, step=step)
    print(f"watching {options.checkpoints}", flush=True)
    for path in tf.train.checkpoints_iterator(str(options.checkpoints), timeout=options.patience):
        try:
            checkpoint.restore(path).expect_partial()
        except (tf.errors.OpError, ValueError):
            continue  # The chief keeps the last three only: this one has just been removed.
        accuracy = float(model.accuracy(*test, weights))
        print(f"step {step.numpy()} accuracy {accuracy:.4f}", flush=True)
        curves.add(int(step.numpy()), accuracy=accuracy)
        if step.numpy() >= options.steps:
            (options.checkpoints / "evaluated").touch()  # The chief waits for this.
            # Everything is written. Shutting TensorFlow down takes its time, and the job may have ended before.
            os._exit(0)
    sys.exit(f"no new checkpoint in {options.patience:.0f} seconds")


if __name__ == "__main__":
    main()
