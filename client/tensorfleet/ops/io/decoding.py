"""Decoding of strings: lines of CSV, serialized tensors, compressed data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tensorfleet.graph.apply import apply_list, apply_one
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.io import parsing_ops  # noqa: F401  the ops register themselves


def decode_csv(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Tensor]:
    """The fields of lines of comma-separated values, a tensor for each column (`tf.io.decode_csv`).

    Args:
        records: strings, each a line.
        record_defaults: for each column the value, of the column's dtype, of missing fields; an empty tensor
            if the field is required.
        na_value: a text that also stands for a missing field.
        select_cols: the indices of the columns to take, ascending.

    Raises:
        ValueError: `select_cols` are not ascending, or not as many as the defaults.

    Example:
        >>> tf.Session().run(tf.decode_csv(["1,a", "2,"], [[0], ["none"]]))
        [array([1, 2], dtype=int32), array([b'a', b'none'], dtype=object)]
    """
    columns = [] if select_cols is None else list(select_cols)
    if any(a >= b for a, b in pairwise(columns)):
        raise ValueError("select_cols is not strictly increasing.")
    if columns and columns[0] < 0:
        raise ValueError(f"select_cols contains negative values ({columns[0]}).")
    if select_cols is not None and len(columns) != len(record_defaults):
        raise ValueError("Length of select_cols and record_defaults do not match.")
    return apply_list(
        "DecodeCSV",
        records,
        record_defaults,
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=columns,
        name=name,
    )


def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Tensor:
    """The tensor in a serialized TensorProto, of dtype `out_type` (`tf.io.parse_tensor`)."""
    return apply_one("ParseTensor", serialized, out_type=out_type, name=name)


def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """A tensor as a serialized TensorProto (`tf.io.serialize_tensor`)."""
    return apply_one("SerializeTensor", tensor, name=name)


def decode_json_example(json_examples: Any, name: str | None = None) -> Tensor:
    """Serialized Examples from Examples in JSON (`tf.io.decode_json_example`)."""
    return apply_one("DecodeJSONExample", json_examples, name=name)


def decode_compressed(bytes: Any, compression_type: str = "", name: str | None = None) -> Tensor:
    """Strings decompressed by "ZLIB" or "GZIP" (`tf.io.decode_compressed`)."""
    return apply_one("DecodeCompressed", bytes, compression_type=compression_type, name=name)
