"""CTC with labels as padded matrices: `tf.nn.ctc_loss_v2`, `tf.nn.collapse_repeated`, …"""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones_like, zeros_like
from tensorfleet.ops.array.indexing import gather_nd, scatter_nd
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.selection import boolean_mask, sequence_mask, where, where_v2
from tensorfleet.ops.array.shaping import expand_dims, reshape, shape
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.arithmetic import maximum
from tensorfleet.ops.math.reduction import reduce_max, reduce_sum
from tensorfleet.ops.nn.activation import log_softmax
from tensorfleet.ops.nn.ctc import ctc_loss


def _blank_last(logits: Tensor, labels: Tensor, blank: Any) -> tuple[Tensor, Tensor]:
    """Logits whose last class is the blank, as CTCLoss has it, and labels that count the other classes."""
    logits = concat([logits[:, :, :blank], logits[:, :, blank + 1 :], logits[:, :, blank : blank + 1]], 2)
    limit = cast(blank, labels.dtype.base)
    return logits, where_v2(apply_one("Less", labels, limit), labels, labels - 1)


def ctc_loss_v2(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """The negative logarithm of the probability of each label sequence, of dense or sparse labels
    (`tf.nn.ctc_loss_v2`).

    Args:
        labels: [batch, longest] with padding behind the labels, or a SparseTensor.
        logits: [time, batch, classes].
        label_length: [batch], the number of labels of each example; None for a SparseTensor.
        logit_length: [batch], the number of time steps of each example.
        logits_time_major: if False, the logits are [batch, time, classes].
        unique: what `ctc_unique_labels` gives, by which TPUs save time; without effect here.
        blank_index: the class of the blank, from the end if negative; 0 by default. A SparseTensor needs it.

    Returns:
        [batch]; inf where no path gives the labels.

    Raises:
        ValueError: a SparseTensor without a `blank_index`.
    """
    with name_scope(name, "ctc_loss_dense", [logits, label_length, logit_length]):
        scores = convert_to_tensor(logits, name="logits")
        given = scores.dtype.base
        if given in (dtypes.float16, dtypes.bfloat16):
            scores = cast(scores, dtypes.float32)
        if blank_index is None and isinstance(labels, SparseTensor):
            raise ValueError("Argument `blank_index` must be provided when labels is a SparseTensor.")
        blank: Any = blank_index or 0
        if blank < 0:
            classes = None if scores.dims is None else scores.dims[2]
            blank += shape(scores)[2] if classes is None else classes
        lengths = cast(logit_length, dtypes.int32)
        if isinstance(labels, SparseTensor):
            scores, values = _blank_last(scores, labels.values, blank)
            sparse = SparseTensor(labels.indices, cast(values, dtypes.int32), labels.dense_shape)
            loss = ctc_loss(sparse, scores, lengths, time_major=logits_time_major)
        else:
            loss = _dense_loss(scores, labels, label_length, lengths, logits_time_major, blank)
        return cast(loss, given)


def _dense_loss(
    scores: Tensor, labels: Any, label_length: Any, lengths: Tensor, is_time_major: bool, blank: Any
) -> Tensor:
    dense = cast(convert_to_tensor(labels, name="labels"), dtypes.int32)
    counts = cast(convert_to_tensor(label_length, name="label_length"), dtypes.int32)
    if not is_time_major:
        scores = apply_one("Transpose", scores, [1, 0, 2])
    scores, dense = _blank_last(scores, dense, blank)
    # CTCLoss takes no example without labels: it gets one label, and the loss of the path of blanks below.
    is_empty = apply_one("Equal", counts, 0)
    dense = where_v2(expand_dims(is_empty, 1), zeros_like(dense), dense)
    places = where(sequence_mask(maximum(counts, 1), shape(dense)[1]))
    sparse = SparseTensor(places, gather_nd(dense, places), shape(dense, out_type=dtypes.int64))
    loss = ctc_loss(sparse, scores, lengths, ignore_longer_outputs_than_inputs=True)
    infinite = cast(float("inf"), loss.dtype.base)
    loss = where_v2(apply_one("Greater", counts, lengths), infinite, loss)
    counted = apply_one("Transpose", sequence_mask(lengths, shape(scores)[0]), [1, 0])
    blanks = log_softmax(scores)[:, :, -1]
    only_blanks = -reduce_sum(where_v2(counted, blanks, zeros_like(blanks)), 0)
    return where_v2(is_empty, only_blanks, loss)


def collapse_repeated(labels: Any, seq_length: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Label sequences in which equal neighbours are one label (`tf.nn.collapse_repeated`).

    Args:
        labels: [batch, longest].
        seq_length: [batch], the number of labels of each sequence.

    Returns:
        The sequences, [batch, longest], padded with 0; and their lengths, [batch].

    Example:
        >>> tf.Session().run(tf.nn.collapse_repeated([[1, 1, 2], [3, 3, 3]], [3, 2])[0])
        array([[1, 2],
               [3, 0]], dtype=int32)
    """
    with name_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        rows = convert_to_tensor(labels, name="labels")
        lengths = convert_to_tensor(seq_length, name="seq_length")
        changes = apply_one("NotEqual", rows[:, 1:], rows[:, :-1])
        kept = concat([ones_like(rows[:, :1], dtypes.bool), changes], 1)
        kept = apply_one("LogicalAnd", kept, sequence_mask(lengths, shape(rows)[1]))
        counts = reduce_sum(cast(kept, dtypes.int32), 1)
        longest = reduce_max(counts)
        # In rows from left to right, the places that are filled take the labels that are kept.
        filled = where(sequence_mask(counts, longest))
        size = cast([shape(rows)[0], longest], dtypes.int64)
        return scatter_nd(filled, boolean_mask(rows, kept), size), cast(counts, lengths.dtype.base)


def ctc_unique_labels(labels: Any, name: str | None = None) -> list[Tensor]:
    """The distinct labels of each sequence, in the order of their first places (`tf.nn.ctc_unique_labels`).

    Args:
        labels: [batch, longest].

    Returns:
        The distinct labels, int64 [batch, longest], padded with 0; and for each label its place among them,
        int32 [batch, longest].

    Example:
        >>> tf.Session().run(tf.nn.ctc_unique_labels([[3, 4, 4, 3]]))
        [array([[3, 4, 0, 0]]), array([[0, 1, 1, 0]], dtype=int32)]
    """
    with name_scope(name, "ctc_unique_labels", [labels]):
        rows = convert_to_tensor(labels, name="labels")
        width = shape(rows)[1]
        same = apply_one("Equal", expand_dims(rows, 2), expand_dims(rows, 1))
        # The first place of each label's value, and how many values are new before that place.
        first = apply_one("ArgMax", cast(same, dtypes.int32), 2, output_type=dtypes.int32)
        is_new = apply_one("Equal", first, expand_dims(apply_one("Range", 0, width, 1), 0))
        before = apply_one("Cumsum", cast(is_new, dtypes.int32), 1, exclusive=True)
        places = apply_one("GatherV2", before, first, 1, batch_dims=1)
        row = where(is_new)[:, :1]
        column = cast(expand_dims(boolean_mask(before, is_new), 1), dtypes.int64)
        values = cast(boolean_mask(rows, is_new), dtypes.int64)
        distinct = scatter_nd(concat([row, column], 1), values, shape(rows, out_type=dtypes.int64))
        return [distinct, reshape(places, shape(rows))]
