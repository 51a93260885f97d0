"""Common parts of mathematical ops: sets of dtypes, broadcasting, `apply_one`."""

from __future__ import annotations

from tensorfleet.core import shapes
from tensorfleet.core.shapes import Dims
from tensorfleet.graph.apply import apply_one as apply_one
from tensorfleet.graph.rules import RuleNode

# The dtypes of op definitions, in TensorFlow's order, which its error messages show.
FLOATS = "bfloat16, float16, float32, float64"
COMPLEX = "complex64, complex128"
SIGNED = "int8, int16, int32, int64"
INTEGERS = f"{SIGNED}, uint8, uint16, uint32, uint64"
ALL_NUMBERS = f"{FLOATS}, uint8, int8, uint16, int16, int32, uint32, uint64, int64, {COMPLEX}"
ORDERED = "float32, float64, int32, uint8, int16, int8, int64, bfloat16, uint16, float16, uint32, uint64"
QUANTIZED = "qint8, quint8, qint32, qint16, quint16"


def broadcast_inputs(op: RuleNode) -> list[Dims]:
    """Shape rule: the two inputs are broadcast against each other."""
    return [shapes.broadcast(op.inputs[0].dims, op.inputs[1].dims)]
