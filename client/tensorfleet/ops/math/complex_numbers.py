"""Complex numbers, made from parts and taken apart."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one, broadcast_inputs
from tensorfleet.ops.shape_rules import unchanged

op(
    "Complex(real: T, imag: T) -> (out: Tout)",
    "T: {float32, float64} = float32",
    "Tout: {complex64, complex128} = complex64",
    shape=broadcast_inputs,
)
for _name in ("Real(input", "Imag(input", "Angle(input", "ComplexAbs(x"):
    op(
        f"{_name}: T) -> ({'y' if _name == 'ComplexAbs(x' else 'output'}: Tout)",
        "T: {complex64, complex128} = complex64",
        "Tout: {float32, float64} = float32",
        shape=unchanged,
    )
op("Conj(input: T) -> (output: T)", "T: {complex64, complex128, variant} = complex64", shape=unchanged)


@takes_composites
def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:
    """real + i·imag (`tf.complex`): complex64 of float32 parts, complex128 of float64 parts.

    Raises:
        TypeError: parts of other or different dtypes.
    """
    with get_default_graph().name_scope(name or "Complex") as scope:
        real = convert_to_tensor(real, name="real")
        imag = convert_to_tensor(imag, name="imag")
        types = (real.dtype.base, imag.dtype.base)
        if types == (dtypes.float32, dtypes.float32):
            target = dtypes.complex64
        elif types == (dtypes.float64, dtypes.float64):
            target = dtypes.complex128
        else:
            raise TypeError(
                f"The `real` and `imag` components have incorrect types: {types[0].name} {types[1].name}. "
                "They must be consistent, and one of [tf.float32, tf.float64]"
            )
        return apply_one("Complex", real, imag, name=scope, Tout=target)


def _part(op_type: str, x: Tensor, scope: str) -> Tensor:
    return apply_one(op_type, x, name=scope, Tout=x.dtype.base.real_dtype)


@takes_composites
def real(input: Any, name: str | None = None) -> Tensor:
    """The real part (`tf.real`); a real tensor is returned as it is."""
    with get_default_graph().name_scope(name or "Real") as scope:
        x = convert_to_tensor(input, name="input")
        return _part("Real", x, scope) if x.dtype.base.is_complex else x


@takes_composites
def imag(input: Any, name: str | None = None) -> Tensor:
    """The imaginary part (`tf.imag`), zeros for a real tensor."""
    with get_default_graph().name_scope(name or "Imag") as scope:
        x = convert_to_tensor(input, name="input")
        return _part("Imag", x, scope) if x.dtype.base.is_complex else apply_one("ZerosLike", x)


@takes_composites
def angle(input: Any, name: str | None = None) -> Tensor:
    """The argument in (-π, π], in radians (`tf.angle`); for a real tensor 0, and π where it is negative."""
    with get_default_graph().name_scope(name or "Angle") as scope:
        x = convert_to_tensor(input, name="input")
        if x.dtype.base.is_complex:
            return _part("Angle", x, scope)
        zeros = apply_one("ZerosLike", x)
        return apply_one("Atan2", zeros, apply_one("Sign", x), name=scope)


@takes_composites
def conj(x: Any, name: str | None = None) -> Tensor:
    """The complex conjugate (`tf.conj`); a real tensor is returned as it is.

    Raises:
        TypeError: a dtype that is not numeric.
    """
    if isinstance(x, Tensor) and (x.dtype.base.is_floating or x.dtype.base.is_integer):
        return x
    with get_default_graph().name_scope(name or "Conj") as scope:
        value = convert_to_tensor(x, name="x")
        base = value.dtype.base
        if base.is_complex:
            return apply_one("Conj", value, name=scope)
        if base.is_floating or base.is_integer:
            return value
        raise TypeError(f"Expected numeric or variant tensor, got dtype {value.dtype!r}")


def complex_abs(x: Any, name: str | None = None) -> Tensor:
    """The magnitude of complex numbers (`tf.complex_abs` of TensorFlow 0.x; now `tf.abs`)."""
    with get_default_graph().name_scope(name or "ComplexAbs") as scope:
        return _part("ComplexAbs", convert_to_tensor(x, name="x"), scope)
