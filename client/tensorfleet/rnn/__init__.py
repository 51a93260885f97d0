"""Recurrent networks: the cells of `tf.nn.rnn_cell`, and the functions that run them over sequences."""

from tensorfleet.rnn import cell, cells, dropout, dynamic, lstm, raw, state, static, wrappers

__all__ = ["cell", "cells", "dropout", "dynamic", "lstm", "raw", "state", "static", "wrappers"]
