"""Cross entropy of logits with labels: the fused ops and `tf.nn.…_cross_entropy_with_logits`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dims as dims_module, dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import zeros_like
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import merge_dim, with_rank

_FLOATS = "T: {float16, bfloat16, float32, float64}"


def _softmax(op: RuleNode) -> list[Dims]:
    logits, labels = (with_rank(tensor.dims, 2) for tensor in op.inputs)
    try:
        shape = dims_module.merge(logits, labels)
    except ValueError:
        shape = dims_module.broadcast(logits, labels)
    assert shape is not None
    return [shape[:1], shape]


def _sparse_softmax(op: RuleNode) -> list[Dims]:
    logits, labels = with_rank(op.inputs[0].dims, 2), with_rank(op.inputs[1].dims, 1)
    rows = merge_dim(logits[0], labels[0])
    return [(rows,), (rows, logits[1])]


op(
    "SoftmaxCrossEntropyWithLogits(features: T, labels: T) -> (loss: T, backprop: T)",
    _FLOATS,
    shape=_softmax,
)
op(
    "SparseSoftmaxCrossEntropyWithLogits(features: T, labels: Tlabels) -> (loss: T, backprop: T)",
    _FLOATS,
    "Tlabels: {int32, int64} = int64",
    shape=_sparse_softmax,
)


def _given(function: str, labels: Any, logits: Any) -> None:
    if labels is None or logits is None:
        raise ValueError(
            f"Both `labels` and `logits` must be provided for {function}. Received: labels={labels} and "
            f"logits={logits}"
        )


def _precise(logits: Tensor) -> Tensor:
    """Logits in the dtype to compute in: small floats in float32."""
    return cast(logits, dtypes.float32) if logits.dtype.base in (dtypes.float16, dtypes.bfloat16) else logits


def _rows(x: Tensor, name: str = "Reshape") -> Tensor:
    """The tensor as a matrix of its last dimension."""
    if x.ndim == 2:
        return x
    last = x.dims[-1] if x.dims else None
    if last is None:
        size: Any = apply_one("Shape", x)
        return apply_one("Reshape", x, apply_one("ConcatV2", [[-1], size[-1:]], 0), name=name)
    return apply_one("Reshape", x, np.array([-1, last], np.int32), name=name)


def _last(x: Tensor, axis: int) -> Tensor:
    """The tensor with `axis` and the last dimension exchanged."""
    rank = x.ndim
    if axis == -1 or (rank is not None and axis == rank - 1):
        return x
    if rank is None:
        raise ValueError("Cross entropy along another axis than the last needs logits of known rank")
    order = np.arange(rank, dtype=np.int32)
    order[[axis, -1]] = order[[-1, axis]]
    return apply_one("Transpose", x, order)


def softmax_cross_entropy_with_logits_v2(
    labels: Any, logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """-sum(labels · log softmax(logits)) along an axis (`tf.nn.softmax_cross_entropy_with_logits_v2`).

    Gradients go to the labels, too.

    Args:
        labels: of the shape of `logits`, distributions along `axis`.
        axis: by default the last. `dim` is the old name of it.

    Returns:
        The shape of the logits without `axis`.

    Raises:
        ValueError: labels or logits are missing.

    Example:
        >>> loss = tf.nn.softmax_cross_entropy_with_logits_v2([[0.0, 1.0]], [[0.0, 0.0]])
        >>> tf.Session().run(loss).round(3)
        array([0.693], dtype=float32)
    """
    _given("softmax_cross_entropy_with_logits", labels, logits)
    axis = dim if axis is None else axis
    axis = -1 if axis is None else axis
    with name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        exact = _last(_precise(logits), axis)
        labels = _last(cast(labels, exact.dtype.base), axis)
        rows = _rows(exact), _rows(labels, "Reshape_1")
        loss = apply_op("SoftmaxCrossEntropyWithLogits", *rows, name=scope)[0]
        result = _reshaped(loss, exact)
        return cast(result, logits.dtype.base) if exact.dtype.base != logits.dtype.base else result


def _reshaped(loss: Tensor, logits: Tensor) -> Tensor:
    """One loss per row of `logits` without its last dimension, from a flat list.

    Programs know the result by this name, though here no other reshaping comes before it for a matrix.
    """
    name = "Reshape_2"
    if logits.dims is not None and None not in logits.dims:
        return apply_one("Reshape", loss, np.array(logits.dims[:-1], np.int32), name=name)
    size: Any = apply_one("Shape", logits)
    result = apply_one("Reshape", loss, size[:-1], name=name)
    if logits.dims is not None:
        result.set_shape(logits.dims[:-1])
    return result


def softmax_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, dim: int = -1, name: str | None = None, axis: int | None = None
) -> Tensor:
    """`softmax_cross_entropy_with_logits_v2` with labels that count as constants
    (`tf.nn.softmax_cross_entropy_with_logits`)."""
    _given("softmax_cross_entropy_with_logits", labels, logits)
    with name_scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]) as scope:
        fixed = apply_one("StopGradient", convert_to_tensor(labels), name="labels_stop_gradient")
        return softmax_cross_entropy_with_logits_v2(fixed, logits, dim if axis is None else axis, scope)


def sparse_softmax_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """Softmax cross entropy where one class of each row is right
    (`tf.nn.sparse_softmax_cross_entropy_with_logits`).

    Args:
        labels: int32 or int64, the number of the class: [d0, d1, …].
        logits: [d0, d1, …, classes].

    Returns:
        [d0, d1, …].

    Raises:
        ValueError: labels or logits are missing, or their ranks do not fit.
        InvalidArgumentError: in a run, where a label is not in [0, classes).

    Example:
        >>> loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1], logits=[[0.0, 0.0]])
        >>> tf.Session().run(loss).round(3)
        array([0.693], dtype=float32)
    """
    _given("sparse_softmax_cross_entropy_with_logits", labels, logits)
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        exact = _precise(logits)
        if logits.dims == ():
            raise ValueError(f"`logits` cannot be a scalar. Received logits={logits}`")
        if logits.dims is not None and labels.dims is not None and len(labels.dims) != len(logits.dims) - 1:
            raise ValueError(
                "`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: "
                f"labels.shape={labels.shape} of rank {len(labels.dims)} and logits.shape={logits.shape} of "
                f"rank {len(logits.dims)}"
            )
        if logits.ndim == 2:
            loss: Tensor = apply_op("SparseSoftmaxCrossEntropyWithLogits", exact, labels, name=name)[0]
        else:
            flat = apply_one("Reshape", labels, np.array([-1], np.int32))
            rows = apply_op("SparseSoftmaxCrossEntropyWithLogits", _rows(exact), flat, name=name)[0]
            loss = apply_one("Reshape", rows, apply_one("Shape", labels))
            loss.set_shape(labels.shape)
        return cast(loss, logits.dtype.base) if exact.dtype.base != logits.dtype.base else loss


def _same_shape(first: Tensor, second: Tensor, names: str) -> None:
    try:
        dims_module.merge(first.dims, second.dims)
    except ValueError:
        raise ValueError(
            f"{names} must have the same shape, received ({first.shape} vs {second.shape})."
        ) from None


def sigmoid_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """-labels · log sigmoid(logits) - (1 - labels) · log(1 - sigmoid(logits)), element by element
    (`tf.nn.sigmoid_cross_entropy_with_logits`).

    Raises:
        ValueError: labels or logits are missing, or have different shapes.

    Example:
        >>> loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0], logits=[0.0])
        >>> tf.Session().run(loss).round(3)
        array([0.693], dtype=float32)
    """
    _given("sigmoid_cross_entropy_with_logits", labels, logits)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        x: Any = convert_to_tensor(logits, name="logits")
        z: Any = convert_to_tensor(labels, name="labels")
        _same_shape(x, z, "`logits` and `labels`")
        # max(x, 0) - x · z + log(1 + exp(-|x|)), whose exponential never overflows.
        zeros = zeros_like(x)
        positive = apply_one("GreaterEqual", x, zeros)
        above: Any = where(positive, x, zeros)
        minus_abs = where(positive, -x, x)
        linear = above - x * z
        return apply_one("AddV2", linear, apply_one("Log1p", apply_one("Exp", minus_abs)), name=scope)


def weighted_cross_entropy_with_logits(
    labels: Any = None,
    logits: Any = None,
    pos_weight: Any = None,
    name: str | None = None,
    targets: Any = None,
) -> Tensor:
    """Sigmoid cross entropy whose positive labels count `pos_weight` times
    (`tf.nn.weighted_cross_entropy_with_logits`). `targets` is the old name of `labels`.

    Raises:
        ValueError: labels and logits have different shapes.
    """
    labels = targets if labels is None else labels
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        x: Any = convert_to_tensor(logits, name="logits")
        z: Any = convert_to_tensor(labels, name="labels")
        _same_shape(x, z, "`logits` and `labels`")
        weight = 1 + (pos_weight - 1) * z
        rest: Any = apply_one("Log1p", apply_one("Exp", -apply_one("Abs", x)))
        return apply_one("AddV2", (1 - z) * x, weight * (rest + apply_one("Relu", -x)), name=scope)
