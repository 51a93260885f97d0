"""Sums of products over named dimensions: `tf.einsum`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from tensorfleet.core.dims import Dims
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one

_ELLIPSIS = "..."


def terms(equation: str) -> tuple[list[list[str]], list[str]]:
    """The labels of each input and of the output; an ellipsis is one label, "...".

    Raises:
        ValueError: the op does not take an equation of this form.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    if not arrow or "->" in right:
        raise ValueError(f"Expecting exactly one '->' in einsum equation: {equation}")
    inputs = [_labels(part, equation) for part in left.split(",")]
    output = _labels(right, equation)
    known = {label for labels in inputs for label in labels}
    for label in output:
        if label not in known and label != _ELLIPSIS:
            raise ValueError(f"Label {label} is in the output of the equation, but in no input: {equation}")
    return inputs, output


def _labels(part: str, equation: str) -> list[str]:
    if not re.fullmatch(r"[A-Za-z]*(\.\.\.)?[A-Za-z]*", part):
        raise ValueError(f"Subscripts must be letters and at most one ellipsis: {part!r} in {equation}")
    return re.findall(r"\.\.\.|[A-Za-z]", part)


def _einsum_shape(node: RuleNode) -> list[Dims]:
    inputs, output = terms(node.attrs["equation"].decode())
    if len(inputs) != len(node.inputs):
        raise ValueError(f"Expected {len(inputs)} inputs but got: {len(node.inputs)}")
    sizes: dict[str, int | None] = {}
    middle: tuple[int | None, ...] | None = ()
    for labels, tensor in zip(inputs, node.inputs, strict=True):
        if tensor.dims is None:
            if _ELLIPSIS in labels:
                middle = None
            for label in labels:
                sizes.setdefault(label, None)
            continue
        covered = len(tensor.dims) - len(labels) + (_ELLIPSIS in labels)
        if covered < 0 or (covered and _ELLIPSIS not in labels):
            raise ValueError(f"Expected input with rank {len(labels)} but got rank {len(tensor.dims)}")
        place = 0
        for label in labels:
            if label == _ELLIPSIS:
                part = tensor.dims[place : place + covered]
                middle = None if middle is None else _broadcast(middle, part)
                place += covered
            else:
                sizes[label] = _merged(sizes.get(label), tensor.dims[place], label)
                place += 1
    if middle is None and _ELLIPSIS in output:
        return [None]
    result: list[int | None] = []
    for label in output:
        if label == _ELLIPSIS:
            result += middle or ()
        else:
            result.append(sizes[label])
    return [tuple(result)]


def _merged(a: int | None, b: int | None, label: str) -> int | None:
    if a is not None and b is not None and a != b:
        raise ValueError(f"Dimensions must be equal, but are {a} and {b}: dimension {label}")
    return b if a is None else a


def _broadcast(a: tuple[int | None, ...], b: tuple[int | None, ...]) -> tuple[int | None, ...]:
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    result: list[int | None] = []
    for x, y in zip(a, b, strict=True):
        if x == 1 or y == 1:
            result.append(y if x == 1 else x)
        else:
            result.append(_merged(x, y, _ELLIPSIS))
    return tuple(result)


op(
    "Einsum(inputs: N * T) -> (output: T)",
    "equation: string",
    "N: int >= 1",
    "T: type",
    shape=_einsum_shape,
)


def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Tensor:
    """The sum of products of elements, over all dimensions that the output does not name (`tf.einsum`).

    Args:
        equation: the labels of each input, and of the output behind "->": "ij,jk->ik" is a matrix product.
            Without an output, it is the labels that appear once, sorted. "..." are any further dimensions,
            which broadcast.
        inputs: a tensor for each part of the equation.
        optimize: how to order the products of three or more tensors, as for `numpy.einsum_path`.
        name: the name scope.

    Raises:
        ValueError: an equation that does not fit the inputs.
        TypeError: an unknown argument.

    Example:
        >>> tf.Session().run(tf.einsum("ij,j->i", [[1, 2], [3, 4]], [1, 10]))
        array([21, 43], dtype=int32)
    """
    name = kwargs.pop("name", None)
    optimize = kwargs.pop("optimize", "greedy")
    if kwargs:
        raise TypeError(f"Invalid keyword arguments for einsum: {', '.join(sorted(kwargs))}.")
    with framework.name_scope(name, "einsum", [equation, inputs]):
        tensors = [convert_to_tensor(x) for x in inputs]
        equation, tensors = _resolved(equation, tensors)
        if len(tensors) <= 2:
            return apply_one("Einsum", tensors, equation=equation)
        return _pairwise(equation, tensors, optimize)


def _resolved(equation: str, tensors: list[Tensor]) -> tuple[str, list[Tensor]]:
    """The equation with its output written out."""
    text = equation.replace(" ", "")
    if not re.fullmatch(r"[A-Za-z.]*(,[A-Za-z.]*)*(->[A-Za-z.]*)?", text):
        raise ValueError(f"Indices have incorrect format. Received: {equation}.")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(tensors):
        raise ValueError(f'Got {len(tensors)} arguments for equation "{equation}", expecting {len(parts)}.')
    if not arrow:
        seen = left.replace(",", "").replace(_ELLIPSIS, "")
        right = _ELLIPSIS * (_ELLIPSIS in left) + "".join(
            sorted(label for label in set(seen) if seen.count(label) == 1)
        )
    resolved = f"{left}->{right}"
    terms(resolved)
    return resolved, tensors


def _pairwise(equation: str, tensors: list[Tensor], optimize: Any) -> Tensor:
    """Products of two tensors at a time, in the cheapest order for the sizes that are known."""
    inputs, output = terms(equation)
    stand_ins = [
        np.broadcast_to(np.float32(0), [size or 1 for size in tensor.dims or (1,) * len(labels)])
        for labels, tensor in zip(inputs, tensors, strict=True)
    ]
    sizes = _sizes(inputs, tensors)
    wanted: Any = "greedy" if optimize is True or optimize not in (False, "greedy", "optimal") else optimize
    path: Any = [(0, 1)] * (len(tensors) - 1)
    if all(tensor.dims is not None and None not in tensor.dims for tensor in tensors):
        path = np.einsum_path(equation, *stand_ins, optimize=wanted)[0][1:]
    for places in path:
        picked = sorted(places, reverse=True)
        chosen = [(inputs.pop(i), tensors.pop(i)) for i in picked]
        rest = {label for labels in inputs for label in labels} | set(output)
        found = {label for labels, _ in chosen for label in labels}
        kept = output if not inputs else _in_order(found & rest, sizes)
        while len(chosen) > 2:  # a path may join more than two at once
            (first, x), (second, y) = chosen[:2]
            others = {label for labels, _ in chosen[2:] for label in labels} | set(kept)
            middle = _in_order(({*first, *second}) & others, sizes)
            chosen[:2] = [(middle, _product([(first, x), (second, y)], middle))]
        inputs.append(list(kept))
        tensors.append(_product(chosen, kept))
    (result,) = tensors
    return result


def _product(operands: list[tuple[list[str], Tensor]], output: list[str]) -> Tensor:
    left = ",".join("".join(labels) for labels, _ in operands)
    return apply_one("Einsum", [tensor for _, tensor in operands], equation=f"{left}->{''.join(output)}")


def _sizes(inputs: list[list[str]], tensors: list[Tensor]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for labels, tensor in zip(inputs, tensors, strict=True):
        if tensor.dims is not None and _ELLIPSIS not in labels:
            sizes |= {a: size or 1 for a, size in zip(labels, tensor.dims, strict=True)}
    return sizes


def _in_order(labels: Iterable[str], sizes: dict[str, int]) -> list[str]:
    """The labels of an intermediate result: the ellipsis in front, then smaller dimensions first."""
    return sorted(labels, key=lambda label: (label != _ELLIPSIS, sizes.get(label, 1), label))
