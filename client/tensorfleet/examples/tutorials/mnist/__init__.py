"""The MNIST tutorial's data and network, as `tensorflow.examples.tutorials.mnist` gave them."""

from tensorfleet.examples.tutorials.mnist import input_data, mnist

__all__ = ["input_data", "mnist"]
