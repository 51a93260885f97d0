"""Weights and models in HDF5 files, with h5py if it is installed, in the layout of Keras 2."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.keras import backend as K
from tensorfleet.keras.serialization import plain


def is_hdf5_path(path: Any) -> bool:
    """Whether a path has the ending of an HDF5 file."""
    return str(os.fspath(path)).endswith((".h5", ".keras", ".hdf5"))


def is_hdf5_file(path: Any) -> bool:
    """Whether a file is an HDF5 file, by its first bytes; of one that is missing, by its ending."""
    try:
        with open(path, "rb") as file:
            return file.read(8) == b"\x89HDF\r\n\x1a\n"
    except OSError:
        return is_hdf5_path(path)


def h5py() -> Any:
    """The library h5py.

    Raises:
        ImportError: it is not installed.
    """
    try:
        import h5py as module
    except ImportError as error:
        raise ImportError(
            "HDF5 files need h5py: pip install h5py. Without it, weights are saved as checkpoints: by "
            'save_weights(path, save_format="tf"), or a path without the ending .h5.'
        ) from error
    return module


def _open_new(path: str, overwrite: bool) -> Any:
    if not overwrite and os.path.exists(path):
        raise errors.AlreadyExistsError(
            None, None, f"There is a file {path} already. Give overwrite=True, or another name."
        )
    return h5py().File(path, "w")


def save_weights(model: Any, path: str, overwrite: bool = True) -> None:
    """Writes the weights of a model."""
    with _open_new(path, overwrite) as file:
        _write_layers(file, model)


def _write_layers(group: Any, model: Any) -> None:
    layers = model.layers
    group.attrs["layer_names"] = [layer.name.encode() for layer in layers]
    group.attrs["backend"] = b"tensorflow"
    group.attrs["keras_version"] = b"2.2.4-tf"
    for layer in layers:
        part = group.create_group(layer.name)
        _write_values(part, layer.weights)


def _write_values(part: Any, weights: list[Any]) -> None:
    values = K.batch_get_value(weights)
    part.attrs["weight_names"] = [w.name.encode() for w in weights]
    for weight, value in zip(weights, values, strict=True):
        part.create_dataset(weight.name, data=value)


def load_weights(model: Any, path: str, by_name: bool) -> None:
    """Reads the weights of a model from a file with weights, or with a model."""
    with h5py().File(path, "r") as file:
        group = file["model_weights"] if "layer_names" not in file.attrs and "model_weights" in file else file
        _read_layers(group, model, by_name)


def _names(values: Any) -> list[str]:
    return [value.decode() if isinstance(value, bytes) else str(value) for value in values]


def _read_layers(group: Any, model: Any, by_name: bool) -> None:
    saved = []
    for name in _names(group.attrs["layer_names"]):
        part = group[name]
        values = [np.asarray(part[weight]) for weight in _names(part.attrs["weight_names"])]
        if values or by_name:
            saved.append((name, values))
    pairs = []
    if by_name:
        layers = {layer.name: layer for layer in model.layers}
        chosen = [(layers[name], values) for name, values in saved if name in layers]
    else:
        own = [layer for layer in model.layers if layer.weights]
        if len(own) != len(saved):
            raise ValueError(
                f"You are trying to load a weight file containing {len(saved)} layers into a model with "
                f"{len(own)} layers."
            )
        chosen = [(layer, values) for layer, (_, values) in zip(own, saved, strict=True)]
    for layer, values in chosen:
        if len(layer.weights) != len(values):
            raise ValueError(
                f'Layer "{layer.name}" expects {len(layer.weights)} weight(s), but the saved weights have '
                f"{len(values)} element(s)."
            )
        for weight, value in zip(layer.weights, values, strict=True):
            if tuple(weight.shape.as_list()) != value.shape:
                raise ValueError(
                    f'Layer "{layer.name}", weight {weight.name} has shape {weight.shape}, but '
                    f"the saved weight has "
                    f"shape {value.shape}."
                )
            pairs.append((weight, value))
    K.batch_set_value(pairs)


def save_model(model: Any, path: str, overwrite: bool, include_optimizer: bool, training: Any) -> None:
    """Writes a model: its configuration, its weights, how it is trained, and the state of its optimizer."""
    with _open_new(path, overwrite) as file:
        file.attrs["model_config"] = json.dumps(plain(model._updated_config())).encode()
        file.attrs["backend"], file.attrs["keras_version"] = b"tensorflow", b"2.2.4-tf"
        _write_layers(file.create_group("model_weights"), model)
        if include_optimizer and training is not None:
            file.attrs["training_config"] = json.dumps(plain(training)).encode()
            weights = getattr(model.optimizer, "_weights", [])
            if weights:
                _write_values(file.create_group("optimizer_weights"), weights)


def read_configs(path: str) -> tuple[Any, Any]:
    """The configuration of a model in a file, and how it is trained.

    Raises:
        ValueError: the file has weights alone.
    """
    with h5py().File(path, "r") as file:
        if "model_config" not in file.attrs:
            raise ValueError(f"No model found in {path}, perhaps weights alone: see load_weights.")
        texts = [file.attrs.get(name) for name in ("model_config", "training_config")]
    return tuple(None if text is None else json.loads(_names([text])[0]) for text in texts)  # type: ignore[return-value]


def read_optimizer(path: str) -> list[Any] | None:
    """The state of the optimizer, None if the file has none."""
    with h5py().File(path, "r") as file:
        if "optimizer_weights" not in file:
            return None
        return optimizer_weights(file)


def optimizer_weights(group: Any) -> list[Any]:
    """The arrays of the optimizer's state in an open file or group that has them."""
    part = group["optimizer_weights"]
    return [np.asarray(part[name]) for name in _names(part.attrs["weight_names"])]
