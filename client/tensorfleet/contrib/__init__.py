"""The names under `tf.contrib` that many TensorFlow 1.x programs use, beside those of `contrib.training`."""

from tensorfleet.contrib import flattening, regularizers, scaling, sequences, weight_decay

__all__ = ["flattening", "regularizers", "scaling", "sequences", "weight_decay"]
