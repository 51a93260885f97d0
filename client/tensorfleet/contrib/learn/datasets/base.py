"""`tf.contrib.learn.datasets.base`: data sets from CSV files."""

from tensorfleet.contrib.csv_datasets import (
    Dataset as Dataset,
    load_boston as load_boston,
    load_csv_with_header as load_csv_with_header,
    load_csv_without_header as load_csv_without_header,
    load_iris as load_iris,
    shrink_csv as shrink_csv,
)
from tensorfleet.records.mnist import Datasets as Datasets

__all__ = [
    "Dataset",
    "Datasets",
    "load_boston",
    "load_csv_with_header",
    "load_csv_without_header",
    "load_iris",
    "shrink_csv",
]
