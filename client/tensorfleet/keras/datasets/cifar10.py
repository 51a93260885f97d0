"""`tf.keras.datasets.cifar10`, from files in ~/.keras/datasets."""

import typing as _typing

from tensorfleet.keras.dataset_files import load_cifar10 as load_data

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["load_data"]
