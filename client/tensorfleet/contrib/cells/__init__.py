"""The rarer cells of `tf.contrib.rnn`, `tf.contrib.cudnn_rnn` and `tf.contrib.grid_rnn`."""
