"""Recurrent networks: the cells of `tf.nn.rnn_cell`, and the functions that run them over sequences."""
