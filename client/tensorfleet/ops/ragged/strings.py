"""Texts split into rows of parts: words, bytes, characters, code points."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.joining import stack as dense_stack
from tensorfleet.ops.array.shaping import expand_dims, renamed_argument
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.ragged.joining import with_axis
from tensorfleet.ops.ragged.ragged_tensor import RaggedTensor, as_ragged_or_tensor, is_ragged
from tensorfleet.ops.ragged.reducing import reduced_texts
from tensorfleet.ops.ragged.row_partition import RowPartition
from tensorfleet.ops.text import unicode
from tensorfleet.ops.text.splitting import ngrams_of_rows, sparse_string_split, sparse_string_split_v2
from tensorfleet.ops.text.unicode import REPLACEMENT

_RESULTS = ("RaggedTensor", "SparseTensor")


def _checked_type(result_type: str) -> bool:
    """Whether the result shall be a RaggedTensor."""
    if result_type not in _RESULTS:
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")
    return result_type == "RaggedTensor"


def _rows_of(parts: SparseTensor, text: Any) -> RaggedTensor:
    """The rows of a SparseTensor that was made of a vector of texts."""
    dims = text.dims if isinstance(text, Tensor) else np.shape(text)
    count: Any = dims[0] if dims and dims[0] is not None else parts.dense_shape[0]
    return RaggedTensor.from_value_rowids(parts.values, parts.indices[:, 0], count, validate=False)


def string_split(
    source: Any,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """The parts of strings between delimiters (`tf.string_split`).

    Args:
        source: a vector of strings.
        sep: the delimiters, one for each character; " " by default. With "", each byte is a part.
            `delimiter` is its older name.
        skip_empty: leave empty parts out.
        result_type: "SparseTensor" or "RaggedTensor".

    Returns:
        A SparseTensor, [strings, greatest number of parts], or a RaggedTensor of the parts.

    Example:
        >>> tf.Session().run(tf.string_split(["a b", "c"]).values)
        array([b'a', b'b', b'c'], dtype=object)
    """
    ragged = _checked_type(result_type)
    parts = sparse_string_split(source, sep, skip_empty, delimiter, name)
    return _rows_of(parts, source) if ragged else parts


def string_split_v2(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> Any:
    """The parts of strings, as by Python's `split` (`tf.strings.split`).

    Args:
        input: strings, of a known rank; a scalar is taken for a vector of one. `source` is its older name.
        sep: the text between parts; white space by default.
        maxsplit: the greatest number of splits; -1 for no limit.
        result_type: "SparseTensor" or "RaggedTensor".

    Returns:
        A SparseTensor or a RaggedTensor with one more dimension, for the parts.
    """
    text = renamed_argument("input", input, "source", source)
    ragged = _checked_type(result_type)
    if not (ragged or is_ragged(text)):
        return sparse_string_split_v2(text, sep, maxsplit, name)
    with framework.name_scope(name, "StringSplit", [text]):
        text = as_ragged_or_tensor(text, dtypes.string, name="input")
        if text.shape.rank == 0:
            text = expand_dims(text, 0)
        rows = _split_rows(text, sep, maxsplit)
        return rows if ragged else rows.to_sparse()


def _split_rows(text: Any, sep: Any, maxsplit: int) -> RaggedTensor:
    if isinstance(text, RaggedTensor):
        return text.with_flat_values(_split_rows(text.flat_values, sep, maxsplit))
    if text.ndim in (None, 1):
        return _rows_of(sparse_string_split_v2(text, sep, maxsplit), text)
    return _split_rows(RaggedTensor.from_tensor(text), sep, maxsplit)


def bytes_split(input: Any, name: str | None = None) -> Any:
    """The bytes of strings (`tf.strings.bytes_split`): a vector for a scalar, else a RaggedTensor.

    Args:
        input: strings of a known rank, a tensor or a RaggedTensor.
    """
    with framework.name_scope(name, "StringsByteSplit", [input]):
        text = as_ragged_or_tensor(input, name="input")
        if isinstance(text, RaggedTensor):
            return text.with_flat_values(bytes_split(text.flat_values))
        if text.ndim is None:
            raise ValueError("input must have a statically-known rank.")
        if text.ndim == 0:
            return bytes_split(dense_stack([text]))[0]
        if text.ndim > 1:
            return bytes_split(RaggedTensor.from_tensor(text))
        return _rows_of(SparseTensor(*apply_op("StringSplit", text, "", skip_empty=False)), text)


def _decoded(
    text: Any, encoding: str, errors: str, char: int, replace_controls: bool, with_offsets: bool
) -> tuple[Any, Any]:
    """(code points, offsets or None) of texts."""
    text = as_ragged_or_tensor(text, name="input")
    rank = text.shape.rank
    if rank is None:
        raise ValueError("Rank of `input` must be statically known.")
    options = (encoding, errors, char, replace_controls, with_offsets)
    if isinstance(text, RaggedTensor):
        points, offsets = _decoded(text.flat_values, *options)
        return text.with_flat_values(points), text.with_flat_values(offsets) if with_offsets else None
    if rank == 0:
        points, offsets = _decoded(dense_stack([text]), *options)
        return points.values, offsets.values if with_offsets else None
    if rank > 1:
        return _decoded(RaggedTensor.from_tensor(text), *options)
    found = apply_op(
        "UnicodeDecodeWithOffsets" if with_offsets else "UnicodeDecode",
        text,
        input_encoding=encoding,
        errors=errors,
        replacement_char=char,
        replace_control_characters=replace_controls,
    )
    partition = RowPartition(found.row_splits)
    points = RaggedTensor(found.char_values, partition, internal=True)
    if not with_offsets:
        return points, None
    return points, RaggedTensor(found.char_to_byte_starts, partition, internal=True)


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = REPLACEMENT,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The code points of texts (`tf.strings.unicode_decode`): a vector for a scalar, else a RaggedTensor.

    Args:
        input: strings of a known rank, a tensor or a RaggedTensor.
        input_encoding: the name of any encoding that the task knows.
        errors: the treatment of bytes that cannot be decoded: "replace", "ignore", or "strict" for an error
            of the run.
        replacement_char: the code point that replaces them.
        replace_control_characters: replace the characters below 32, too.
    """
    with framework.name_scope(name, "UnicodeDecode", [input]):
        return _decoded(input, input_encoding, errors, replacement_char, replace_control_characters, False)[0]


def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = REPLACEMENT,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """(code points, the bytes where they begin) of texts (`tf.strings.unicode_decode_with_offsets`)."""
    with framework.name_scope(name, "UnicodeDecodeWithOffsets", [input]):
        return _decoded(input, input_encoding, errors, replacement_char, replace_control_characters, True)


def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = REPLACEMENT,
    name: str | None = None,
) -> Any:
    """The characters of texts (`tf.strings.unicode_split`): a vector for a scalar, else a RaggedTensor."""
    with framework.name_scope(name, "UnicodeSplit", [input]):
        points, _ = _decoded(input, input_encoding, errors, replacement_char, False, False)
        return _characters(points, input_encoding, errors, replacement_char)


def unicode_split_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = REPLACEMENT,
    name: str | None = None,
) -> tuple[Any, Any]:
    """(characters, the bytes where they begin) of texts (`tf.strings.unicode_split_with_offsets`)."""
    with framework.name_scope(name, "UnicodeSplitWithOffsets", [input]):
        points, offsets = _decoded(input, input_encoding, errors, replacement_char, False, True)
        return _characters(points, input_encoding, errors, replacement_char), offsets


def _characters(points: Any, encoding: str, errors: str, replacement_char: int) -> Any:
    one_each = with_axis(points, points.shape.rank or 1)
    return unicode_encode(one_each, encoding, errors, replacement_char)


def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = REPLACEMENT,
    name: str | None = None,
) -> Any:
    """`tf.strings.unicode_encode` of a RaggedTensor: its innermost rows become texts."""
    if isinstance(input, Tensor):
        return unicode.unicode_encode(input, output_encoding, errors, replacement_char, name)
    with framework.name_scope(name, "UnicodeEncode", [input]):
        points = as_ragged_or_tensor(input)
        if isinstance(points.values, RaggedTensor):
            return points.with_values(
                unicode_encode(points.values, output_encoding, errors, replacement_char)
            )
        if points.values.ndim != 1:
            return points.with_values(
                unicode.unicode_encode(points.values, output_encoding, errors, replacement_char)
            )
        return apply_one(
            "UnicodeEncode",
            points.values,
            points.row_splits,
            errors=errors,
            output_encoding=output_encoding,
            replacement_char=replacement_char,
        )


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keep_dims: Any = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: Any = None,
) -> Any:
    """`tf.strings.reduce_join` of a RaggedTensor."""
    axis = reduction_indices if axis is None else axis
    return reduced_texts(inputs, axis, keep_dims if keepdims is None else keepdims, separator, name)


def ngrams(
    data: RaggedTensor,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> RaggedTensor:
    """The n-grams of the innermost rows of a RaggedTensor: the version of `tf.strings.ngrams`."""
    with framework.name_scope(name, "StringNGrams", [data.flat_values]):

        def of_rows(rows: RaggedTensor) -> RaggedTensor:
            if is_ragged(rows.values):
                return rows.with_values(of_rows(rows.values))
            found, splits = ngrams_of_rows(
                rows.values,
                rows.row_splits,
                ngram_width,
                separator,
                pad_values,
                padding_width,
                preserve_short_sequences,
            )
            return RaggedTensor.from_row_splits(found, splits, validate=False)

        return of_rows(data)
