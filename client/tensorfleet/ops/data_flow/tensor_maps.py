"""Signatures of the ops on maps from tensors to tensors, which are values on variant edges."""

from __future__ import annotations

from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.ops.shape_rules import scalar


def _unknown(op: RuleNode) -> list[Dims]:
    return [None] * len(op.outputs)


_TYPES = ("key_dtype: type", "value_dtype: type")

op("EmptyTensorMap() -> (handle: variant)", shape=scalar)
op("TensorMapSize(input_handle: variant) -> (size: int32)", shape=scalar)
op("TensorMapLookup(input_handle: variant, key: key_dtype) -> (value: value_dtype)", *_TYPES, shape=_unknown)
op(
    "TensorMapInsert(input_handle: variant, key: key_dtype, value: value_dtype) -> (output_handle: variant)",
    *_TYPES,
    shape=scalar,
)
op("TensorMapErase(input_handle: variant, key: key_dtype) -> (output_handle: variant)", *_TYPES, shape=scalar)
op("TensorMapHasKey(input_handle: variant, key: key_dtype) -> (has_key: bool)", _TYPES[0], shape=scalar)
op("TensorMapStackKeys(input_handle: variant) -> (keys: key_dtype)", _TYPES[0], shape=_unknown)
