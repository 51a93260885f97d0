"""The MNIST tutorial's data, as `tensorflow.examples.tutorials.mnist` gave it."""

from tensorfleet.examples.tutorials.mnist import input_data

__all__ = ["input_data"]
