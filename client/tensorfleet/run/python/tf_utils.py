"""What `tensorflow.python.keras.utils.tf_utils` has and no public namespace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.ragged.ragged_tensor import RaggedTensor
from tensorfleet.ops.state.variables import Variable


def get_reachable_from_inputs(inputs: Iterable[Any], targets: Iterable[Any] | None = None) -> set[Any]:
    """The tensors, operations and variables that depend on the inputs, and these themselves.

    Args:
        inputs: tensors, operations or variables.
        targets: once all of them are found, the search ends.

    Raises:
        TypeError: an input is of another type.
    """
    found = set(inputs)
    wanted = None if targets is None else set(targets)
    waiting = list(found)
    while waiting:
        x = waiting.pop()
        if isinstance(x, Operation):
            following: Any = x.outputs
        elif isinstance(x, Variable):
            following = x.handle.consumers() if hasattr(x, "handle") else x.op.outputs
        elif isinstance(x, Tensor):
            following = x.consumers()
        else:
            raise TypeError(f"Expected Operation, Variable, or Tensor, got {x}")
        for y in following:
            if y not in found:
                found.add(y)
                waiting.append(y)
        if wanted is not None and wanted <= found:
            break
    return found


_REGISTERED: set[type[Any]] = set()


def register_symbolic_tensor_type(cls: type[Any]) -> None:
    """Lets `is_symbolic_tensor` take values of a class as symbolic."""
    _REGISTERED.add(cls)


def is_symbolic_tensor(tensor: Any) -> bool:
    """Whether a value is one that a session computes: a tensor, a variable, or of a registered class."""
    return isinstance(tensor, (Tensor, Variable, SparseTensor, RaggedTensor, *_REGISTERED))
