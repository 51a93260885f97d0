"""Cross entropy of logits with labels: the fused ops and `tf.nn.…_cross_entropy_with_logits`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dims as dims_module, dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph import hints
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import range as array_range, zeros_like
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.array.shaping import rank as rank_of, shape as shape_of
from tensorfleet.ops.array.slicing import slice as slice_
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
    """Logits in the dtype for the computation: float32 for 16-bit floats."""
    return cast(logits, dtypes.float32) if logits.dtype.base in (dtypes.float16, dtypes.bfloat16) else logits


def _rows(x: Tensor) -> Tensor:
    """The tensor as a matrix whose rows are its last dimension."""
    rank = rank_of(x)
    last = slice_(shape_of(x), [_less_one(rank)], [1])
    result = apply_one("Reshape", x, concat([[-1], last], 0))
    if x.dims is not None:
        result.set_shape((dims_module.num_elements(x.dims[:-1]), x.dims[-1]))
        if len(x.dims) == 2:
            hints.unchanged(result)
    return result


def _less_one(rank: Tensor) -> Tensor:
    return apply_one("Sub", rank, 1)


def _last(x: Tensor, axis: int, rank: Tensor) -> Tensor:
    """The tensor with `axis` moved to the end."""
    if axis < 0 and x.ndim is None:
        raise ValueError("Cross entropy along another axis than the last needs logits of known rank")
    axis += (x.ndim or 0) if axis < 0 else 0
    order = concat([array_range(axis), array_range(axis + 1, rank), [axis]], 0)
    return transpose(x, order)


def softmax_cross_entropy_with_logits_v2(
    labels: Any, logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """-sum(labels · log softmax(logits)) along an axis (`tf.nn.softmax_cross_entropy_with_logits_v2`).

    Labels get gradients, too.

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
        exact = _precise(logits)
        labels = cast(labels, exact.dtype.base)
        rank = rank_of(exact)
        if axis not in (-1, None if exact.ndim is None else exact.ndim - 1):
            exact, labels = _last(exact, axis, rank), _last(labels, axis, rank)
        shape = shape_of(exact)
        rows = _rows(exact), _rows(labels)
        loss = apply_op("SoftmaxCrossEntropyWithLogits", *rows, name=scope)[0]
        result = apply_one("Reshape", loss, slice_(shape, [0], [_less_one(rank)]))
        if exact.dims is not None:
            result.set_shape(exact.dims[:-1])
            if len(exact.dims) == 2:
                hints.unchanged(result)
        return cast(result, logits.dtype.base) if exact.dtype.base != logits.dtype.base else result


def softmax_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, dim: int = -1, name: str | None = None, axis: int | None = None
) -> Tensor:
    """`softmax_cross_entropy_with_logits_v2` without gradients of the labels
    (`tf.nn.softmax_cross_entropy_with_logits`)."""
    _given("softmax_cross_entropy_with_logits", labels, logits)
    with name_scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]) as scope:
        fixed = apply_one("StopGradient", convert_to_tensor(labels), name="labels_stop_gradient")
        return softmax_cross_entropy_with_logits_v2(fixed, logits, dim if axis is None else axis, scope)


def sparse_softmax_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """Softmax cross entropy with one true class for each row
    (`tf.nn.sparse_softmax_cross_entropy_with_logits`).

    Args:
        labels: int32 or int64, the true classes: [d0, d1, …].
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
        shape = shape_of(labels)
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
            sizes: Any = shape_of(logits)
            classes = sizes[rank_of(logits) - 1]
            rows = apply_one("Reshape", exact, [-1, classes])
            flat = apply_one("Reshape", labels, [-1])
            costs = apply_op("SparseSoftmaxCrossEntropyWithLogits", rows, flat, name=name)[0]
            loss = apply_one("Reshape", costs, shape)
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
        # Computed as max(x, 0) - x · z + log(1 + exp(-|x|)), whose exponential never overflows.
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
    """Sigmoid cross entropy in which positive labels count `pos_weight` times
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
