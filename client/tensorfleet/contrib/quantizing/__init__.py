"""The rewriting of graphs for 8-bit inference, whose names are in `tf.contrib.quantize`."""
