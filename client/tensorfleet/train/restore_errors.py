"""Errors for a checkpoint that does not fit the graph, which list the variables that differ."""

from __future__ import annotations

import os
from typing import Any

from tensorfleet.checkpoint import files
from tensorfleet.checkpoint.bundle_reader import BundleReader
from tensorfleet.core import errors
from tensorfleet.train.saveables import SaveSpec, op_list_to_dict, validated

_TEXT = (
    "Restoring from checkpoint failed. This is most likely due to {cause} from the checkpoint. Please ensure "
    "that you have not altered the graph expected based on the checkpoint. Original error:\n\n{error}"
)
_MISSING = "a Variable name or other graph key that is missing"
_MISMATCH = "a mismatch between the current graph and the graph"
_LISTED = 10  # greatest number of names in a message


def check(var_list: Any, prefix: str, reshape: bool) -> None:
    """Compares variables with the index of a checkpoint, before any of them is changed.

    Args:
        var_list: the argument of the Saver; None if the Saver is from a SaverDef, so that it is unknown.
        prefix: the checkpoint, which this process can read.
        reshape: whether only the number of elements has to be equal.

    Raises:
        NotFoundError: variables are missing in the checkpoint.
        InvalidArgumentError: variables have another dtype or shape in the checkpoint.
        DataLossError: the index is damaged.
    """
    # A checkpoint of format V1 has no index: the operation that restores compares.
    if var_list is None or not os.path.exists(files.index_path(prefix)):
        return
    names = var_list if isinstance(var_list, dict) else op_list_to_dict(var_list)
    specs = [spec for saveable in validated(names) for spec in saveable.specs]
    with BundleReader(prefix) as reader:
        missing = [spec.name for spec in specs if spec.name not in reader.entries]
        if missing:
            extra = sorted(set(reader.entries) - {spec.name for spec in specs})
            text = f"Key {missing[0]} not found in checkpoint\nIn the graph, but not in {prefix}: "
            text += f"{_names(missing)}\nIn the checkpoint, but not asked for: {_names(extra)}"
            raise errors.NotFoundError(None, None, _TEXT.format(cause=_MISSING, error=text))
        different = [text for spec in specs if (text := _difference(spec, reader, reshape))]
    if different:
        text = f"In {prefix}:\n" + "\n".join(different[:_LISTED])
        raise errors.InvalidArgumentError(None, None, _TEXT.format(cause=_MISMATCH, error=text))


def _difference(spec: SaveSpec, reader: BundleReader, reshape: bool) -> str:
    stored = reader.dtype(spec.name)
    if stored is not spec.dtype:
        return (
            f"tensor_name = {spec.name}; expected dtype {spec.dtype.name} does not equal original dtype "
            f"{stored.name}"
        )
    shape, wanted = reader.shape(spec.name), spec.tensor.shape
    if spec.slice_spec or wanted.is_compatible_with(shape):
        return ""
    if reshape:
        count = 1
        for size in shape:
            count *= size
        if wanted.num_elements() in (None, count):
            return ""
    return f"tensor_name = {spec.name}; its shape is {wanted} in the graph, but {shape} in the checkpoint"


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return (", ".join(names[:_LISTED]) or "nothing") + more


def not_found(error: errors.OpError, prefix: str) -> errors.OpError:
    """The error for a step that did not find the checkpoint although this process can read it."""
    text = error.message
    if "Failed to find any matching files" in text:
        text += (
            f"\n\nThis process can read the checkpoint {prefix}, but the task that restores it cannot: it "
            "has another file system. Put the checkpoint where that task can read it."
        )
    return errors.NotFoundError(error.node_def, error.op, _TEXT.format(cause=_MISSING, error=text))


def mismatch(error: errors.OpError) -> errors.OpError:
    """The error for a step in which a variable did not fit the checkpoint."""
    text = _TEXT.format(cause=_MISMATCH, error=error.message)
    return errors.InvalidArgumentError(error.node_def, error.op, text)
