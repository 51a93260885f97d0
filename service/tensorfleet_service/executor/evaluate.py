"""Evaluation of single nodes outside of a plan, by which the optimizer folds constants."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.kernels import registry
from tensorfleet_service.kernels.registry import AsyncKernel, Expression, KernelNode
from tensorfleet_service.state.resources import Resources
from tensorfleet_service.threads.running import RUNNING

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node

_NO_RESOURCES = Resources()
_SECONDS = 0.1
"""What takes longer is left to a step, which has a limit and can be cancelled."""


class _Patience:
    """In the place of the step: ends kernels that look at theirs."""

    def __init__(self) -> None:
        self._end = time.monotonic() + _SECONDS

    @property
    def error(self) -> errors.OpError | None:
        if time.monotonic() < self._end:
            return None
        return errors.UnimplementedError(None, None, "what takes long is computed in steps alone")


def evaluate_node(node: Node, inputs: list[Any]) -> Any:
    """The output of a stateless node on NumPy values; a tuple for several outputs.

    Raises:
        UnimplementedError: it may compute for long, which is left to a step, as that can be ended.
        Exception: what the kernel raises.
    """
    if registry.is_lasting(node.op):
        raise errors.UnimplementedError(None, None, f"{node.op} is computed in steps alone")
    kernel = registry.make_kernel(
        KernelNode(
            name=node.name,
            op=node.op,
            attrs=node.attrs,
            input_types=node.input_types,
            output_types=node.output_types,
            device=node.assigned,
            xp=np,
            resources=_NO_RESOURCES,
        )
    )
    before, RUNNING.step = RUNNING.step, _Patience()
    try:
        with np.errstate(all="ignore"):
            if isinstance(kernel, Expression):
                names = {f"x{i}": value for i, value in enumerate(inputs)}
                return eval(kernel.template.format(*names), {**kernel.names, **names})
            assert not isinstance(kernel, AsyncKernel), "only ops without state are evaluated"
            return kernel(*inputs)
    finally:
        RUNNING.step = before
