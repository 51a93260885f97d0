"""Connectionist temporal classification: the loss, and decoders (Graves et al., ICML 2006)."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.shaping import renamed_argument
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.shape_rules import merge_dim, with_rank


def _loss_shape(op: RuleNode) -> list[Dims]:
    time, batch, classes = with_rank(op.inputs[0].dims, 3)
    places = with_rank(op.inputs[1].dims, 2)
    merge_dim(places[0], with_rank(op.inputs[2].dims, 1)[0])
    batch = merge_dim(batch, with_rank(op.inputs[3].dims, 1)[0])
    return [(batch,), (time, batch, classes)]


def _batch(op: RuleNode) -> int | None:
    return merge_dim(with_rank(op.inputs[0].dims, 3)[1], with_rank(op.inputs[1].dims, 1)[0])


def _greedy_shape(op: RuleNode) -> list[Dims]:
    return [(None, 2), (None,), (2,), (_batch(op), 1)]


def _beam_shape(op: RuleNode) -> list[Dims]:
    paths = op.attrs["top_paths"]
    return [(None, 2)] * paths + [(None,)] * paths + [(2,)] * paths + [(_batch(op), paths)]


_FLOATS = "T: {float32, float64} = float32"
op(
    "CTCLoss(inputs: T, labels_indices: int64, labels_values: int32, sequence_length: int32) -> "
    "(loss: T, gradient: T)",
    "preprocess_collapse_repeated: bool = false",
    "ctc_merge_repeated: bool = true",
    "ignore_longer_outputs_than_inputs: bool = false",
    _FLOATS,
    shape=_loss_shape,
)
op(
    "CTCGreedyDecoder(inputs: T, sequence_length: int32) -> (decoded_indices: int64, decoded_values: int64, "
    "decoded_shape: int64, log_probability: T)",
    "merge_repeated: bool = false",
    "blank_index: int = -1",
    _FLOATS,
    shape=_greedy_shape,
)
op(
    "CTCBeamSearchDecoder(inputs: T, sequence_length: int32) -> (decoded_indices: top_paths * int64, "
    "decoded_values: top_paths * int64, decoded_shape: top_paths * int64, log_probability: T)",
    "beam_width: int >= 1",
    "top_paths: int >= 1",
    "merge_repeated: bool = true",
    _FLOATS,
    shape=_beam_shape,
)


def ctc_loss(
    labels: Any,
    inputs: Any = None,
    sequence_length: Any = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: Any = None,
) -> Tensor:
    """The negative logarithm of the probability of each label sequence (`tf.nn.ctc_loss`).

    Args:
        labels: an int32 SparseTensor, [batch, longest]; each in [0, classes - 1).
        inputs: the logits, float32 or float64, [time, batch, classes]; the last class is the blank.
        sequence_length: int32 [batch], the number of time steps of each example.
        preprocess_collapse_repeated: merge repeated labels before the loss is computed.
        ctc_merge_repeated: merge repeated labels of a path.
        ignore_longer_outputs_than_inputs: give a loss of 0, instead of an error, where there are more labels
            than time steps.
        time_major: if False, the inputs are [batch, time, classes].
        logits: another name of `inputs`.

    Returns:
        [batch]; inf where no path gives the labels.

    Raises:
        TypeError: the labels are no SparseTensor.
        InvalidArgumentError: in a run: an example without labels, a negative label, or too few time steps.
    """
    if not isinstance(labels, SparseTensor):
        raise TypeError("Expected labels (first argument) to be a SparseTensor")
    scores = renamed_argument("logits", logits, "inputs", inputs)
    if not time_major:
        scores = transpose(scores, [1, 0, 2])
    if isinstance(scores, Tensor) and scores.dtype.base in (dtypes.bfloat16, dtypes.float16):
        raise TypeError(f"The inputs of ctc_loss are {scores.dtype.name}: cast them to float32")
    loss, _ = apply_op(
        "CTCLoss",
        scores,
        labels.indices,
        labels.values,
        sequence_length,
        preprocess_collapse_repeated=preprocess_collapse_repeated,
        ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
    )
    found: Tensor = loss
    return found


def ctc_greedy_decoder(
    inputs: Any, sequence_length: Any, merge_repeated: bool = True, blank_index: int | None = None
) -> tuple[list[SparseTensor], Tensor]:
    """The most probable class at each time step, without blanks (`tf.nn.ctc_greedy_decoder`).

    Args:
        inputs: the logits, [time, batch, classes].
        sequence_length: int32 [batch].
        merge_repeated: merge repeated classes without a blank between them.
        blank_index: the class of the blank; the last one by default, negative ones count from the end.

    Returns:
        A list of one int64 SparseTensor, [batch, longest], and the negative sum of the greatest logits,
        [batch, 1].
    """
    indices, values, shape, score = apply_op(
        "CTCGreedyDecoder",
        inputs,
        sequence_length,
        merge_repeated=merge_repeated,
        blank_index=-1 if blank_index is None else blank_index,
    )
    return [SparseTensor(indices, values, shape)], score


def ctc_beam_search_decoder(
    inputs: Any,
    sequence_length: Any,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> tuple[list[SparseTensor], Tensor]:
    """The most probable label sequences, by a search that keeps `beam_width` of them at each time step
    (`tf.nn.ctc_beam_search_decoder`).

    Args:
        inputs: the logits, [time, batch, classes]; the last class is the blank.
        sequence_length: int32 [batch].
        top_paths: the number of sequences to return for each example.
        merge_repeated: merge repeated labels in the result.

    Returns:
        For each of `top_paths` an int64 SparseTensor, [batch, longest]; and the logarithms of the
        probabilities, [batch, top_paths].
    """
    indices, values, shapes, score = apply_op(
        "CTCBeamSearchDecoder",
        inputs,
        sequence_length,
        beam_width=beam_width,
        top_paths=top_paths,
        merge_repeated=merge_repeated,
    )
    return [SparseTensor(*each) for each in zip(indices, values, shapes, strict=True)], score


def ctc_beam_search_decoder_v2(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """`ctc_beam_search_decoder` without merging of repeated labels (`tf.nn.ctc_beam_search_decoder_v2`)."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, False)
