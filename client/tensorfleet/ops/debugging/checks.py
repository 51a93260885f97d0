"""`tf.assert_equal` and related checks: at once if the values are static, else in a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, errors
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor, is_tensor
from tensorfleet.ops.control_flow.control import no_op
from tensorfleet.ops.debugging.type_checks import assert_type, is_numeric_tensor
from tensorfleet.ops.io.logging import Assert


def _all(values: Tensor) -> Tensor:
    from tensorfleet.ops.math.reduction import reduce_all

    return reduce_all(values)


def _compare(
    kind: str, sign: str, x: Any, y: Any, data: Any, summarize: int | None, message: str | None, name: Any
) -> Any:
    """Asserts `x sign y` for all elements; `kind` is the name of the comparison, such as "less_equal"."""
    from tensorfleet.ops.math import comparison

    with framework.name_scope(name, f"assert_{kind}", [x, y, data] if is_tensor(data) else [x, y]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y")
        if data is None:
            data = [
                f"Condition x {sign} y did not hold element-wise:",
                f"x ({x.name}) = ",
                x,
                f"y ({y.name}) = ",
                y,
            ]
        if message is not None:
            data = [message, *data]
        condition = _all(getattr(comparison, kind)(x, y))
        static = static_value(x), static_value(y)
        if static[0] is not None and static[1] is not None and not _STATIC[kind](*static).all():
            raise errors.InvalidArgumentError(None, None, "\n".join(_static_text(item) for item in data))
        return Assert(condition, data, summarize=summarize)


_STATIC: dict[str, Callable[..., Any]] = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}


def _static_text(item: Any) -> str:
    if not isinstance(item, Tensor):
        return str(item)
    value = static_value(item)
    return str(item if value is None else value)


def assert_equal(
    x: Any,
    y: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """An operation that fails unless `x == y` in all elements (`tf.assert_equal`).

    Args:
        data: the tensors and texts to show in the error, by default both tensors.
        summarize: the number of elements of each tensor to show, 3 by default.
        message: a prefix of the error's text.

    Raises:
        InvalidArgumentError: at once if both values are static, else in a run.
    """
    with framework.name_scope(name, "assert_equal", [x, y]):
        if x is y:
            return no_op(name)
    return _compare("equal", "==", x, y, data, summarize, message, name)


def assert_none_equal(
    x: Any, y: Any, data: Any = None, summarize: Any = None, message: Any = None, name: Any = None
) -> Any:
    """Fails unless `x != y` in all elements (`tf.assert_none_equal`); see `assert_equal`."""
    with framework.name_scope(name, "assert_none_equal", [x, y]) as scope:
        return _compare("not_equal", "!=", x, y, data, summarize, message, scope)


def assert_less(
    x: Any, y: Any, data: Any = None, summarize: Any = None, message: Any = None, name: Any = None
) -> Any:
    """Fails unless `x < y` in all elements (`tf.assert_less`); see `assert_equal`."""
    return _compare("less", "<", x, y, data, summarize, message, name)


def assert_less_equal(
    x: Any, y: Any, data: Any = None, summarize: Any = None, message: Any = None, name: Any = None
) -> Any:
    """Fails unless `x <= y` in all elements (`tf.assert_less_equal`); see `assert_equal`."""
    return _compare("less_equal", "<=", x, y, data, summarize, message, name)


def assert_greater(
    x: Any, y: Any, data: Any = None, summarize: Any = None, message: Any = None, name: Any = None
) -> Any:
    """Fails unless `x > y` in all elements (`tf.assert_greater`); see `assert_equal`."""
    return _compare("greater", ">", x, y, data, summarize, message, name)


def assert_greater_equal(
    x: Any, y: Any, data: Any = None, summarize: Any = None, message: Any = None, name: Any = None
) -> Any:
    """Fails unless `x >= y` in all elements (`tf.assert_greater_equal`); see `assert_equal`."""
    return _compare("greater_equal", ">=", x, y, data, summarize, message, name)


def _sign(
    default_name: str, kind: str, sign: str, zero_first: bool,
    x: Any, data: Any, summarize: Any, message: Any, name: Any,
) -> Any:  # fmt: skip
    with framework.name_scope(name, default_name, [x]):
        x = convert_to_tensor(x, name="x")
        if data is None:
            prefix = f"{message}.  " if message else ""
            data = [prefix, f"Condition x {sign} 0 did not hold element-wise:", f"x ({x.name}) = ", x]
            if default_name == "assert_non_positive" and not prefix:
                del data[0]  # TensorFlow's error lacks it
        zero = convert_to_tensor(0, x.dtype.base)
        first, second = (zero, x) if zero_first else (x, zero)
        return _compare(kind, "", first, second, data, summarize, None, None)


def assert_positive(
    x: Any, data: Any = None, summarize: Any = None, message: Any = None, name: Any = None
) -> Any:
    """Fails unless `x > 0` in all elements (`tf.assert_positive`); see `assert_equal`."""
    return _sign("assert_positive", "less", ">", True, x, data, summarize, message, name)


def assert_negative(
    x: Any, data: Any = None, summarize: Any = None, message: Any = None, name: Any = None
) -> Any:
    """Fails unless `x < 0` in all elements (`tf.assert_negative`); see `assert_equal`."""
    return _sign("assert_negative", "less", "<", False, x, data, summarize, message, name)


def assert_non_negative(
    x: Any, data: Any = None, summarize: Any = None, message: Any = None, name: Any = None
) -> Any:
    """Fails unless `x >= 0` in all elements (`tf.assert_non_negative`); see `assert_equal`."""
    return _sign("assert_non_negative", "less_equal", ">=", True, x, data, summarize, message, name)


def assert_non_positive(
    x: Any, data: Any = None, summarize: Any = None, message: Any = None, name: Any = None
) -> Any:
    """Fails unless `x <= 0` in all elements (`tf.assert_non_positive`); see `assert_equal`."""
    return _sign("assert_non_positive", "less_equal", "<=", False, x, data, summarize, message, name)


def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Fails unless `|x - y| < atol + rtol * |y|` in all elements (`tf.assert_near`).

    Args:
        rtol, atol: the tolerances, by default ten times the dtype's epsilon.
    """
    with framework.name_scope(name, "assert_near", [x, y]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype.base, "y")
        epsilon = 10 * np.finfo(x.dtype.as_numpy_dtype).eps
        rtol = convert_to_tensor(epsilon if rtol is None else rtol, x.dtype.base, "rtol")
        atol = convert_to_tensor(epsilon if atol is None else atol, x.dtype.base, "atol")
        if data is None:
            data = [
                f"{message}.  " if message else "",
                f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}",
                f"x ({x.name}) = ",
                x,
                f"y ({y.name}) = ",
                y,
            ]
        tolerance = atol + rtol * abs(y)
        return Assert(_all(abs(x - y) < tolerance), data, summarize=summarize)


def _rank(
    default_name: str, words: str, holds: Callable[[int, list[int]], bool], compare: Callable[..., Any],
    x: Any, ranks: list[Any], data: Any, summarize: Any, message: Any, name: Any,
) -> Any:  # fmt: skip
    from tensorfleet.ops.array.shaping import rank as rank_of, shape as shape_of

    prefix = f"{message}.  " if message else ""
    with framework.name_scope(name, default_name, [x]):
        x = x if is_tensor(x) else convert_to_tensor(x)
        x = convert_to_tensor(x)
        tensors = [convert_to_tensor(rank, dtypes.int32, "rank") for rank in ranks]
        for tensor in tensors:
            assert_type(tensor, dtypes.int32)
        shape = shape_of(x)
        known = [static_value(tensor) for tensor in tensors]
        if all(value is not None and value.ndim == 0 for value in known) and x.dims is not None:
            wanted = [int(value) for value in known if value is not None]
            if holds(len(x.dims), wanted):
                return no_op("static_checks_determined_all_ok")
            listed = wanted[0] if len(wanted) == 1 and words != "must have rank in" else tuple(wanted)
            raise ValueError(
                f"{prefix}Tensor {x.name} {words} {listed}.  Received rank {len(x.dims)}, shape {x.shape}"
            )
        if data is None:
            data = [prefix, f"Tensor {x.name} {words}", *tensors, "Received shape: ", shape]
        return Assert(compare(rank_of(x), tensors), data, summarize=summarize)


def assert_rank(
    x: Any, rank: Any, data: Any = None, summarize: Any = None, message: Any = None, name: Any = None
) -> Any:
    """Fails unless `x` has this rank (`tf.assert_rank`).

    Raises:
        ValueError: at once, if both ranks are static.
    """
    from tensorfleet.ops.math.comparison import equal

    return _rank(
        "assert_rank", "must have rank", lambda got, ranks: got == ranks[0],
        lambda got, ranks: equal(got, ranks[0]), x, [rank], data, summarize, message, name,
    )  # fmt: skip


def assert_rank_at_least(
    x: Any, rank: Any, data: Any = None, summarize: Any = None, message: Any = None, name: Any = None
) -> Any:
    """Fails unless `x` has this rank or a higher one (`tf.assert_rank_at_least`); see `assert_rank`."""
    return _rank(
        "assert_rank_at_least", "must have rank at least", lambda got, ranks: got >= ranks[0],
        lambda got, ranks: got >= ranks[0], x, [rank], data, summarize, message, name,
    )  # fmt: skip


def assert_rank_in(
    x: Any, ranks: Any, data: Any = None, summarize: Any = None, message: Any = None, name: Any = None
) -> Any:
    """Fails unless the rank of `x` is one of these (`tf.assert_rank_in`); see `assert_rank`."""
    from tensorfleet.ops.math.comparison import equal, logical_or

    def any_equal(got: Any, tensors: list[Any]) -> Any:
        found = equal(tensors[0], got)
        for tensor in tensors[1:]:
            found = logical_or(found, equal(tensor, got))
        return found

    return _rank(
        "assert_rank_in", "must have rank in", lambda got, listed: got in listed, any_equal, x, list(ranks),
        data, summarize, message, name,
    )  # fmt: skip


def assert_scalar(tensor: Any, name: str | None = None, message: str | None = None) -> Tensor:
    """`tensor` as a tensor (`tf.assert_scalar`).

    Raises:
        ValueError: it has another rank than 0, or its rank is not known.
    """
    with framework.name_scope(name, "assert_scalar", [tensor]) as scope:
        made = convert_to_tensor(tensor, name=scope)
        if made.dims != ():
            raise ValueError(
                f"{message or ''}Expected scalar shape for {made.name}, saw shape: {made.shape}."
            )
        return made


def _neighbours_differ(x: Any, default_name: str, op_type: str, name: str | None) -> Tensor:
    from tensorfleet.ops.array.shaping import reshape, size
    from tensorfleet.ops.control_flow.control_flow import cond
    from tensorfleet.ops.math.comparison import greater, greater_equal

    with framework.name_scope(name, default_name, [x]):
        x = convert_to_tensor(x, name="x")
        if not is_numeric_tensor(x):
            raise TypeError(f"Expected x to be numeric, instead found: {x}")
        flat = reshape(x, [-1])
        compare = greater if op_type == "Greater" else greater_equal
        few = size(flat) < 2
        return _all(
            cond(few, lambda: convert_to_tensor([], dtypes.bool), lambda: compare(flat[1:], flat[:-1]))
        )


def is_strictly_increasing(x: Any, name: str | None = None) -> Tensor:
    """Whether each element of x, read row by row, is greater than the one before
    (`tf.is_strictly_increasing`)."""
    return _neighbours_differ(x, "is_strictly_increasing", "Greater", name)


def is_non_decreasing(x: Any, name: str | None = None) -> Tensor:
    """Whether each element of x, read row by row, is no less than the one before (`tf.is_non_decreasing`)."""
    return _neighbours_differ(x, "is_non_decreasing", "GreaterEqual", name)


def verify_tensor_all_finite(
    t: Any = None, msg: str | None = None, name: str | None = None, x: Any = None, message: str | None = None
) -> Tensor:
    """`x`; a run fails with `message` if it has an infinity or NaN (`tf.verify_tensor_all_finite`).

    `t` and `msg` are older names of `x` and `message`.
    """
    from tensorfleet.ops.array.identity import check_numerics
    from tensorfleet.ops.control_flow.control import with_dependencies

    value = t if x is None else x
    text = msg if message is None else message
    if value is None or text is None:
        raise ValueError("`x` and `message` must be given.")
    with framework.name_scope(name, "VerifyFinite", [value]):
        tensor = convert_to_tensor(value, name="x")
        return with_dependencies([check_numerics(tensor, text)], tensor)


def add_check_numerics_ops() -> Any:
    """An operation that checks all floating point tensors of the graph (`tf.add_check_numerics_ops`).

    It fails at the first op that gives an infinity or NaN, in the order of their creation.

    Raises:
        ValueError: a tensor is in a conditional or a loop, which a check from outside cannot read.
    """
    from tensorfleet.graph.graph import get_default_graph
    from tensorfleet.ops.array.identity import check_numerics
    from tensorfleet.ops.control_flow.control import group

    checks: list[Any] = []
    for op in get_default_graph().get_operations():
        for output in op.outputs:
            if output.dtype.base not in (dtypes.float16, dtypes.float32, dtypes.float64):
                continue
            if op._control_flow_context is not None:
                raise ValueError(
                    "`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow operations "
                    "such as `tf.cond()` or `tf.while_loop()`."
                )
            with framework.control_dependencies(checks[-1:]):
                checks.append(check_numerics(output, f"{op.name}:{output.value_index}"))
    return group(*checks)
