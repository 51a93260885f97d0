"""`tf.contrib.sparsemax`: probabilities that may be zero."""

from tensorfleet.contrib.sparse_softmax import sparsemax as sparsemax, sparsemax_loss as sparsemax_loss

__all__ = ["sparsemax", "sparsemax_loss"]
