"""The gradient of `einsum`: again sums of products, with the incoming gradient in place of one input."""

from __future__ import annotations

from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.gradient_registry import gradient
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import conj, ints, shape_of
from tensorfleet.ops.math.einsum import terms

_ELLIPSIS = "..."


def _product(tensors: list[Tensor], labels: list[list[str]], output: list[str]) -> Tensor:
    equation = ",".join("".join(part) for part in labels) + "->" + "".join(output)
    return apply_one("Einsum", tensors, equation=equation)


@gradient("Einsum")
def _einsum(op: Operation, grad: Tensor) -> list[Tensor]:
    inputs, output = terms(op.attrs["equation"].decode())
    tensors = list(op.inputs)
    if len(tensors) > 2:
        raise NotImplementedError("Gradient of an Einsum of more than two inputs; tf.einsum makes none.")
    if len(tensors) == 1:
        return [_of_input(tensors[0], inputs[0], None, [], grad, output)]
    (x, y), (x_labels, y_labels) = tensors, inputs
    return [
        _of_input(x, x_labels, y, y_labels, grad, output),
        _of_input(y, y_labels, x, x_labels, grad, output),
    ]


def _of_input(
    x: Tensor, x_labels: list[str], other: Tensor | None, others: list[str], grad: Tensor, output: list[str]
) -> Tensor:
    """The gradient of x, which was multiplied with `other`."""
    # Each label once, and the ellipsis in front: along it, x may have been repeated.
    broadcasts = _ELLIPSIS in output
    unique = [label for label in dict.fromkeys(x_labels) if label != _ELLIPSIS]
    front = [_ELLIPSIS] * broadcasts
    left = output
    if len(set(output)) < len(output):
        # Of a gradient with repeated labels only the diagonal counts.
        left = list(dict.fromkeys(output))
        grad = _product([grad], [output], left)
    known = set(left) | set(others)
    found = [label for label in unique if label in known]
    if other is None:
        result = _product([grad], [left], [*front, *found])
    else:
        result = _product([grad, conj(other)], [left, others], [*front, *found])
    if broadcasts:
        result = _summed(result, x, x_labels, found)
    lost = [label for label in unique if label not in known]
    if lost:
        result = _spread(result, x, x_labels, unique, lost)
    current = [_ELLIPSIS] * (_ELLIPSIS in x_labels) + unique
    return result if current == x_labels else _product([result], [current], x_labels)


def _extent(x: Tensor, labels: list[str], label: str) -> Tensor:
    """The size of one dimension of x, as a vector of one element."""
    place = labels.index(label)
    if _ELLIPSIS in labels and labels.index(_ELLIPSIS) < place:
        place -= len(labels)
    end = [place + 1] if place != -1 else [0]
    return apply_one(
        "StridedSlice", shape_of(x), ints([place]), ints(end), ints([1]), end_mask=int(place == -1)
    )


def _middle(x: Tensor, labels: list[str]) -> Tensor:
    """The sizes of the dimensions that the ellipsis stands for, as a vector."""
    place = labels.index(_ELLIPSIS)
    behind = len(labels) - 1 - place
    return apply_one(
        "StridedSlice", shape_of(x), ints([place]), ints([-behind]), ints([1]), end_mask=int(not behind)
    )


def _concat(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else apply_one("ConcatV2", parts, 0)


def _summed(result: Tensor, x: Tensor, labels: list[str], found: list[str]) -> Tensor:
    """The gradient, summed over the dimensions of the ellipsis (in front) along which x was repeated."""
    parts = [_middle(x, labels)] if _ELLIPSIS in labels else []
    parts += [_extent(x, labels, label) for label in found]
    shape = _concat(parts) if parts else ints([])
    axes, _ = apply_op("BroadcastGradientArgs", shape, shape_of(result))
    return apply_one("Reshape", apply_one("Sum", result, axes), shape)


def _spread(result: Tensor, x: Tensor, labels: list[str], unique: list[str], lost: list[str]) -> Tensor:
    """The gradient, repeated along dimensions that only x has and that were summed."""
    front = [_middle(x, labels)] if _ELLIPSIS in labels else []
    ones = _concat(front + [ints([1]) if a in lost else _extent(x, labels, a) for a in unique])
    full = _concat(front + [_extent(x, labels, a) for a in unique])
    return apply_one("BroadcastTo", apply_one("Reshape", result, ones), full)
