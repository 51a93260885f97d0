"""`tf.contrib.learn.datasets.mnist`: the MNIST database from its four files."""

from tensorfleet.contrib.csv_datasets import load_mnist as load_mnist
from tensorfleet.records.mnist import (
    DataSet as DataSet,
    Datasets as Datasets,
    dense_to_one_hot as dense_to_one_hot,
    read_data_sets as read_data_sets,
)

__all__ = ["DataSet", "Datasets", "dense_to_one_hot", "load_mnist", "read_data_sets"]
