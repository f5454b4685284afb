import tensorflow as tf
x = tf.placeholder(tf.float32)
