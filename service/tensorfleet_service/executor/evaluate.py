"""Evaluation of single nodes outside of a plan, by which the optimizer folds constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet_service.kernels import registry
from tensorfleet_service.kernels.registry import AsyncKernel, Expression, KernelNode
from tensorfleet_service.state.resources import Resources

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node

_NO_RESOURCES = Resources()


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
    with np.errstate(all="ignore"):
        if isinstance(kernel, Expression):
            names = {f"x{i}": value for i, value in enumerate(inputs)}
            return eval(kernel.template.format(*names), {**kernel.names, **names})
        assert not isinstance(kernel, AsyncKernel), "only ops without state are evaluated"
        return kernel(*inputs)
