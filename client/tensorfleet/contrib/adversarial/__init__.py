"""Generative adversarial networks, whose names are in `tf.contrib.gan`."""
