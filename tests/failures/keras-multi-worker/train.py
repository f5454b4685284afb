import numpy as np
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(4)])
    model.compile("sgd", "mse")
model.fit(np.zeros((32, 8)), np.zeros((32, 4)), epochs=2, batch_size=8)
