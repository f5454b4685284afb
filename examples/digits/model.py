"""The model that all examples train: 64 pixels, 64 hidden units, 10 digits.

It is written with plain variables, without Keras, so that each example shows what its strategy does and nothing else.
"""

import tensorflow as tf

LEARNING_RATE = 0.3


def new_weights(**options):
    """Makes the variables of the model; `options` are passed to each. They begin the same in every task."""

    def random(shape, seed):
        return tf.Variable(tf.random.stateless_normal(shape, seed=[seed, seed], stddev=0.1), **options)

    def zeros(shape):
        return tf.Variable(tf.zeros(shape), **options)

    return [random([64, 64], seed=1), zeros([64]), random([64, 10], seed=2), zeros([10])]


def scores(images, weights):
    """How much each image looks like each digit."""
    hidden_weights, hidden_bias, output_weights, output_bias = weights
    hidden = tf.nn.relu(tf.matmul(images, hidden_weights) + hidden_bias)
    return tf.matmul(hidden, output_weights) + output_bias


def losses(images, labels, weights):
    """How wrong the model is about each image."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores(images, weights))


def accuracy(images, labels, weights):
    """The part of the images that the model gets right: 1.0 is all of them."""
    right = tf.equal(tf.argmax(scores(images, weights), axis=1), labels)
    return tf.reduce_mean(tf.cast(right, tf.float32))
