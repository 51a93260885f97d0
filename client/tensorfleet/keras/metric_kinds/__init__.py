"""The metrics of `tf.keras.metrics` by their kinds."""
