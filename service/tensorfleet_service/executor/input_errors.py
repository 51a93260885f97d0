"""Tells invalid inputs from defects of kernels: after a failure, the op's shape rule checks the inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.graph import Graph, lookup_op
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import infer_dims
from tensorfleet.graph.tensor import Tensor

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node

MAX_ELEMENTS = 1000
"""Limit on the elements of inputs whose values rules get; they use only those of shapes, sizes and axes."""


def refusal(node: Node, values: list[Any]) -> errors.InvalidArgumentError | None:
    """The error of the op's shape rule for inputs that it refuses.

    None if it accepts them, so that the failure is a defect of the kernel.
    """
    if len(values) != len(node.input_types):
        return None
    graph = Graph()
    types = zip(values, node.input_types, strict=True)
    inputs = tuple([_input(graph, f"input_{i}", value, dtype) for i, (value, dtype) in enumerate(types)])
    op = Operation(graph, node.opdef, "op", inputs, [], node.attrs, node.output_types, [])
    try:
        infer_dims(op.opdef.shape, op)
    except ValueError as e:
        return errors.InvalidArgumentError(None, None, str(e))
    except (TypeError, IndexError, KeyError, AttributeError):
        return None  # the rule fails, too: the kernel's failure is reported
    return None


def _input(graph: Graph, name: str, value: Any, dtype: DType) -> Tensor:
    """A tensor with the shape of the value, and with its elements if they are few."""
    if isinstance(value, bytes):
        value = np.array(value, object)
    dims = getattr(value, "shape", None)
    if isinstance(value, (np.ndarray, np.generic)) and value.size <= MAX_ELEMENTS and not dtype.is_ref:
        attrs: dict[str, Any] = {"value": value, "dtype": dtype}
        return graph.add_operation(lookup_op("Const"), name, (), attrs, [dtype]).outputs[0]
    attrs = {"dtype": dtype.base, "shape": None if dims is None else tuple(dims)}
    return graph.add_operation(lookup_op("Placeholder"), name, (), attrs, [dtype]).outputs[0]
