"""The MNIST database by TensorFlow's path (`tensorflow.examples.tutorials.mnist.input_data`)."""

from tensorfleet.records.mnist import (
    IMAGE_PIXELS,
    NUM_CLASSES,
    SOURCE_URL,
    TEST_IMAGES,
    TEST_LABELS,
    TRAIN_IMAGES,
    TRAIN_LABELS,
    DataSet,
    Datasets,
    dense_to_one_hot,
    read_data_sets,
)

__all__ = [
    "IMAGE_PIXELS",
    "NUM_CLASSES",
    "SOURCE_URL",
    "TEST_IMAGES",
    "TEST_LABELS",
    "TRAIN_IMAGES",
    "TRAIN_LABELS",
    "DataSet",
    "Datasets",
    "dense_to_one_hot",
    "read_data_sets",
]
