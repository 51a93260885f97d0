"""Models in files: their configuration, their weights, and how they are trained."""

from __future__ import annotations

import json
import os
from typing import Any

from tensorfleet.core import errors
from tensorfleet.keras import nest
from tensorfleet.keras.engine import hdf5
from tensorfleet.keras.loss_classes import Loss, serialize as serialize_loss
from tensorfleet.keras.optimizer_kinds.base import Optimizer
from tensorfleet.keras.serialization import plain

CONFIG, TRAINING, WEIGHTS = "model.json", "training.json", "weights"


def _training_config(model: Any) -> dict[str, Any] | None:
    """How a model is trained, None if its optimizer has no configuration."""
    if not isinstance(model.optimizer, Optimizer) or model._arguments is None:
        return None
    given = model._arguments

    def name(loss: Any) -> Any:
        return serialize_loss(loss) if isinstance(loss, Loss) or callable(loss) else loss

    return {
        "optimizer_config": {
            "class_name": type(model.optimizer).__name__,
            "config": model.optimizer.get_config(),
        },
        "loss": nest.map_structure(name, given["loss"]),
        "metrics": nest.map_structure(name, given["metrics"]),
        "weighted_metrics": nest.map_structure(name, given["weighted_metrics"]),
        "sample_weight_mode": given["sample_weight_mode"],
        "loss_weights": given["loss_weights"],
    }


def save_model(
    model: Any,
    filepath: str,
    overwrite: bool = True,
    include_optimizer: bool = True,
    save_format: str | None = None,
    signatures: Any = None,
) -> None:
    """Writes a model: an HDF5 file, or a directory with its configuration and a checkpoint.

    Args:
        include_optimizer: whether the state of the optimizer is written, too.
        save_format: "h5" (by the ending .h5, with h5py) or "tf", the directory.
    """
    filepath = os.fspath(filepath)
    training = _training_config(model) if include_optimizer and model._is_compiled else None
    if save_format == "h5" or (save_format is None and hdf5.is_hdf5_path(filepath)):
        hdf5.save_model(model, filepath, overwrite, include_optimizer, training)
        return
    config = json.dumps(plain(model._updated_config()))
    if not overwrite and os.path.exists(filepath):
        raise errors.AlreadyExistsError(
            None, None, f"There is a model {filepath} already. Give overwrite=True, or another name."
        )
    os.makedirs(filepath, exist_ok=True)
    model.save_weights(os.path.join(filepath, WEIGHTS), save_format="tf")
    with open(os.path.join(filepath, CONFIG), "w") as file:
        file.write(config)
    path = os.path.join(filepath, TRAINING)
    if training is not None:
        with open(path, "w") as file:
            json.dump(plain(training), file)
    elif os.path.exists(path):
        os.remove(path)
