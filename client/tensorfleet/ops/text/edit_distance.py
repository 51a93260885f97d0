"""The edit distance of sequences."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_dims
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.sparse_tensor import as_sparse
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import merge_dim, with_rank


def _distance_shape(op: RuleNode) -> list[Dims]:
    for i in (0, 3):
        with_rank(op.inputs[i].dims, 2)
        with_rank(op.inputs[i + 1].dims, 1)
    sizes = [with_rank(op.inputs[i].dims, 1)[0] for i in (2, 5)]
    merge_dim(*sizes)
    shapes = static_dims(op.inputs[2]), static_dims(op.inputs[5])
    if shapes[0] is None or shapes[1] is None:
        return [None]
    pairs = zip(shapes[0][:-1], shapes[1][:-1], strict=True)
    return [tuple(None if a is None or b is None else max(a, b) for a, b in pairs)]


op(
    "EditDistance(hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, "
    "truth_indices: int64, truth_values: T, truth_shape: int64) -> (output: float32)",
    "normalize: bool = true",
    "T: type",
    shape=_distance_shape,
)


def edit_distance(
    hypothesis: Any, truth: Any, normalize: bool = True, name: str | None = "edit_distance"
) -> Tensor:
    """The Levenshtein distance of the sequences in the last dimension (`tf.edit_distance`).

    Args:
        hypothesis, truth: SparseTensors; the last dimension is the position in the sequence.
        normalize: divide by the length of the true sequence; inf if that is empty and the other is not.

    Returns:
        float32, of the shape without the last dimension.

    Example:
        >>> ours = tf.SparseTensor([[0, 0], [0, 1]], ["a", "b"], [1, 2])
        >>> truth = tf.SparseTensor([[0, 0], [0, 1]], ["a", "c"], [1, 2])
        >>> tf.Session().run(tf.edit_distance(ours, truth))
        array([0.5], dtype=float32)
    """
    ours, true = as_sparse(hypothesis), as_sparse(truth)
    return apply_one(
        "EditDistance",
        ours.indices,
        ours.values,
        ours.dense_shape,
        true.indices,
        true.values,
        true.dense_shape,
        normalize=normalize,
        name=name,
    )
