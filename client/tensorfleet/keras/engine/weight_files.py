"""The weights of a model in a checkpoint, by the places of its layers."""

from __future__ import annotations

import os
from typing import Any

from tensorfleet.core import errors
from tensorfleet.keras import backend as K
from tensorfleet.train.checkpoint_management import update_checkpoint_state
from tensorfleet.train.object_checkpoint import Checkpoint
from tensorfleet.train.object_graph import is_trackable


def _checkpoint(model: Any, use: str) -> Checkpoint:
    """The model's layers and its optimizer, as TensorFlow's checkpoints of models name them.

    The model keeps one for each use, whose operations serve again; reading makes a counter that is not saved.
    """
    kept = vars(model).setdefault("_kept_checkpoints", {})
    checkpoint: Checkpoint = kept.setdefault(use, Checkpoint())
    # In their order: the first name of a layer is that of its values.
    for name, value in model._checkpoint_children().items():
        if is_trackable(value):
            setattr(checkpoint, name, value)
    return checkpoint


def save(model: Any, path: str, overwrite: bool) -> None:
    """Writes a checkpoint with the weights, and with the optimizer's, if there are any.

    Raises:
        AlreadyExistsError: it is there, and is not to be replaced.
    """
    if not overwrite and os.path.exists(f"{path}.index"):
        raise errors.AlreadyExistsError(
            None, None, f"There is a checkpoint {path} already. Give overwrite=True, or another name."
        )
    directory = os.path.dirname(path)
    if directory:
        os.makedirs(directory, exist_ok=True)
    with model._session_graph().as_default():
        _checkpoint(model, "save").write(path, session=K.get_session())
    update_checkpoint_state(directory or ".", path, [path])


def load(model: Any, path: str) -> Any:
    """Reads the weights of a checkpoint.

    Raises:
        NotFoundError: there is no such checkpoint.
        AssertionError: it lacks weights of the model.
    """
    with model._session_graph().as_default():
        session = K.get_session()
        status = _checkpoint(model, "restore").restore(path)
        status.run_restore_ops(session)
    return status
