"""Ops that pass a value through: placeholders, identity, gradient stops and checks."""

from __future__ import annotations

from typing import Any, overload

from tensorfleet.core import dims as dims_module, shapes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.graph.apply import apply_list
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import Array, static_dims, static_dims_rule, static_rule, static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import nothing, unchanged, with_rank


def _shape_attr(op: RuleNode) -> list[Dims]:
    dims = op.attrs["shape"]
    return [None if dims is None else tuple(None if d == -1 else d for d in dims)]


def _placeholder_with_default_shape(op: RuleNode) -> list[Dims]:
    dims = _shape_attr(op)
    dims_module.merge(op.inputs[0].dims, dims[0])
    return dims


def _each_unchanged(op: RuleNode) -> list[Dims]:
    return [t.dims for t in op.inputs]


def _ensure_shape(op: RuleNode) -> list[Dims]:
    wanted, given = _shape_attr(op)[0], op.inputs[0].dims
    return [
        dims_module.merge(wanted, given if given is None or wanted is None else with_rank(given, len(wanted)))
    ]


op("Placeholder() -> (output: dtype)", "dtype: type", "shape: shape = ?", shape=_shape_attr)
op("PlaceholderV2() -> (output: dtype)", "dtype: type", "shape: shape", shape=_shape_attr)
op(
    "PlaceholderWithDefault(input: dtype) -> (output: dtype)",
    "dtype: type",
    "shape: shape",
    shape=_placeholder_with_default_shape,
)
op("Identity(input: T) -> (output: T)", "T: type", shape=unchanged)
op("IdentityN(input: list(T)) -> (output: list(T))", "T: list(type) >= 1", shape=_each_unchanged)
op("NoOp() -> ()", shape=nothing)
op("StopGradient(input: T) -> (output: T)", "T: type", shape=unchanged)
op("PreventGradient(input: T) -> (output: T)", "T: type", 'message: string = ""', shape=unchanged)
op("Snapshot(input: T) -> (output: T)", "T: type", shape=unchanged)
op("GuaranteeConst(input: T) -> (output: T)", "T: type", shape=unchanged, stateful=True)
for _suffix in ("", "V2"):
    op(
        f"CheckNumerics{_suffix}(tensor: T) -> (output: T)",
        "T: {bfloat16, float16, float32, float64}",
        "message: string",
        shape=unchanged,
        stateful=True,
    )
op("EnsureShape(input: T) -> (output: T)", "shape: shape", "T: type", shape=_ensure_shape)


@static_rule("Identity", "StopGradient", "PreventGradient", "Snapshot", "GuaranteeConst", "EnsureShape")
def _same_value(op: RuleNode) -> Array | None:
    return static_value(op.inputs[0])


@static_dims_rule("Identity", "StopGradient", "PreventGradient", "Snapshot", "GuaranteeConst", "EnsureShape")
def _same_dims(op: RuleNode) -> Dims:
    return static_dims(op.inputs[0])


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor whose value every run that needs it must feed (`tf.placeholder`).

    Args:
        shape: what is known of the shape of fed values; None for nothing.

    Example:
        >>> x = tf.placeholder(tf.float32, [None, 2])
        >>> tf.Session().run(x * 2, {x: [[1.0, 2.0]]})
        array([[2., 4.]], dtype=float32)
    """
    return apply_one("Placeholder", dtype=dtype, shape=shapes.as_dims(shape), name=name)


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """A tensor that is `input` unless it is fed (`tf.placeholder_with_default`).

    Example:
        >>> x = tf.placeholder_with_default([1.0, 2.0], [2])
        >>> tf.Session().run(x)
        array([1., 2.], dtype=float32)
    """
    return apply_one("PlaceholderWithDefault", input, shape=shapes.as_dims(shape), name=name)


@overload
def identity(input: Tensor, name: str | None = None) -> Tensor: ...
@overload
def identity(input: Any, name: str | None = None) -> Any: ...
@takes_composites
def identity(input: Any, name: str | None = None) -> Any:
    """A tensor with the value of `input` (`tf.identity`).

    The parts of an IndexedSlices or SparseTensor each pass through an Identity.

    Example:
        >>> tf.Session().run(tf.identity([1, 2]))
        array([1, 2], dtype=int32)
    """
    if is_slices(input):
        shape = None if input.dense_shape is None else identity(input.dense_shape)
        return type(input)(values=identity(input.values), indices=identity(input.indices), dense_shape=shape)
    return apply_one("Identity", input, name=name)


def is_slices(value: Any) -> bool:
    """Whether `value` is an IndexedSlices or a SparseTensor: parts that stand for one tensor."""
    return not isinstance(value, Tensor) and hasattr(value, "dense_shape")


def identity_n(input: Any, name: str | None = None) -> list[Tensor]:
    """Tensors with the values of the list `input`, available once all of them are (`tf.identity_n`)."""
    return apply_list("IdentityN", input, name=name)


@takes_composites
def stop_gradient(input: Any, name: str | None = None) -> Tensor:
    """The value of `input`, a constant to `tf.gradients` (`tf.stop_gradient`).

    Example:
        >>> x = tf.constant(3.0)
        >>> tf.Session().run(tf.gradients(x * tf.stop_gradient(x), [x]))
        [np.float32(3.0)]
    """
    return apply_one("StopGradient", input, name=name)


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """`x`, after a check of its shape in the run (`tf.ensure_shape`).

    Raises:
        InvalidArgumentError: in a run, where the value has another shape.
    """
    return apply_one("EnsureShape", x, shape=shapes.as_dims(shape), name=name)


@takes_composites
def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """`tensor`; a run fails with `message` if it has an infinity or NaN (`tf.check_numerics`)."""
    return apply_one("CheckNumerics", tensor, message=message, name=name)


def guarantee_const(input: Any, name: str | None = None) -> Tensor:
    """The value of `input`, which the caller promises never changes (`tf.guarantee_const`)."""
    return apply_one("GuaranteeConst", convert_to_tensor(input), name=name)
