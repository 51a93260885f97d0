"""The MNIST tutorial's data and network (`tensorflow.examples.tutorials.mnist`)."""

from tensorfleet.examples.tutorials.mnist import input_data, mnist

__all__ = ["input_data", "mnist"]
