import tensorflow as tf
for x in tf.data.TFRecordDataset(["/data/none.tfrecord"]): pass
