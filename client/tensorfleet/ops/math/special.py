"""Error and gamma functions, element by element."""

from __future__ import annotations

import math
from typing import Any

from tensorfleet.core.dispatch import takes_composites
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import FLOATS, apply_one, broadcast_inputs
from tensorfleet.ops.shape_rules import unchanged

for _name in ("Erf", "Erfc", "Erfinv", "Ndtri", "Lgamma", "Digamma"):
    op(f"{_name}(x: T) -> (y: T)", f"T: {{{FLOATS}}}", shape=unchanged)
op("Polygamma(a: T, x: T) -> (z: T)", "T: {float32, float64}", shape=broadcast_inputs)
op("Zeta(x: T, q: T) -> (z: T)", "T: {float32, float64}", shape=broadcast_inputs)
op("RandomGammaGrad(alpha: T, sample: T) -> (output: T)", "T: {float32, float64}", shape=broadcast_inputs)


@takes_composites
def erf(x: Any, name: str | None = None) -> Tensor:
    """The error function (`tf.erf`)."""
    return apply_one("Erf", x, name=name)


@takes_composites
def erfc(x: Any, name: str | None = None) -> Tensor:
    """1 - erf(x), exact for large x (`tf.erfc`)."""
    return apply_one("Erfc", x, name=name)


@takes_composites
def lgamma(x: Any, name: str | None = None) -> Tensor:
    """log(|Γ(x)|) (`tf.lgamma`)."""
    return apply_one("Lgamma", x, name=name)


@takes_composites
def digamma(x: Any, name: str | None = None) -> Tensor:
    """The derivative of lgamma (`tf.digamma`)."""
    return apply_one("Digamma", x, name=name)


def polygamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The derivative number a of digamma at x (`tf.math.polygamma`). float32, float64."""
    return apply_one("Polygamma", a, x, name=name)


@takes_composites
def zeta(x: Any, q: Any, name: str | None = None) -> Tensor:
    """Hurwitz's zeta function, the sum of (q + k)⁻ˣ over all k ≥ 0 (`tf.math.zeta`). float32, float64."""
    return apply_one("Zeta", x, q, name=name)


@takes_composites
def erfinv(x: Any, name: str | None = None) -> Tensor:
    """The inverse of the error function (`tf.math.erfinv`)."""
    with get_default_graph().name_scope(name or "erfinv"):
        return apply_one("Erfinv", x)


@takes_composites
def ndtri(x: Any, name: str | None = None) -> Tensor:
    """The quantile of the standard normal distribution at probability x (`tf.math.ndtri`)."""
    with get_default_graph().name_scope(name or "ndtri"):
        return apply_one("Ndtri", x)


@takes_composites
def erfcinv(x: Any, name: str | None = None) -> Tensor:
    """The inverse of erfc (`tf.math.erfcinv`)."""
    with get_default_graph().name_scope(name or "erfcinv"):
        x = convert_to_tensor(x, name="start")
        quantile = ndtri(apply_one("Mul", x.dtype.base.as_numpy_dtype(0.5), x, name="mul"))
        return apply_one("Mul", apply_one("Neg", quantile), math.sqrt(0.5), name="mul")
