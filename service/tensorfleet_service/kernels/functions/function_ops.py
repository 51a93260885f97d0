"""Ops that call functions: PartitionedCall, RemoteCall, If, Case, While, and their stateful forms."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet.core.device import parse
from tensorfleet.core.long_texts import excerpt
from tensorfleet_service.kernels.registry import AsyncKernel, Kernel, KernelNode, kernel
from tensorfleet_service.threads.drive import drive
from tensorfleet_service.threads.future import Future
from tensorfleet_service.threads.running import RUNNING, check as check_step

if TYPE_CHECKING:
    from tensorfleet.core.attr_value import NameAttrList
    from tensorfleet.core.dtypes import DType
    from tensorfleet_service.state.library import Function, Library


def library_of(node: KernelNode) -> Library:
    """The functions that a node may call."""
    if node.library is None:
        raise errors.InternalError(None, None, f"{node.op} {node.name} has no functions to call")
    return node.library


def _function(
    node: KernelNode, attr: str, given: Sequence[DType], results: Sequence[DType] | None
) -> Function:
    """The function of an attribute, which is called with inputs and has results of these types."""
    return _checked(node, node.attrs[attr], given, results)


def _checked(
    node: KernelNode, func: NameAttrList, given: Sequence[DType], results: Sequence[DType] | None
) -> Function:
    found = library_of(node).instantiate(func, node.device, node.xp)
    found.check(given, results)
    return found


def _outputs(results: tuple[Any, ...]) -> Any:
    return results if len(results) != 1 else results[0]


def _call(function: Function, arguments: tuple[Any, ...]) -> Any:
    results = function(*arguments)
    return results.then(_outputs) if type(results) is Future else _outputs(results)  # type: ignore[arg-type]


@kernel("PartitionedCall", "StatefulPartitionedCall")
def partitioned_call(node: KernelNode) -> Kernel | AsyncKernel:
    function = _function(node, "f", node.input_types, node.output_types)

    def run(*arguments: Any) -> Any:
        return _call(function, arguments)

    return AsyncKernel(run) if function.waits else run


@kernel("RemoteCall")
def remote_call(node: KernelNode) -> Kernel | AsyncKernel:
    """A call whose target is known only in the step: of this device, as constant ones are gone before."""
    function = _function(node, "f", node.input_types[1:], node.output_types)

    def run(target: Any, *arguments: Any) -> Any:
        value = np.asarray(target)
        if value.size != 1:
            text = f"The target of {node.name} has {value.size} elements, and has to be one device"
            raise errors.InvalidArgumentError(None, None, text)
        text = excerpt(bytes(value.item()))
        try:
            is_here = parse(text).matches(parse(node.device))
        except ValueError as error:
            raise errors.InvalidArgumentError(None, None, f"The target of {node.name}: {error}") from None
        if not is_here:
            raise errors.UnimplementedError(
                None,
                None,
                f"The target of {node.name}, {text}, is another device than {node.device}, and no constant: "
                "make it a tf.constant, so that the call is placed before the step.",
            )
        return _call(function, arguments)

    return AsyncKernel(run) if function.waits else run


@kernel("SymbolicGradient")
def symbolic_gradient(node: KernelNode) -> Kernel | AsyncKernel:
    function = library_of(node).instantiate(node.attrs["f"], node.device, node.xp, gradient=True)
    function.check(node.input_types, node.output_types)

    def run(*arguments: Any) -> Any:
        return _call(function, arguments)

    return AsyncKernel(run) if function.waits else run


@kernel("If", "StatelessIf")
def if_(node: KernelNode) -> Kernel | AsyncKernel:
    types = node.input_types[1:], node.output_types
    then_branch, else_branch = _function(node, "then_branch", *types), _function(node, "else_branch", *types)

    def run(condition: Any, *arguments: Any) -> Any:
        return _call(then_branch if _truth(condition) else else_branch, arguments)

    return AsyncKernel(run) if then_branch.waits or else_branch.waits else run


@kernel("Case", "StatelessCase")
def case(node: KernelNode) -> Kernel | AsyncKernel:
    types = node.input_types[1:], node.output_types
    branches = [_checked(node, func, *types) for func in node.attrs["branches"]]
    if not branches:
        raise errors.InvalidArgumentError(None, None, f"{node.name} has no branches")

    def run(index: Any, *arguments: Any) -> Any:
        number = int(index)
        return _call(branches[number if 0 <= number < len(branches) else -1], arguments)

    return AsyncKernel(run) if any(branch.waits for branch in branches) else run


def _truth(value: Any) -> bool:
    """The truth of a condition, as in TensorFlow: of a scalar its value, else whether there are elements."""
    shape = getattr(value, "shape", ())
    if shape:
        return bool(np.prod(shape))
    if isinstance(value, np.ndarray) and value.dtype == object:
        return bool(value[()])
    return bool(value)


@kernel("While", "StatelessWhile", lasting=True)
def while_(node: KernelNode) -> Kernel | AsyncKernel:
    condition = _function(node, "cond", node.input_types, None)
    body = _function(node, "body", node.input_types, node.output_types)
    pool = library_of(node).pool

    def run(*state: Any) -> Any:
        while _truth(condition(*state)[0]):  # type: ignore[index]
            check_step()
            state = body(*state)  # type: ignore[assignment]
        return _outputs(state)

    def steps(state: tuple[Any, ...]) -> Generator[Future, Any, Any]:
        step = RUNNING.step  # which other threads go on with
        while True:
            if step is not None and step.error is not None:
                raise step.error
            found = condition(*state)
            if type(found) is Future:
                found = yield found
            if not _truth(found[0]):  # type: ignore[index]
                return _outputs(state)
            made = body(*state)
            state = (yield made) if type(made) is Future else made  # type: ignore[assignment]

    if condition.waits or body.waits:
        return AsyncKernel(lambda *state: drive(steps(state), pool))
    return run


@kernel("For", lasting=True)
def for_(node: KernelNode) -> Kernel | AsyncKernel:
    body = _function(node, "body", [dtypes.int32, *node.input_types[3:]], node.output_types)
    pool = library_of(node).pool

    def turns(start: Any, limit: Any, delta: Any) -> range:
        first, last, step = int(start), int(limit), int(delta)
        if (last - first) * step < 0 or (not step and first != last):
            text = f"Invalid start/limit/delta: {first} {last} {step}"
            raise errors.InvalidArgumentError(None, None, text)
        return range(first, last, step or 1)

    def run(start: Any, limit: Any, delta: Any, *state: Any) -> Any:
        for turn in turns(start, limit, delta):
            check_step()
            state = body(np.int32(turn), *state)  # type: ignore[assignment]
        return _outputs(state)

    def steps(inputs: tuple[Any, ...]) -> Generator[Future, Any, Any]:
        step = RUNNING.step  # which other threads go on with
        state = inputs[3:]
        for turn in turns(*inputs[:3]):
            if step is not None and step.error is not None:
                raise step.error
            made = body(np.int32(turn), *state)
            state = (yield made) if type(made) is Future else made  # type: ignore[assignment]
        return _outputs(state)

    return AsyncKernel(lambda *inputs: drive(steps(inputs), pool)) if body.waits else run
