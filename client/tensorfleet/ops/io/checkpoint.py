"""Ops that write and read checkpoints: SaveV2, RestoreV2, MergeV2Checkpoints, ShardedFilename, and older.

`tf.train.Saver` adds them to graphs; the files are those of the task that runs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.checkpoint import slices
from tensorfleet.core import errors
from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_list, apply_none
from tensorfleet.graph.op_def import op
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import merge_dim, nothing, scalar, with_rank


def _restored_shapes(op: RuleNode) -> list[Dims]:
    specs = static_value(op.inputs[2])
    if specs is None or specs.size != len(op.attrs["dtypes"]):
        return [None] * len(op.attrs["dtypes"])
    return [_sliced_shape(spec) for spec in specs.reshape(-1).tolist()]


def _saved(op: RuleNode) -> list[Dims]:
    """No outputs; there is a name, and a slice, for each tensor."""
    with_rank(op.inputs[0].dims, 0)
    lists = 2 if op.type == "SaveSlices" else 1
    for tensor in op.inputs[1 : 1 + lists]:
        merge_dim(with_rank(tensor.dims, 1)[0], len(op.inputs) - 1 - lists)
    return []


def _restored(op: RuleNode) -> list[Dims]:
    for tensor in op.inputs:
        with_rank(tensor.dims, 0)
    spec = static_value(op.inputs[2]) if len(op.inputs) > 2 else None
    return [None if spec is None else _sliced_shape(bytes(spec.item()))]


def _sliced_shape(spec: bytes) -> Dims:
    if not spec:
        return None
    try:
        full, part = slices.parse(spec.decode())
    except errors.InvalidArgumentError as e:
        raise ValueError(e.message) from e
    return part.shape(full)


op(
    "SaveV2(prefix: string, tensor_names: string, shape_and_slices: string, tensors: list(dtypes)) -> ()",
    "dtypes: list(type) >= 1",
    shape=nothing,
    stateful=True,
)
op(
    "RestoreV2(prefix: string, tensor_names: string, shape_and_slices: string) -> (tensors: list(dtypes))",
    "dtypes: list(type) >= 1",
    shape=_restored_shapes,
    stateful=True,
)
op(
    "Save(filename: string, tensor_names: string, data: list(T)) -> ()",
    "T: list(type) >= 1",
    shape=_saved,
    stateful=True,
)
op(
    "SaveSlices(filename: string, tensor_names: string, shapes_and_slices: string, data: list(T)) -> ()",
    "T: list(type) >= 1",
    shape=_saved,
    stateful=True,
)
op(
    "Restore(file_pattern: string, tensor_name: string) -> (tensor: dt)",
    "dt: type",
    "preferred_shard: int = -1",
    shape=_restored,
    stateful=True,
)
op(
    "RestoreSlice(file_pattern: string, tensor_name: string, shape_and_slice: string) -> (tensor: dt)",
    "dt: type",
    "preferred_shard: int = -1",
    shape=_restored,
    stateful=True,
)
op(
    "MergeV2Checkpoints(checkpoint_prefixes: string, destination_prefix: string) -> ()",
    "delete_old_dirs: bool = true",
    "allow_missing_files: bool = false",
    shape=nothing,
    stateful=True,
)
op(
    "ShardedFilename(basename: string, shard: int32, num_shards: int32) -> (filename: string)",
    shape=scalar,
)
op("ShardedFilespec(basename: string, num_shards: int32) -> (filename: string)", shape=scalar)


def save_v2(
    prefix: Any, tensor_names: Sequence[str], shape_and_slices: Sequence[str], tensors: Sequence[Any]
) -> Operation:
    """The operation that writes tensors to the checkpoint `prefix`.

    Args:
        shape_and_slices: for each tensor "", or its slice of a larger tensor.
    """
    return apply_none("SaveV2", prefix, tensor_names, shape_and_slices, tensors)


def save_slices(
    filename: Any, tensor_names: Sequence[str], shapes_and_slices: Sequence[str], tensors: Sequence[Any]
) -> Operation:
    """The operation that writes tensors to the file `filename`, a checkpoint of format V1."""
    return apply_none("SaveSlices", filename, tensor_names, shapes_and_slices, tensors)


def restore_v2(
    prefix: Any, tensor_names: Sequence[str], shape_and_slices: Sequence[str], dtypes: Sequence[Any]
) -> list[Tensor]:
    """The tensors of the checkpoint `prefix`."""
    return apply_list("RestoreV2", prefix, tensor_names, shape_and_slices, dtypes=list(dtypes))


def merge_v2_checkpoints(prefixes: Sequence[Any], destination: Any) -> Operation:
    """The operation that merges several checkpoints into one and removes them."""
    return apply_none("MergeV2Checkpoints", prefixes, destination)


def sharded_filename(basename: Any, shard: int, shards: Any) -> Tensor:
    """The name of a shard, such as `BASENAME-00001-of-00003`."""
    return apply_one("ShardedFilename", basename, shard, shards)
