"""Kernels of `tensorfleet.ops.math.complex_numbers`."""

from __future__ import annotations

from typing import Any

from tensorfleet_service.kernels.common import binary, broadcast_error, unary
from tensorfleet_service.kernels.registry import Expression, KernelNode, expression, kernel

expression("Real", "{0}.real")
expression("Imag", "{0}.imag")
expression("Conj", "{0}.conj()")
expression("ComplexAbs", "abs({0})")


@kernel("Angle")
def _angle(node: KernelNode) -> Expression:
    return unary(node.xp.angle)


@kernel("Complex")
def _complex(node: KernelNode) -> Expression:
    xp = node.xp
    target = node.output_types[0].np

    def complex_of_parts(real: Any, imag: Any) -> Any:
        # Not real + 1j * imag, where an infinite part would make a NaN of the other.
        real, imag = xp.broadcast_arrays(real, imag)
        result = xp.empty(real.shape, target)
        result.real = real
        result.imag = imag
        return result

    complex_of_parts.__name__ += f"_{node.output_types[0].name}"
    return binary(complex_of_parts, broadcast_error)
