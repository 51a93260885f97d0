"""Accumulators of gradients: `tf.ConditionalAccumulator`, `tf.SparseConditionalAccumulator`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dtypes import DType, as_dtype
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.apply import apply_none, apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.shape_rules import nothing, scalar


def _pair(op: RuleNode) -> list[Dims]:
    return [(2,)]


def _unknown(op: RuleNode) -> list[Dims]:
    return [None] * len(op.outputs)


def _sparse(op: RuleNode) -> list[Dims]:
    return [(None,), None, (None,)]


_DTYPE = "dtype: {number}"
_MAKE = (
    _DTYPE,
    "shape: shape",
    'container: string = ""',
    'shared_name: string = ""',
    'reduction_type: {"MEAN", "SUM"} = "MEAN"',
)

for _prefix, _handle, _rule in (("Resource", "resource", scalar), ("", "Ref(string)", _pair)):
    op(f"{_prefix}ConditionalAccumulator() -> (handle: {_handle})", *_MAKE, shape=_rule, stateful=True)
    _stateful = bool(_prefix)
    op(
        f"{_prefix}AccumulatorApplyGradient(handle: {_handle}, local_step: int64, gradient: dtype) -> ()",
        _DTYPE,
        shape=nothing,
        stateful=_stateful,
    )
    op(
        f"{_prefix}AccumulatorTakeGradient(handle: {_handle}, num_required: int32) -> (average: dtype)",
        _DTYPE,
        shape=_unknown,
        stateful=_stateful,
    )
    op(
        f"{_prefix}AccumulatorSetGlobalStep(handle: {_handle}, new_global_step: int64) -> ()",
        shape=nothing,
        stateful=_stateful,
    )
    op(
        f"{_prefix}AccumulatorNumAccumulated(handle: {_handle}) -> (num_accumulated: int32)",
        shape=scalar,
        stateful=_stateful,
    )

op("SparseConditionalAccumulator() -> (handle: Ref(string))", *_MAKE, shape=_pair, stateful=True)
op(
    "SparseAccumulatorApplyGradient(handle: Ref(string), local_step: int64, gradient_indices: int64, "
    "gradient_values: dtype, gradient_shape: int64) -> ()",
    _DTYPE,
    "has_known_shape: bool",
    shape=nothing,
)
op(
    "SparseAccumulatorTakeGradient(handle: Ref(string), num_required: int32) -> "
    "(indices: int64, values: dtype, shape: int64)",
    _DTYPE,
    shape=_sparse,
)


def _as_step(step: Any) -> Tensor:
    from tensorfleet.ops.array.casting import cast

    return cast(convert_to_tensor(step), dtypes.int64)


class ConditionalAccumulatorBase:
    """The base class of both accumulators (`tf.ConditionalAccumulatorBase`).

    Args:
        dtype, shape: those of the gradients; None for an unknown shape.
        accumulator_ref: the handle of the accumulator.
    """

    def __init__(self, dtype: Any, shape: Any, accumulator_ref: Tensor) -> None:
        self._dtype = as_dtype(dtype)
        self._shape = TensorShape(shape)
        self._accumulator_ref = accumulator_ref
        self._name = accumulator_ref.op.name.split("/")[-1]

    @property
    def accumulator_ref(self) -> Tensor:
        """The handle of the accumulator."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        """The name of the op that makes the accumulator."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The dtype of the gradients."""
        return self._dtype

    def _apply(self, op_type: str, *inputs: Any, name: str | None, **attrs: Any) -> Any:
        prefix = "Resource" if self._accumulator_ref.dtype is dtypes.resource else ""
        return apply_op(prefix + op_type, self._accumulator_ref, *inputs, name=name, **attrs)

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """The number of gradients added since the last mean was taken: int32, rank 0."""
        count: Tensor = self._apply("AccumulatorNumAccumulated", name=name or f"{self._name}_NumAccumulated")
        return count

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Operation:
        """Sets the step below which gradients are dropped."""
        made: Operation = self._apply("AccumulatorSetGlobalStep", _as_step(new_global_step), name=name)
        return made


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """An accumulator of the gradients of a step, which gives their mean (`tf.ConditionalAccumulator`).

    Args:
        dtype, shape: those of the gradients.
        shared_name: the name under which sessions share the accumulator.
        reduction_type: "MEAN" or "SUM".
    """

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        ref = apply_op(
            "ResourceConditionalAccumulator",
            name=name,
            dtype=dtype,
            shape=shape,
            shared_name=shared_name,
            reduction_type=reduction_type,
        )
        super().__init__(dtype, shape, ref)

    def apply_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Operation:
        """Adds a gradient, unless it was computed in an earlier step than the accumulator's.

        Raises:
            ValueError: the gradient's shape does not fit the accumulator's.
        """
        grad = convert_to_tensor(grad, self._dtype)
        grad.get_shape().assert_is_compatible_with(self._shape)
        step = _as_step(local_step)
        made: Operation = self._apply("AccumulatorApplyGradient", step, grad, name=name)
        return made

    def take_grad(self, num_required: Any, name: str | None = None) -> Tensor:
        """The mean of the gradients, once `num_required` have been added; then the next step begins.

        Raises:
            InvalidArgumentError: in a run, `num_required` is not positive.
        """
        mean: Tensor = self._apply("AccumulatorTakeGradient", num_required, name=name, dtype=self._dtype)
        mean.set_shape(self._shape)
        return mean


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """An accumulator of gradients that are IndexedSlices (`tf.SparseConditionalAccumulator`).

    The mean of each row is over the gradients that have the row. Arguments as for ConditionalAccumulator.
    """

    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        ref = apply_op(
            "SparseConditionalAccumulator",
            name=name,
            dtype=dtype,
            shape=shape,
            shared_name=shared_name,
            reduction_type=reduction_type,
        )
        super().__init__(dtype, shape, ref)

    def apply_indexed_slices_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Operation:
        """Adds an IndexedSlices, unless it was computed in an earlier step than the accumulator's."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: Any,
        grad_values: Any,
        grad_shape: Any = None,
        local_step: Any = 0,
        name: str | None = None,
    ) -> Operation:
        """Adds a gradient with the rows `grad_values` at `grad_indices`, unless it is of an earlier step."""
        from tensorfleet.ops.array.casting import cast

        step = _as_step(local_step)
        indices = cast(grad_indices, dtypes.int64)
        shape = cast([] if grad_shape is None else grad_shape, dtypes.int64)
        return apply_none(
            "SparseAccumulatorApplyGradient",
            self._accumulator_ref,
            step,
            indices,
            grad_values,
            shape,
            has_known_shape=grad_shape is not None,
            name=name,
        )

    def take_grad(self, num_required: Any, name: str | None = None) -> Any:
        """Indices, values and shape of the mean, as a named tuple; see ConditionalAccumulator."""
        return apply_op(
            "SparseAccumulatorTakeGradient",
            self._accumulator_ref,
            num_required,
            dtype=self._dtype,
            name=name,
        )

    def take_indexed_slices_grad(self, num_required: Any, name: str | None = None) -> Any:
        """The mean as an IndexedSlices; see ConditionalAccumulator."""
        from tensorfleet.ops.array.indexed_slices import IndexedSlices

        taken = self.take_grad(num_required, name)
        return IndexedSlices(values=taken.values, indices=taken.indices, dense_shape=taken.shape)
