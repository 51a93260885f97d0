"""The callbacks of `tf.keras.callbacks`."""
