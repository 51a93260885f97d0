"""Kernel of `tensorfleet.ops.array.linspace`."""

from __future__ import annotations

from typing import Any

from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import check_scalar, invalid, shape_text


@kernel("LinSpace")
def lin_space(node: KernelNode) -> Kernel:
    xp, dtype = node.xp, node.output_types[0].np

    def run(start: Any, stop: Any, num: Any) -> Any:
        for name, value in (("start", start), ("stop", stop)):
            if value.ndim:
                raise invalid(f"{name} must be a scalar, not shape {shape_text(value.shape)}")
        count = check_scalar(num, "num")
        if count <= 0:
            raise invalid(f"Requires num > 0: {count}")
        if count == 1:
            return xp.asarray(start).reshape(1)
        step = (stop - start) / xp.asarray(count - 1, dtype)
        result = (start + step * xp.arange(count).astype(dtype)).astype(dtype, copy=False)
        result[-1] = stop
        return result

    return run
