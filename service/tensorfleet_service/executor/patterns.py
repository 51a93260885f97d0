"""Patterns of nodes that are computed together: a node, the root, and the nodes whose values it alone takes.

They are groups like those of elementwise nodes (`fusing`): computed at the root's place, written beside
the code of the nodes one by one, which runs in traced steps, and where the function does not take its inputs
(it returns None). Inputs that a kernel would refuse are left to it, so that errors name the user's op.

PATTERNS is the table: what a root's inputs have to be, and what makes the function. The master marks the
roots (`master.optimize`) unless the session's options forbid fusion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet.wire.buffers import empty
from tensorfleet_service.executor.fusing import Group, changes_variable, inputs_of, reads_variable
from tensorfleet_service.kernels.array.slicing import slice_into
from tensorfleet_service.kernels.math.formulas import steps
from tensorfleet_service.kernels.math.fusion import FusedGroup, FusedOp, steps_of
from tensorfleet_service.kernels.math.matmul import product_of
from tensorfleet_service.kernels.nn.pool import max_pool_gradient

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node

FUSES = "_fuses"
"""The attribute of a root that may be computed together with its inputs."""

Places = list[list[int]]
"""For each part, in the order of the root's inputs, which of the group's inputs its own inputs are."""

Run = Callable[[Sequence[Any]], Any]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A root whose inputs, or the first of them, come from nodes of one op type.

    Attributes:
        part: this op type.
        fits: whether such nodes, given after the root, can be computed together.
        make: makes the function of the group's inputs, which returns None where it does not pay, or inputs
            do not fit.
        only_first: whether only the first input comes from such a node.
    """

    part: str
    fits: Callable[[Node, Sequence[Node]], bool]
    make: Callable[[Sequence[Node], Places], Run]
    only_first: bool = False


class _Together:
    """The function of a group with one output."""

    __slots__ = ("_make", "_run", "least")

    def __init__(self, make: Callable[[], Run]) -> None:
        self._make = make
        self._run: Run | None = None
        self.least = 1

    def __call__(self, *values: Any) -> tuple[Any, ...] | None:
        run = self._run
        if run is None:
            run = self._run = self._make()
        try:
            result = run(values)
        except MemoryError:
            return None  # the node that needs it says so, or does with less
        return None if result is None else (result,)


def find_patterns(
    nodes: Sequence[Node], waits: Callable[[int], bool], dereferences: Callable[[Node, int], bool]
) -> list[Group]:
    """The groups of a partition that PATTERNS describes; the arguments are those of `fusing.find_groups`."""
    if not any(node.op in PATTERNS and FUSES in node.attrs for node in nodes):
        return []
    users: dict[int, int] = {}
    for node in nodes:
        for source, _ in node.inputs:
            users[id(source)] = users.get(id(source), 0) + 1
        for control in node.controls:
            users[id(control)] = users.get(id(control), 0) + 2  # it has to be computed where it stands
    place: dict[int, int] = {}
    found = []
    divider = -1  # the last node that may wait, or change a variable
    for position, node in enumerate(nodes):
        place[id(node)] = position
        if FUSES in node.attrs:
            for pattern in PATTERNS.get(node.op, ()):
                parts = [source for source, _ in node.inputs[: 1 if pattern.only_first else None]]
                if not all(
                    part.op == pattern.part and users[id(part)] == 1 and place[id(part)] > divider
                    for part in parts
                ):
                    continue
                if pattern.fits(node, parts) and not any(
                    reads_variable(part, dereferences) for part in parts
                ):
                    positions = sorted([place[id(part)] for part in parts])
                    found.append(_group(node, parts, [*positions, position], pattern))
                    break
        if waits(position) or changes_variable(node):
            divider = position
    return found


def _group(root: Node, parts: list[Node], positions: list[int], pattern: Pattern) -> Group:
    inputs = inputs_of([*parts, root])
    place = {(id(source), index): i for i, (source, index) in enumerate(inputs)}
    places = [[place[id(source), index] for source, index in part.inputs] for part in parts]
    return Group(positions, inputs, [root], _Together(lambda: pattern.make(parts, places)))


def _are_alike(_: Node, parts: Sequence[Node]) -> bool:
    first = parts[0]
    return (
        len(parts) > 1
        and first.output_types[0] in (dtypes.float32, dtypes.float64)
        and all(
            part.output_types[0] is first.output_types[0]
            and part.attrs.get("transpose_a") == first.attrs.get("transpose_a")
            and part.attrs.get("transpose_b") == first.attrs.get("transpose_b")
            for part in parts
        )
    )


def _sum_of_products(parts: Sequence[Node], places: Places) -> Run:
    """The sum of products as one product of joined operands.

    Such as the gradient of weights that all steps of an unrolled network share. It saves to write and add up
    results that are larger than what they are made of.
    """
    attrs = parts[0].attrs
    inner_a, inner_b = int(not attrs["transpose_a"]), int(attrs["transpose_b"])
    product = product_of(attrs["transpose_a"], attrs["transpose_b"])

    def run(values: Sequence[Any]) -> Any:
        lefts, rights = [values[i] for i, _ in places], [values[i] for _, i in places]
        if any(value.ndim != 2 for value in (*lefts, *rights)):
            return None
        rows, columns = lefts[0].shape[1 - inner_a], rights[0].shape[1 - inner_b]
        inner = 0
        for a, b in zip(lefts, rights, strict=True):
            own = a.shape[inner_a]
            if b.shape[inner_b] != own or a.shape[1 - inner_a] != rows or b.shape[1 - inner_b] != columns:
                return None
            inner += own
        # Joining copies what the products read; apart, each result is written, read and added.
        if inner * (rows + columns) > len(places) * rows * columns:
            return None
        return product(_joined(lefts, inner_a), _joined(rights, inner_b))

    return run


def _joined(values: list[Any], axis: int) -> Any:
    shape = list(values[0].shape)
    shape[axis] = sum([value.shape[axis] for value in values])
    return np.concatenate(values, axis, out=empty(tuple(shape), values[0].dtype))


def _sum_of_slices(parts: Sequence[Node], places: Places) -> Run:
    """The sum of gradients of slices of one tensor, each added where the slice was, in their order.

    The bits are those of the sum of arrays that are zero elsewhere.
    """
    into = [slice_into(part.attrs) for part in parts]
    dtype = parts[0].output_types[0].np

    def run(values: Sequence[Any]) -> Any:
        shape = values[places[0][0]]
        if shape.ndim != 1 or not all(np.array_equal(values[own[0]], shape) for own in places):
            return None
        try:
            result = empty(tuple(shape.tolist()), dtype)
            result.fill(0)
            for find, (_, *bounds, dy) in zip(into, places, strict=True):
                view = find(result, *(values[i] for i in bounds))
                if view.shape != values[dy].shape:
                    return None
                view += values[dy]
        except (errors.OpError, ValueError):
            return None  # the kernel that refuses it says so
        return result

    return run


def _is_of_maxima(root: Node, parts: Sequence[Node]) -> bool:
    (part,) = parts
    return root.inputs[1] == part.inputs[0] and steps_of(root) is not None


def _gradient_of_maxima(parts: Sequence[Node], places: Places) -> Run:
    """The gradient of a rectifier before max pooling.

    A window's gradient goes to an element that is its maximum, so whether the rectifier lets it pass can be
    told from the maximum: one pass over what was pooled, in place of one over all that the windows cover.
    A window whose first element is NaN is the exception: TensorFlow takes that for the maximum, and the
    rectifier lets nothing pass to it. The numbers are the same, but for the signs of zeros, and for sums of
    overlapping windows that overflow where nothing passes.
    """
    ((own, pooled, dy),) = places
    gradient = max_pool_gradient(np, parts[0].attrs, rectified=True)
    operands = [(True, 0), (True, 1)]
    rectified = FusedGroup(
        ["ReluGrad"],
        lambda: [FusedOp("ReluGrad", steps("ReluGrad"), operands)],
        [0],
        parts[0].output_types[0].np,
    )

    def run(values: Sequence[Any]) -> Any:
        x, maxima, dys = values[own], values[pooled], values[dy]
        if dys.shape != maxima.shape:
            return None
        passed = rectified(dys, maxima)
        try:
            return gradient(x, maxima, dys * (maxima > 0) if passed is None else passed[0])
        except (errors.OpError, ValueError):
            return None  # the kernel that refuses it says so

    return run


PATTERNS: dict[str, tuple[Pattern, ...]] = {
    "AddN": (
        Pattern("MatMul", _are_alike, _sum_of_products),
        Pattern("StridedSliceGrad", _are_alike, _sum_of_slices),
    ),
    "ReluGrad": (Pattern("MaxPoolGrad", _is_of_maxima, _gradient_of_maxima, only_first=True),),
}
"""The patterns by the op type of their root."""
