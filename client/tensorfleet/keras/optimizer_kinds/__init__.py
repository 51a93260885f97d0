"""The optimizers of `tf.keras.optimizers`, and their schedules."""
