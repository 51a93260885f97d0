"""Ops that pass values on unchanged: placeholders, identity and checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.dims import compatible, format_dims
from tensorfleet.core.long_texts import excerpt
from tensorfleet_service.devices.transfer import movers
from tensorfleet_service.kernels.registry import Expression, Kernel, KernelNode, expression, kernel
from tensorfleet_service.kernels.values import array_kernel, invalid, shape_text, type_text

for _op_type in (
    "Identity",
    "StopGradient",
    "PreventGradient",
    "Snapshot",
    "PlaceholderWithDefault",
):
    expression(_op_type, "{0}")

expression("NoOp", "None")


@kernel("_ToHost", "_ToDevice")
def copied(node: KernelNode) -> Kernel:
    """The tensor in the other memory of a GPU's partition; `executor/host_memory.py` puts these ops there."""
    moves = movers(node.xp)
    assert moves is not None, "the CPU has one memory"
    return moves[node.op == "_ToHost"]


@kernel("IdentityN")
def identity_n(node: KernelNode) -> Kernel | Expression:
    return Expression("{0}") if len(node.input_types) == 1 else lambda *values: values


@kernel("Placeholder", "PlaceholderV2")
def placeholder(node: KernelNode) -> Kernel:
    dims = node.attrs["shape"]
    shape = f" and shape {format_dims(dims)}" if dims else ""
    text = (
        f"You must feed a value for placeholder tensor '{node.name}' with dtype "
        f"{type_text(node.output_types[0])}{shape}"
    )

    def run() -> Any:
        raise invalid(text)

    return run


@kernel("GuaranteeConst")
def guarantee_const(node: KernelNode) -> Kernel | Expression:
    if node.input_types[0] is not dtypes.resource:
        return Expression("{0}")

    def refuse(handle: Any) -> Any:
        raise invalid("Input tensor cannot be a resource variable handle.")

    return refuse


@array_kernel("EnsureShape")
def ensure_shape(node: KernelNode) -> Kernel:
    dims = node.attrs["shape"]

    def run(x: Any) -> Any:
        if not compatible(x.shape, dims):
            raise invalid(
                f"Shape of tensor {node.name} {shape_text(x.shape)} is not compatible with expected shape "
                f"{format_dims(dims)}."
            )
        return x

    return run


@kernel("CheckNumerics", "CheckNumericsV2")
def check_numerics(node: KernelNode) -> Kernel:
    xp, message = node.xp, excerpt(node.attrs["message"])
    infinities: list[tuple[str, Callable[[Any], Any]]] = [("Inf", np.isinf)]
    if node.op == "CheckNumericsV2":
        infinities = [("-Inf", np.isneginf), ("+Inf", np.isposinf)]
    tests: list[tuple[str, Callable[[Any], Any]]] = [*infinities, ("NaN", np.isnan)]

    def run(x: Any) -> Any:
        if xp.isfinite(x).all():
            return x
        found = [name for name, test in tests if test(x).any()]
        raise invalid(f"{message} : Tensor had {_enumerated(found)} values")

    return run


def _enumerated(names: list[str]) -> str:
    if len(names) < 3:
        return " and ".join(names)
    return f"{', '.join(names[:-1])}, and {names[-1]}"
