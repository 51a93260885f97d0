"""Bessel functions and other special integrals, and the incomplete gamma and beta functions."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.dims import Dims
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.core.shapes import broadcast
from tensorfleet.graph import framework
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import FLOATS, apply_one, broadcast_inputs
from tensorfleet.ops.shape_rules import unchanged


def _betainc_shape(node: RuleNode) -> list[Dims]:
    result: Dims = ()
    for tensor in node.inputs:
        result = broadcast(result, tensor.dims)
    return [result]


for _name in (
    "BesselI0",
    "BesselI0e",
    "BesselI1",
    "BesselI1e",
    "BesselK0",
    "BesselK0e",
    "BesselK1",
    "BesselK1e",
):
    op(f"{_name}(x: T) -> (y: T)", f"T: {{{FLOATS}}}", shape=unchanged)
for _name in ("BesselJ0", "BesselJ1", "BesselY0", "BesselY1"):
    op(f"{_name}(x: T) -> (y: T)", f"T: {{{FLOATS}}}", shape=unchanged)
for _name in ("Dawsn", "Expint", "FresnelCos", "FresnelSin", "Spence"):
    op(f"{_name}(x: T) -> (y: T)", f"T: {{{FLOATS}}}", shape=unchanged)
for _name in ("Igamma", "Igammac"):
    op(f"{_name}(a: T, x: T) -> (z: T)", f"T: {{{FLOATS}}}", shape=broadcast_inputs)
op("IgammaGradA(a: T, x: T) -> (z: T)", "T: {float32, float64}", shape=broadcast_inputs)
op("Betainc(a: T, b: T, x: T) -> (z: T)", "T: {float32, float64}", shape=_betainc_shape)


def _scoped(op_type: str, scope: str, x: Any, name: str | None) -> Tensor:
    with framework.name_scope(name, scope, [x]):
        return apply_one(op_type, x)


def igamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The lower regularized incomplete gamma function P(a, x) (`tf.igamma`)."""
    return apply_one("Igamma", a, x, name=name)


def igammac(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The upper regularized incomplete gamma function Q(a, x) = 1 - P(a, x) (`tf.igammac`)."""
    return apply_one("Igammac", a, x, name=name)


def betainc(a: Any, b: Any, x: Any, name: str | None = None) -> Tensor:
    """The regularized incomplete beta function I(a, b; x) (`tf.betainc`). float32, float64."""
    return apply_one("Betainc", a, b, x, name=name)


@takes_composites
def bessel_i0(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of the first kind, I₀ (`tf.math.bessel_i0`)."""
    return _scoped("BesselI0", "bessel_i0", x, name)


@takes_composites
def bessel_i0e(x: Any, name: str | None = None) -> Tensor:
    """exp(-|x|) I₀(x) (`tf.math.bessel_i0e`)."""
    return _scoped("BesselI0e", "bessel_i0e", x, name)


@takes_composites
def bessel_i1(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of the first kind, I₁ (`tf.math.bessel_i1`)."""
    return _scoped("BesselI1", "bessel_i1", x, name)


@takes_composites
def bessel_i1e(x: Any, name: str | None = None) -> Tensor:
    """exp(-|x|) I₁(x) (`tf.math.bessel_i1e`)."""
    return _scoped("BesselI1e", "bessel_i1e", x, name)


@takes_composites
def bessel_k0(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of the second kind, K₀ (`tf.math.special.bessel_k0`)."""
    return _scoped("BesselK0", "bessel_k0", x, name)


@takes_composites
def bessel_k0e(x: Any, name: str | None = None) -> Tensor:
    """exp(x) K₀(x) (`tf.math.special.bessel_k0e`)."""
    return _scoped("BesselK0e", "bessel_k0e", x, name)


@takes_composites
def bessel_k1(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of the second kind, K₁ (`tf.math.special.bessel_k1`)."""
    return _scoped("BesselK1", "bessel_k1", x, name)


@takes_composites
def bessel_k1e(x: Any, name: str | None = None) -> Tensor:
    """exp(x) K₁(x) (`tf.math.special.bessel_k1e`)."""
    return _scoped("BesselK1e", "bessel_k1e", x, name)


@takes_composites
def bessel_j0(x: Any, name: str | None = None) -> Tensor:
    """The Bessel function of the first kind, J₀ (`tf.math.special.bessel_j0`)."""
    return _scoped("BesselJ0", "bessel_j0", x, name)


@takes_composites
def bessel_j1(x: Any, name: str | None = None) -> Tensor:
    """The Bessel function of the first kind, J₁ (`tf.math.special.bessel_j1`)."""
    return _scoped("BesselJ1", "bessel_j1", x, name)


@takes_composites
def bessel_y0(x: Any, name: str | None = None) -> Tensor:
    """The Bessel function of the second kind, Y₀ (`tf.math.special.bessel_y0`)."""
    return _scoped("BesselY0", "bessel_y0", x, name)


@takes_composites
def bessel_y1(x: Any, name: str | None = None) -> Tensor:
    """The Bessel function of the second kind, Y₁ (`tf.math.special.bessel_y1`)."""
    return _scoped("BesselY1", "bessel_y1", x, name)


@takes_composites
def dawsn(x: Any, name: str | None = None) -> Tensor:
    """Dawson's integral, exp(-x²) ∫₀ˣ exp(t²) dt (`tf.math.special.dawsn`)."""
    return _scoped("Dawsn", "dawsn", x, name)


@takes_composites
def expint(x: Any, name: str | None = None) -> Tensor:
    """The exponential integral Ei(x) (`tf.math.special.expint`)."""
    return _scoped("Expint", "expint", x, name)


@takes_composites
def fresnel_cos(x: Any, name: str | None = None) -> Tensor:
    """Fresnel's integral of cos(πt²/2) from 0 to x (`tf.math.special.fresnel_cos`)."""
    return _scoped("FresnelCos", "fresnel_cos", x, name)


@takes_composites
def fresnel_sin(x: Any, name: str | None = None) -> Tensor:
    """Fresnel's integral of sin(πt²/2) from 0 to x (`tf.math.special.fresnel_sin`)."""
    return _scoped("FresnelSin", "fresnel_sin", x, name)


@takes_composites
def spence(x: Any, name: str | None = None) -> Tensor:
    """Spence's integral, the dilogarithm of 1 - x (`tf.math.special.spence`)."""
    return _scoped("Spence", "spence", x, name)
