"""A metric that keeps all values: `tf.contrib.metrics.streaming_concat`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.metrics.streaming import collected, metric_variable
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import zeros
from tensorfleet.ops.array.joining import stack
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import no_op
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.state.variable_ops import assign
from tensorfleet.ops.state.variable_scope import variable_scope

_GROWTH = 1.5


def _next_size(required: Any) -> Any:
    """The least whole power of the growth factor that is not below `required`, so that the copies of all
    growths together take a time in proportion to the values'."""
    growth = convert_to_tensor(_GROWTH, dtypes.float32)
    exponent = apply_one(
        "Ceil",
        apply_one("RealDiv", apply_one("Log", cast(required, dtypes.float32)), apply_one("Log", growth)),
    )
    return cast(apply_one("Ceil", apply_one("Pow", growth, exponent)), dtypes.int32)


def streaming_concat(
    values: Any,
    axis: int = 0,
    max_size: int | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """All values of all batches, one after the other (`tf.contrib.metrics.streaming_concat`).

    The values lie in a local variable that grows by half when it is full.

    Args:
        values: a tensor of any dtype, of known sizes but for that of `axis`.
        axis: along which batches are joined; negative from the end.
        max_size: of the whole along `axis`; what comes once it is reached is left out. None: no limit.

    Returns:
        (value, update): all values until now, of the shape of `values` but for `axis`; and the op that adds a
        batch, whose value is the size along `axis`, int32.

    Raises:
        ValueError: the rank, or a size besides that of `axis`, is not known; or `axis` is out of range.
    """
    with variable_scope(name, "streaming_concat", (values,)):
        values = convert_to_tensor(values)
        if values.dims is None:
            raise ValueError("`values` must have known statically known rank")
        ndim = len(values.dims)
        along = axis + ndim if axis < 0 else axis
        if not 0 <= along < ndim:
            raise ValueError(f"axis = {along} not in [0, {ndim})")
        others = [size for i, size in enumerate(values.dims) if i != along]
        if None in others:
            raise ValueError(
                "all dimensions of `values` other than the dimension to concatenate along must have "
                "statically known size"
            )
        array = metric_variable([max_size or 0, *others], values.dtype, "array", validate_shape=False)
        size = metric_variable([], dtypes.int32, "size")
        filled = array[: size.value()]
        filled.set_shape([None, *others])
        back = [0 if i == along else i + 1 if i < along else i for i in range(ndim)]
        value = transpose(filled, back, name="concat")

        number: Any = shape(values)[along]
        if max_size is not None:
            number = apply_one("Minimum", number, max_size - size.value())
        batch = transpose(values, [along, *(i for i in range(ndim) if i != along)])[:number]
        new_size = size.value() + number

        def grow() -> Any:
            larger = zeros(stack([_next_size(new_size), *others]), values.dtype)
            # A read of a reference variable is the variable itself: a slice of it is a copy.
            old = array.read_value()[: size.value()]
            with framework.control_dependencies([old]):
                moved = assign(array, larger, validate_shape=False)
            with framework.control_dependencies([moved]):
                copied = array[: size.value()].assign(old)
            with framework.control_dependencies([copied]):
                return no_op()

        room: Any = apply_one("Shape", array.value())[0]
        with framework.control_dependencies([cond(new_size > room, grow, no_op)]):
            appended = array[size.value() : new_size].assign(batch)
        with framework.control_dependencies([appended]):
            update = convert_to_tensor(size.assign(new_size))
        return collected(value, update, metrics_collections, updates_collections)
