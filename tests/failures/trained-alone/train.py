import time

import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
end = time.monotonic() + 8
while time.monotonic() < end:
    model.fit(np.ones((64, 4)), np.ones((64, 1)), verbose=0)
