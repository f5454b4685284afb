import tensorflow as tf
@tf.function
def f(a, b):
    return tf.matmul(a, b)
f(tf.ones([2, 3]), tf.ones([5, 2]))
