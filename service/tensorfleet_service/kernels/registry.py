"""The table of kernels by op type.

A kernel is made in two steps. When a graph is registered, the *factory* of each node's op type is called
once with the node, and looks at attributes and dtypes. What it returns is called at every step with the
node's input values, and returns the output value (a tuple for several outputs, None for none).

    @kernel("MatMul")
    def matmul(node: KernelNode) -> Kernel: ...

    expression("AddV2", "{0} + {1}", explain=broadcast_error)

An expression is written into the code that the executor generates, which saves a call per op; it must be one
that means the same on arrays and on NumPy scalars.

Values are `np.ndarray` or, for rank 0, `np.generic` (or what `node.xp` has in their place); strings are
object arrays of bytes, and a kernel may return plain `bytes` for a string of rank 0. Variables and other
resources travel as the objects themselves. Kernels never change an input value, and may return one, or a view
of one.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet.core.dtypes import DType

if TYPE_CHECKING:
    from tensorfleet_service.state.library import Library
    from tensorfleet_service.state.resources import Resources

Kernel = Callable[..., Any]
ALL: Container[int] = range(1 << 16)
Explain = Callable[..., "errors.OpError | None"]


@dataclass(slots=True)
class KernelNode:
    """A node, as a kernel factory sees it."""

    name: str
    op: str
    attrs: dict[str, Any]
    """All attributes of the op's definition, defaults filled in, as of tensorfleet.core.attr_value."""
    input_types: list[DType]
    output_types: list[DType]
    device: str
    xp: ModuleType
    """The array module of the device: numpy or cupy."""
    resources: Resources
    """Variables and other state of the task."""
    graph_seed: int | None = None
    library: Library | None = None
    """The functions that the node may call, where there are any."""
    used_outputs: Container[int] = ALL
    """The outputs that something takes. In place of the others a kernel may return None, to save work."""


@dataclass(slots=True)
class Expression:
    """A Python expression over the inputs `{0}`, `{1}`, …; `names` are the other names in it."""

    template: str
    names: dict[str, Any] = field(default_factory=dict)
    explain: Explain | None = None
    """Called with the exception and the input values when it raises; gives the error to report."""


Watch = Callable[[], Callable[["errors.OpError"], None]]
"""Called before a step with the op begins; what it returns is called if the step fails."""


@dataclass(slots=True)
class AsyncKernel:
    """A kernel that may have to wait for other steps: its function returns the outputs, or a Future for them.

    No thread waits: the step is suspended until the future is completed, and cancels it if it fails before.
    """

    function: Kernel
    watch: Watch | None = None


Factory = Callable[[KernelNode], "Kernel | Expression | AsyncKernel"]

_factories: dict[str, Factory] = {}
_blocking: set[str] = set()
_lasting: set[str] = set()
_alike: set[str] = set()


def kernel(
    *op_types: str, blocking: bool = False, lasting: bool = False, alike: bool = False
) -> Callable[[Factory], Factory]:
    """Registers a kernel factory for op types.

    Args:
        blocking: it makes AsyncKernels.
        lasting: its kernels may compute for much longer than their inputs are large, and call
            `threads.running.check` meanwhile.
        alike: nodes of one op type with equal attributes may share a kernel.
    """

    def register(factory: Factory) -> Factory:
        for op_type in op_types:
            if op_type in _factories:
                raise ValueError(f"Op type {op_type} has two kernels")
            _factories[op_type] = factory
            if blocking:
                _blocking.add(op_type)
            if lasting:
                _lasting.add(op_type)
            if alike:
                _alike.add(op_type)
        return factory

    return register


def expression(op_type: str, template: str, explain: Explain | None = None, **names: Any) -> None:
    """Registers an expression as the kernel of an op type, for all dtypes."""
    made = Expression(template, names, explain)
    kernel(op_type, alike=True)(lambda node: made)


def is_alike(op_type: str) -> bool:
    """Whether nodes of an op type with equal attributes may share a kernel."""
    return op_type in _alike


def has_kernel(op_type: str) -> bool:
    return op_type in _factories


def is_blocking(op_type: str) -> bool:
    """Whether the kernels of an op type may have to wait for other steps."""
    return op_type in _blocking


def is_lasting(op_type: str) -> bool:
    """Whether the kernels of an op type may compute for long, and look whether their step has ended."""
    return op_type in _lasting


def registered() -> list[str]:
    """The op types that have kernels, sorted."""
    return sorted(_factories)


def make_kernel(node: KernelNode) -> Kernel | Expression | AsyncKernel:
    """The kernel of a node.

    Raises:
        UnimplementedError: the op type has no kernel.
        InvalidArgumentError: attributes that the kernel cannot work with.
    """
    factory = _factories.get(node.op)
    if factory is None:
        raise errors.UnimplementedError(
            None,
            None,
            f"Op type {node.op} has no kernel on {node.device}. docs/ops.md lists the ops that have one.",
        )
    try:
        return factory(node)
    except UnicodeDecodeError as e:
        message = f"An attribute is not valid text: {e}\n\t [[{{{{node {node.name}}}}}]]"
        raise errors.InvalidArgumentError(None, None, message) from None
