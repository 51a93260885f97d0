"""`tf.contrib.learn.datasets`: small data sets in memory, from files that are there."""

import typing as _typing

from tensorfleet.contrib.csv_datasets import (
    DATASETS as DATASETS,
    load_boston as load_boston,
    load_dataset as load_dataset,
    load_iris as load_iris,
)
from tensorfleet.contrib.learn.datasets import base as base, mnist as mnist

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__, modules=("base", "mnist"))
