"""The architectures of `tf.keras.applications`, with the names of layers that TensorFlow 1.15 has."""
