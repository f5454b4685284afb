"""Curves for TensorBoard."""

import time

import tensorflow as tf


class Curves:
    """Writes numbers over steps to `<directory>/<name>-<time>`; without a directory it writes nothing.

    TensorFlow's own `tf.summary.scalar` needs the package tensorboard, which TensorFlow no longer brings along. The
    older writer does not.
    """

    def __init__(self, directory, name):
        self.writer = None
        if directory:
            # A directory for each run: TensorBoard shows them as separate curves.
            path = directory / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
            with tf.Graph().as_default():
                self.writer = tf.compat.v1.summary.FileWriter(str(path))

    def add(self, step, **values):
        """Adds one point to each of the named curves."""
        if self.writer:
            points = [tf.compat.v1.Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]
            with tf.Graph().as_default():
                self.writer.add_summary(tf.compat.v1.Summary(value=points), step)
            self.writer.flush()
