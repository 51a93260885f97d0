"""Switches of `tf.debugging` and `tf.test`: checks of numbers, placements in the log, tracebacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_none
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.debugging import checks

_filters_tracebacks = True


def enable_traceback_filtering() -> None:
    """Asks for short tracebacks: they are short here in any case, and name the user's line."""
    global _filters_tracebacks
    _filters_tracebacks = True


def disable_traceback_filtering() -> None:
    """Takes the wish for short tracebacks back."""
    global _filters_tracebacks
    _filters_tracebacks = False


def is_traceback_filtering_enabled() -> bool:
    """Whether short tracebacks are asked for."""
    return _filters_tracebacks


def assert_shapes(
    shapes: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An assertion about sizes of several tensors (`tf.debugging.assert_shapes`), static where it can be.

    Args:
        shapes: pairs (tensor, sizes), or a dict. A size is a number, or a symbol such as "N" that stands for
            one size in all of them; None and "." are any size; `...` or "*" at the front are any further
            dimensions.
        data: what a failure prints.
        summarize: how many elements of each it prints.
        message: a prefix of the failure's text.

    Raises:
        ValueError: static shapes that do not fit.
    """
    pairs = list(shapes.items() if isinstance(shapes, Mapping) else shapes)
    message = message or ""
    with framework.name_scope(name, "assert_shapes", [*_tensors(pairs)]):
        known: dict[str, tuple[Any, str]] = {}
        assertions: list[Any] = []
        for tensor, symbols in pairs:
            value = tensor if isinstance(tensor, SparseTensor) else convert_to_tensor(tensor)
            _check_one(value, symbols, known, assertions, data, summarize, message)
        with framework.control_dependencies(assertions):
            return apply_none("NoOp", name="shape_checks_completed")


def _tensors(pairs: Any) -> Iterator[Any]:
    return (tensor for tensor, _ in pairs if isinstance(tensor, Tensor))


def _check_one(
    value: Any,
    symbols: Any,
    known: dict[str, tuple[Any, str]],
    assertions: list[Any],
    data: Any,
    summarize: int | None,
    message: str,
) -> None:
    label = getattr(value, "name", "sparse tensor")
    spelled = list(symbols) if isinstance(symbols, (str, tuple, list)) else [symbols]
    if not isinstance(symbols, (str, tuple, list)):
        raise TypeError(f"Tensor {label}.  Specified shape must be a sequence, got {symbols!r}")
    open_front = bool(spelled) and spelled[0] in ("*", Ellipsis)
    wanted = spelled[1:] if open_front else spelled
    if any(each in ("*", Ellipsis) for each in wanted):
        raise ValueError(
            f"{message}Tensor {label} specified shape {symbols!r} may be open at the front only."
        )
    dims = value.shape.as_list() if value.shape.rank is not None else None
    if dims is None:
        if not open_front:
            assertions.append(checks.assert_rank(value, len(wanted), data, summarize, message))
    elif len(dims) < len(wanted) or (len(dims) != len(wanted) and not open_front):
        raise ValueError(
            f"{message}.  Tensor {label} has rank {len(dims)}, which is not that of {symbols!r}."
        )
    sizes = value.dense_shape if isinstance(value, SparseTensor) else None
    for i, symbol in enumerate(wanted):
        if symbol in (None, "."):
            continue
        place = i - len(wanted) if open_front else i
        size: Any = None if dims is None else dims[place]
        if size is None:
            sizes = shape(value) if sizes is None else sizes
            size = sizes[place]
        is_number = not isinstance(symbol, str) or symbol.isdigit()
        expected, by = (int(symbol), "") if is_number else known.setdefault(symbol, (size, label))
        _compare(
            size, expected, f"{message}.  Tensor {label} dimension {place}", by, assertions, data, summarize
        )


def _compare(
    size: Any, expected: Any, text: str, by: str, assertions: list[Any], data: Any, summarize: int | None
) -> None:
    if isinstance(size, Tensor) or isinstance(expected, Tensor):
        if size is not expected:
            kind = size.dtype if isinstance(size, Tensor) else expected.dtype
            a, b = (
                each if isinstance(each, Tensor) else convert_to_tensor(each, kind)
                for each in (size, expected)
            )
            assertions.append(checks.assert_equal(a, b, data, summarize, f"{text} must have another size."))
    elif size != expected:
        origin = f", which tensor {by} has" if by else ""
        raise ValueError(f"{text} must have size {expected}{origin}.  Received size {size}")
