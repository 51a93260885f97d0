"""Training: optimizers, learning-rate schedules, moving averages, replicas (`tf.train`)."""

from tensorfleet.train import checkpoint_management, checkpoint_reader, graph_io, meta_graph, saver

__all__ = ["checkpoint_management", "checkpoint_reader", "graph_io", "meta_graph", "saver"]
