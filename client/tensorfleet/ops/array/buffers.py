"""Tensors not yet filled, rows written over, truths, layouts of images, and order statistics."""

from __future__ import annotations

from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_dims, static_value
from tensorfleet.ops.common import ORDERED
from tensorfleet.ops.shape_rules import scalar, unchanged, with_rank, with_rank_at_least, with_rank_at_most


def _spelled(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 1)
    return [static_dims(op.inputs[0])]


def _declared(op: RuleNode) -> list[Dims]:
    return [op.attrs["shape"]]


def _nth(op: RuleNode) -> list[Dims]:
    dims = with_rank_at_least(op.inputs[0].dims, 1)
    with_rank(op.inputs[1].dims, 0)
    number = static_value(op.inputs[1])
    if number is not None and number < 0:
        raise ValueError(f"Input n must be non-negative but is {int(number)}")
    if dims is None:
        return [None]
    if number is not None and dims[-1] is not None and dims[-1] <= number:
        raise ValueError(f"Input must have last dimension > n = {int(number)} but is {dims[-1]}")
    return [dims[:-1]]


def _permuted(op: RuleNode) -> list[Dims]:
    return [with_rank_at_most(op.inputs[0].dims, 2)]


op(
    "Empty(shape: int32) -> (output: dtype)",
    "dtype: type",
    "init: bool = false",
    shape=_spelled,
    stateful=True,
)
for _name in ("InplaceUpdate", "InplaceAdd", "InplaceSub"):
    op(f"{_name}(x: T, i: int32, v: T) -> (y: T)", "T: type", shape=unchanged)
op("DeepCopy(x: T) -> (y: T)", "T: type", shape=unchanged, stateful=True)
op("FakeParam() -> (output: dtype)", "dtype: type", "shape: shape", shape=_declared)
op("ToBool(input: T) -> (output: bool)", "T: type", shape=scalar)
op("DeviceIndex() -> (index: int32)", "device_names: list(string)", shape=scalar, stateful=True)
op(
    "NthElement(input: T, n: int32) -> (values: T)",
    "reverse: bool = false",
    f"T: {{{ORDERED}}}",
    shape=_nth,
)
for _name, _rule in (("DataFormatDimMap", unchanged), ("DataFormatVecPermute", _permuted)):
    op(
        f"{_name}(x: T) -> (y: T)",
        "T: {int32, int64} = int32",
        'src_format: string = "NHWC"',
        'dst_format: string = "NCHW"',
        shape=_rule,
    )
