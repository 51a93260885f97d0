"""Splitting strings, n-grams, and joining strings by segments."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import range
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import expand_dims, renamed_argument, reshape, shape
from tensorfleet.ops.array.sparse_parts import sparse_reshape
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import with_rank


def _split_shape(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 1)
    with_rank(op.inputs[1].dims, 0)
    return [(None, 2), (None,), (2,)]


def _ngrams_shape(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 1)
    return [(None,), with_rank(op.inputs[1].dims, 1)]


def _segment_join_shape(op: RuleNode) -> list[Dims]:
    dims, ids, number = (t.dims for t in op.inputs)
    with_rank(number, 0)
    if dims is None or ids is None:
        return [None]
    count = static_value(op.inputs[2])
    if dims[: len(ids)] != ids and None not in (*dims, *ids):
        raise ValueError(f"The shape {list(dims)} of the inputs must begin with that of the ids, {list(ids)}")
    return [(None if count is None else int(count), *dims[len(ids) :])]


_PARTS = "indices: int64, values: string, shape: int64"
op(
    f"StringSplit(input: string, delimiter: string) -> ({_PARTS})",
    "skip_empty: bool = true",
    shape=_split_shape,
)
op(f"StringSplitV2(input: string, sep: string) -> ({_PARTS})", "maxsplit: int = -1", shape=_split_shape)
op(
    "StringNGrams(data: string, data_splits: Tsplits) -> (ngrams: string, ngrams_splits: Tsplits)",
    "separator: string",
    "ngram_widths: list(int) >= 0",
    "left_pad: string",
    "right_pad: string",
    "pad_width: int",
    "preserve_short_sequences: bool",
    "Tsplits: {int32, int64} = int64",
    shape=_ngrams_shape,
)
op(
    "UnsortedSegmentJoin(inputs: string, segment_ids: Tindices, num_segments: Tnumsegments) -> "
    "(output: string)",
    'separator: string = ""',
    "Tindices: {int32, int64}",
    "Tnumsegments: {int32, int64} = int32",
    shape=_segment_join_shape,
)


def sparse_string_split(
    source: Any,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = None,
    name: str | None = None,
) -> SparseTensor:
    """The parts of strings between delimiters.

    Args:
        source: a vector of strings.
        sep: the delimiters, one for each character; " " by default. With "", each byte is a part.
            `delimiter` is its older name.
        skip_empty: leave empty parts out.

    Returns:
        A SparseTensor, [strings, greatest number of parts].
    """
    with framework.name_scope(name, "StringSplit", [source]):
        given = renamed_argument("sep", sep, "delimiter", delimiter)
        sign = convert_to_tensor(" " if given is None else given, dtypes.string, "Const")
        source = convert_to_tensor(source, dtypes.string, "Const")
        return SparseTensor(*apply_op("StringSplit", source, sign, skip_empty=skip_empty))


def sparse_string_split_v2(
    text: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None
) -> SparseTensor:
    """The parts of strings, as by Python's `split`.

    Args:
        text: strings, of a known rank; a scalar is taken for a vector of one.
        sep: the text between parts; white space by default.
        maxsplit: the greatest number of splits; -1 for no limit.

    Returns:
        A SparseTensor with one more dimension, for the parts.
    """
    with framework.name_scope(name, "StringSplit", [text]):
        text = convert_to_tensor(text, dtypes.string, "input")
        if text.ndim == 0:
            text = expand_dims(text, 0)
        rank = text.ndim
        flat = text if rank in (None, 1) else reshape(text, [-1])
        sign = constant("" if sep is None else sep, dtypes.string) if not isinstance(sep, Tensor) else sep
        parts = SparseTensor(*apply_op("StringSplitV2", flat, sign, maxsplit=maxsplit))
        if flat is text:
            return parts
        whole = concat([shape(text, out_type=dtypes.int64), parts.dense_shape[1:]], 0)
        return sparse_reshape(parts, whole)


@takes_composites
def ngrams(
    data: Any,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Tensor:
    """N-grams: the runs of neighbouring strings along the last dimension, joined (`tf.strings.ngrams`).

    Args:
        data: strings, of rank 1 or more, or a RaggedTensor of strings.
        ngram_width: the number of strings of each n-gram; or several numbers, whose n-grams follow each
            other.
        pad_values: the string to pad with at both ends, or a pair of strings.
        padding_width: the number of pad values at each end; by default `ngram_width` - 1.
        preserve_short_sequences: give a sequence that is too short for any n-gram as a single one.

    Returns:
        data.shape[:-1] + [n-grams]; of a RaggedTensor one whose rows are the n-grams of its rows.

    Raises:
        ValueError: a rank of 0, or a width that is not positive.
    """
    with framework.name_scope(name, "StringNGrams", [data]):
        data = convert_to_tensor(data, dtypes.string, "data")
        if data.ndim is None:
            raise ValueError("Rank of data must be known")
        if data.ndim == 0:
            raise ValueError("Data must have rank>0")
        sizes: Any = shape(data, out_type=dtypes.int64)
        rows = apply_one("Prod", sizes[:-1], constant([0], name="Const"))
        splits = range(rows + 1) * sizes[-1]
        found, _ = ngrams_of_rows(
            reshape(data, [-1]),
            splits,
            ngram_width,
            separator,
            pad_values,
            padding_width,
            preserve_short_sequences,
        )
        result = reshape(found, concat([sizes[:-1], constant([-1], dtypes.int64)], 0))
        if data.dims is not None:
            result.set_shape([*data.dims[:-1], None])
        return result


def ngrams_of_rows(
    values: Any,
    row_splits: Any,
    ngram_width: Any,
    separator: str,
    pad_values: Any,
    padding_width: int | None,
    preserve_short_sequences: bool,
) -> tuple[Tensor, Tensor]:
    """The n-grams of each row of a vector of strings, and where the n-grams of each row begin."""
    widths = list(ngram_width) if isinstance(ngram_width, (list, tuple)) else [ngram_width]
    if any(width < 1 for width in widths):
        raise ValueError(f"All ngram_widths must be greater than 0. Got {ngram_width}")
    left, right, pad_width = _padding(pad_values, padding_width)
    found, splits = apply_op(
        "StringNGrams",
        values,
        row_splits,
        separator=separator,
        ngram_widths=widths,
        left_pad=left,
        right_pad=right,
        pad_width=pad_width,
        preserve_short_sequences=preserve_short_sequences,
    )
    return found, splits


def _padding(pad_values: Any, padding_width: int | None) -> tuple[Any, Any, int]:
    """The pad values on the left and on the right, and their number; -1 for the n-grams' width - 1."""
    if pad_values is None:
        if padding_width is not None:
            raise ValueError("pad_values must be provided if padding_width is set.")
        return "", "", 0
    left, right = (pad_values, pad_values) if isinstance(pad_values, (str, bytes)) else pad_values
    for each in (left, right):
        if not isinstance(each, (str, bytes)):
            raise TypeError(f"pad_values must be a string, tuple of strings, or None. Got {pad_values}")
    if padding_width is not None and padding_width < 1:
        raise ValueError(f"padding_width must be greater than 0. Got {padding_width}")
    return left, right, -1 if padding_width is None else padding_width


def unsorted_segment_join(
    inputs: Any, segment_ids: Any, num_segments: Any, separator: str = "", name: str | None = None
) -> Tensor:
    """The strings of each segment, joined (`tf.strings.unsorted_segment_join`); "" for an empty one.

    Args:
        inputs: strings of a shape that begins with that of `segment_ids`.
        segment_ids: integers in [0, num_segments).
    """
    return apply_one("UnsortedSegmentJoin", inputs, segment_ids, num_segments, separator=separator, name=name)
