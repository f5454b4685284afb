import tensorflow as tf
c = tf.estimator.RunConfig()
