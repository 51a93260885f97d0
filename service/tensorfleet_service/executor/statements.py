"""Statements of generated code, one per node, and the errors that they raise."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from types import CodeType, TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet.core.dims import format_dims
from tensorfleet_service.devices import gpu, memory
from tensorfleet_service.devices.transfer import Move
from tensorfleet_service.executor.failures import as_op_error
from tensorfleet_service.executor.host_memory import ON_DEVICE
from tensorfleet_service.executor.input_errors import refusal
from tensorfleet_service.kernels.registry import Expression, is_lasting
from tensorfleet_service.kernels.variant_messages import from_messages

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node
    from tensorfleet_service.state.library import Library

log = logging.getLogger(__name__)

Line = tuple["Node | None", list[str], "Expression | None"]
"""The origin of a line of generated code: a node, the variables that it reads, and its expression."""

NOWHERE: Line = (None, [], None)
"""The origin of a line that is no node's."""


class Origins:
    """The origins of the lines of compiled functions.

    Args:
        functions: the code of each, and the origins of its lines by their numbers, which start at 1.
    """

    __slots__ = ("_functions",)

    def __init__(self, functions: Iterable[tuple[CodeType, list[Line]]]) -> None:
        # By identity: to compare code, or to hash it, takes as long as it is.
        self._functions = {id(code): (code, lines) for code, lines in functions}

    def of(self, code: CodeType, number: int) -> Line:
        """The origin of a line of code; `NOWHERE` if it is not of these functions."""
        _, lines = self._functions.get(id(code), (None, ()))
        return lines[number] if 0 < number < len(lines) else NOWHERE


def call_text(
    kernel: Any, position: int, inputs: list[str], names: dict[str, Any]
) -> tuple[str, Expression | None]:
    """The call of a kernel on variables, and the expression that it is, if any.

    Args:
        position: the node's position, for names of its own.
        names: the globals of the code; those that the call needs are added.
    """
    if type(kernel) is Expression:
        for key, value in kernel.names.items():
            if names.setdefault(key, value) is not value:
                # Another node has a different object of the same name, so this becomes a function.
                arguments = ", ".join(f"x{i}" for i in range(len(inputs)))
                template = kernel.template.format(*(f"x{i}" for i in range(len(inputs))))
                names[f"k{position}"] = eval(f"lambda {arguments}: {template}", dict(kernel.names))
                return f"k{position}({', '.join(inputs)})", kernel
        return kernel.template.format(*inputs), kernel
    name = getattr(kernel, "__name__", "")
    if isinstance(kernel, np.ufunc) and names.setdefault(f"u_{name}", kernel) is kernel:
        return f"u_{name}({', '.join(inputs)})", None
    names[f"k{position}"] = kernel
    return f"k{position}({', '.join(inputs)})", None


def constant_on(node: Node, moves: tuple[Move, Move] | None) -> Any:
    """The value of a Const node, on the device if it is needed there."""
    value = constant_value(node)
    return moves[0](value) if moves is not None and ON_DEVICE in node.attrs else value


def assign(types: Sequence[dtypes.DType], outputs: list[str], text: str) -> str:
    """The statement that assigns a node's outputs, of these types, to variables."""
    if not outputs:
        return f" {text}"
    if len(outputs) == 1:
        if types[0] is dtypes.string:
            text = f"as_string({text})"
        return f" {outputs[0]} = {text}"
    strings = [o for o, t in zip(outputs, types, strict=True) if t is dtypes.string]
    wrap = "".join(f"; {o} = as_string({o})" for o in strings)
    return f" {', '.join(outputs)}, = {text}{wrap}"


def constant_value(node: Node) -> Any:
    """The value of a Const node: of rank 0 a NumPy scalar, but an array for strings."""
    value = node.attrs["value"]
    if node.output_types[0] is dtypes.variant:
        try:
            return from_messages(value)
        except (ValueError, TypeError) as e:
            raise errors.InvalidArgumentError(None, None, f"{e}\n\t [[{{{{node {node.name}}}}}]]") from None
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype != object:
        return value[()]
    return value


def dereferences(node: Node, index: int) -> bool:
    """Whether a node takes the value of a variable, to which the input refers."""
    source, output = node.inputs[index]
    return source.output_types[output].is_ref and not (
        index < len(node.input_types) and node.input_types[index].is_ref
    )


def delete(names: list[str]) -> str:
    return f"; del {', '.join(names)}" if names else ""


def as_string(value: Any) -> Any:
    """A string value as an object array, even at rank 0, where NumPy gives the bytes object itself."""
    if type(value) is np.ndarray:
        return value
    array = np.empty((), object)
    array[()] = value
    return array


def explained(explain: Callable[[BaseException], errors.OpError], error: BaseException) -> errors.OpError:
    """The error that `explain` makes of an exception; if it fails, the error of its own failure.

    A step has to end with some error, even if there is no memory left to describe it.
    """
    try:
        return explain(error)
    except BaseException as e:
        return outside_of_ops(e)


def outside_of_ops(error: BaseException) -> errors.OpError:
    """The error for an exception of a step that was raised outside of its ops."""
    return as_op_error(error, "a step, outside of its ops")


def explain(error: BaseException, origins: Origins) -> errors.OpError:
    """The OpError for an exception out of generated code, ending with the node as TensorFlow's clients
    expect.
    """
    if isinstance(error, MemoryError):
        memory.BUDGET.open_reserve()
    traceback: TracebackType | None = error.__traceback__
    node, inputs, expression = NOWHERE
    while traceback is not None:
        node, inputs, expression = origins.of(traceback.tb_frame.f_code, traceback.tb_lineno)
        if node is not None:
            break
        traceback = traceback.tb_next
    if node is None or traceback is None:
        return outside_of_ops(error)
    return node_error(node, error, expression, lambda: [_input_value(text, traceback) for text in inputs])


# NumPy's ValueErrors for arrays that are larger than any memory.
_TOO_BIG = ("array is too big", "Maximum allowed dimension exceeded", "Maximum allowed size exceeded")


def node_error(
    node: Node, error: BaseException, expression: Expression | None, values: Callable[[], list[Any]]
) -> errors.OpError:
    """The OpError for an exception of a node's kernel; `values` returns the inputs, if they are needed."""
    if node.op == "_Retval":
        node = node.inputs[0][0]  # the user knows the fetched node, not the _Retval that returns it
    found: errors.OpError | None = error if isinstance(error, errors.OpError) else None
    if found is None and expression is not None and expression.explain is not None:
        found = expression.explain(error, *values())
    if gpu.is_exhausted(error):
        shapes = ", ".join(format_dims(tuple(value.shape)) for value in values() if hasattr(value, "shape"))
        found = gpu.exhausted(f"{node.op} of {shapes or 'no inputs'}", node.assigned, error)
    elif isinstance(error, MemoryError) or (
        isinstance(error, ValueError) and str(error).startswith(_TOO_BIG)
    ):
        found = memory.exhausted(f"Out of memory in {node.op}: {error or 'no memory is left'}")
    if found is None:
        found = _from_exception(error, node, values)
    message = found.message
    if "[[{{node " not in message or _calls(node):
        message = f"{message}\n\t [[{{{{node {node.name}}}}}]]"
    return errors.from_code(found.error_code, message)


def _calls(node: Node) -> bool:
    """Whether a node calls functions: errors of their ops need the caller's name, too."""
    return node.op.startswith("IteratorGetNext") or any(
        "func" in attr.kind for attr in node.opdef.attrs.values()
    )


def _input_value(text: str, traceback: TracebackType) -> Any:
    name = text.removesuffix(".read()")
    frame = traceback.tb_frame
    value: Any = frame.f_locals.get(name, frame.f_globals.get(name))
    return value.read() if name != text else value


def _from_exception(error: BaseException, node: Node, values: Callable[[], list[Any]]) -> errors.OpError:
    """The error for an exception of a kernel that is not an OpError.

    If the op's shape rule refuses the inputs, they are the user's mistake; otherwise the kernel has a defect.
    """
    if isinstance(error, UnicodeDecodeError):
        text = f"A string that {node.op} takes as text is not valid {error.encoding}: {error}"
        return errors.InvalidArgumentError(None, None, text)
    inputs = values()
    refused = _wrong_handle(error, node, inputs) or refusal(node, inputs)
    if refused is not None:
        return refused
    log.error("%s %s failed: a defect of the kernel", node.op, node.name, exc_info=error)
    return errors.InternalError(
        None,
        None,
        f"{type(error).__name__}: {error}. A defect of the kernel of {node.op}: the log of its task has "
        "the traceback.",
    )


def _wrong_handle(error: BaseException, node: Node, inputs: list[Any]) -> errors.OpError | None:
    """The error where an op got the handle of another kind of resource, which lacks what it asks for."""
    if not isinstance(error, AttributeError) or not any(error.obj is value for value in inputs):
        return None
    types = node.input_types
    place = next(i for i, value in enumerate(inputs) if error.obj is value)
    if place >= len(types) or not (types[place].is_ref or types[place].base.name in ("resource", "variant")):
        return None
    kind = type(error.obj).__name__
    return errors.InvalidArgumentError(
        None, None, f"Trying to access a resource using the wrong type: {node.op} does not take a {kind}"
    )


def lasting(nodes: Sequence[Node], library: Library | None) -> bool:
    """Whether nodes, or functions that they call, may compute for much longer than their inputs are large."""
    return any(is_lasting(node.op) for node in nodes) or (library is not None and library.lasts(nodes))
