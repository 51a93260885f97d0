"""Counts of numbers as SparseTensors: `tf.sparse.bincount`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.ops.array.shaping import reshape
from tensorfleet.ops.array.sparse_tensor import SparseTensor


def sparse_bincount(
    values: Any,
    weights: Any = None,
    axis: int | None = 0,
    minlength: int | None = None,
    maxlength: int | None = None,
    binary_output: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """How often each number appears, without those that do not (`tf.sparse.bincount`).

    Args:
        values: integers that are not negative: a tensor or a SparseTensor.
        weights: of the same form; the result then is the sums of the weights, in their dtype.
        axis: 0 counts all of `values`, -1 each row.
        minlength, maxlength: the least and the greatest number of bins; numbers beyond are not counted.
        binary_output: 1 for each number that appears, instead of how often.

    Raises:
        ValueError: weights with `binary_output`, weights of another form, or another axis.
    """
    with framework.name_scope(name, "count", []):
        if weights is not None and binary_output:
            raise ValueError(
                "Arguments `binary_output` and `weights` are mutually exclusive. Please specify only one."
            )
        if axis not in (None, 0, -1):
            raise ValueError(f"Unsupported value for argument axis={axis}. Only 0 and -1 are supported.")
        is_sparse, sums = isinstance(values, SparseTensor), weights
        if is_sparse and weights is not None:
            if not isinstance(weights, SparseTensor):
                raise ValueError("Argument `weights` must be a SparseTensor if `values` is a SparseTensor.")
            sums = weights.values
        elif not is_sparse:
            values = convert_to_tensor(values, name="values")
        sums = constant([], dtypes.int32) if sums is None else convert_to_tensor(sums, name="weights")
        attrs: dict[str, Any] = {
            "minlength": -1 if minlength is None else minlength,
            "maxlength": -1 if maxlength is None else maxlength,
            "binary_output": binary_output,
        }
        if is_sparse and axis == -1:
            inputs = (values.indices, values.values, values.dense_shape, sums)
            return SparseTensor(*apply_op("SparseCountSparseOutput", *inputs, **attrs))
        flat = values.values if is_sparse else values
        if axis != -1:
            flat, sums = reshape(flat, [-1]), reshape(sums, [-1])
        return SparseTensor(*apply_op("DenseCountSparseOutput", flat, sums, **attrs))
