"""The data sets of `tf.contrib.slim`: decoders of Examples, parallel readers, providers."""
