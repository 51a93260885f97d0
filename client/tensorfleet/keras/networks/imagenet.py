"""Images as networks of ImageNet take them, and names of ImageNet's classes."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np

from tensorfleet.keras.array_utils import get_file
from tensorfleet.keras.backend.state import floatx, image_data_format
from tensorfleet.keras.networks.building import CLASSES

_INDEX = "https://storage.googleapis.com/download.tensorflow.org/data/imagenet_class_index.json"
CLASS_INDEX_HASH = "c2c37ea517e94d9795004a39431a14cb"
# Of ImageNet: the mean of blue, green and red; the mean and the standard deviation of red, green and blue.
_CAFFE = (103.939, 116.779, 123.68)
_TORCH = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def preprocess_input(x: Any, data_format: str | None = None, mode: str = "caffe") -> Any:
    """Images as a network takes them (`tf.keras.applications.imagenet_utils.preprocess_input`).

    Args:
        x: red, green and blue from 0 to 255: an array of one image or several, which is overwritten if it is
            of floats, or a tensor.
        data_format: "channels_last" or "channels_first", by default `image_data_format()`.
        mode: "caffe" takes the channels in the other order, and subtracts ImageNet's means; "tf" scales to
            -1 and 1; "torch" to 0 and 1, and then by ImageNet's means and standard deviations.

    Raises:
        ValueError: an unknown `data_format`.
    """
    data_format = data_format or image_data_format()
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"Unknown data_format {data_format}")
    array = isinstance(x, np.ndarray)
    if array and not issubclass(x.dtype.type, np.floating):
        x = x.astype(floatx(), copy=False)
    if mode == "tf":
        if not array:
            return x / 127.5 - 1.0
        x /= 127.5
        x -= 1.0
        return x
    first = data_format == "channels_first"
    if mode == "torch":
        mean, deviation = _TORCH
        if array:
            x /= 255.0
        else:
            x = x / 255.0
    else:
        mean, deviation = _CAFFE, None
        # The channels are the third dimension from the end, or the last.
        x = x[..., ::-1, :, :] if first else x[..., ::-1]
    if array:
        x -= _channels(mean, first, x.dtype)
        if deviation is not None:
            x /= _channels(deviation, first, x.dtype)
        return x
    kind = x.dtype.as_numpy_dtype
    x = x - _channels(mean, first, kind)
    return x if deviation is None else x / _channels(deviation, first, kind)


def _channels(values: tuple[float, ...], first: bool, dtype: Any) -> np.ndarray:
    return np.reshape(np.array(values, dtype), (-1, 1, 1) if first else (-1,))


def scaled(x: Any, data_format: str | None = None) -> Any:
    """`preprocess_input` from -1 to 1, which most networks take."""
    return preprocess_input(x, data_format, "tf")


def standardized(x: Any, data_format: str | None = None) -> Any:
    """`preprocess_input` by ImageNet's means and standard deviations, which DenseNets take."""
    return preprocess_input(x, data_format, "torch")


def decode_predictions(preds: Any, top: int = 5) -> list[list[tuple[str, str, Any]]]:
    """The most probable classes of images (`tf.keras.applications.imagenet_utils.decode_predictions`).

    Args:
        preds: [images, 1000], an array.
        top: how many classes of each image.

    Returns:
        For each image its classes: WordNet's number, the name, the probability.

    Raises:
        ValueError: another shape.
        FileNotFoundError: imagenet_class_index.json, which has the names, is not in ~/.keras/models.
    """
    if len(preds.shape) != 2 or preds.shape[1] != CLASSES:
        raise ValueError(
            "`decode_predictions` expects a batch of predictions "
            f"(i.e. a 2D array of shape (samples, {CLASSES})). Found array with shape: {preds.shape}"
        )
    path = get_file("imagenet_class_index.json", _INDEX, cache_subdir="models", file_hash=CLASS_INDEX_HASH)
    classes = _classes(path)
    return [[(*classes[str(i)], row[i]) for i in row.argsort()[-top:][::-1]] for row in preds]


@cache
def _classes(path: str) -> dict[str, list[str]]:
    with open(path, encoding="utf-8") as file:
        index: dict[str, list[str]] = json.load(file)
    return index
