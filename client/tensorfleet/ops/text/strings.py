"""Strings: join, length, substr, numbers from and to strings, base64, raw bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dims as dims_module, dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import range
from tensorfleet.ops.array.shaping import rank, renamed_argument
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import unchanged, with_rank


def _join_shape(op: RuleNode) -> list[Dims]:
    dims: Dims = ()
    for tensor in op.inputs:
        if tensor.dims is None:
            return [None]
        if tensor.dims != ():
            dims = tensor.dims if dims == () else dims_module.merge(dims, tensor.dims)
    return [dims]


def _substr_shape(op: RuleNode) -> list[Dims]:
    text, pos, length = (t.dims for t in op.inputs)
    if pos is not None and pos != length and not (pos == () and length is None):
        raise ValueError(
            f"pos and len shapes must match: {dims_module.format_dims(pos)} vs. "
            f"{dims_module.format_dims(length)}"
        )
    return [dims_module.broadcast(text, pos)]


def _decode_raw_shape(op: RuleNode) -> list[Dims]:
    return [dims_module.concatenate(op.inputs[0].dims, (None,))]


def _reduce_join_shape(op: RuleNode) -> list[Dims]:
    dims, axes = op.inputs[0].dims, static_value(op.inputs[1])
    if dims is None or axes is None:
        return [None if dims is None or not op.attrs["keep_dims"] else (None,) * len(dims)]
    for axis in axes.reshape(-1).tolist():
        if not -len(dims) <= axis < len(dims):
            raise ValueError(f"Invalid reduction dimension {axis} for input with {len(dims)} dimensions.")
    dropped = {axis % len(dims) for axis in axes.reshape(-1).tolist()}
    if op.attrs["keep_dims"]:
        return [tuple(1 if axis in dropped else d for axis, d in enumerate(dims))]
    return [tuple(d for axis, d in enumerate(dims) if axis not in dropped)]


def _full_match_shape(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[1].dims, 0)
    return [op.inputs[0].dims]


op(
    "StringJoin(inputs: N * string) -> (output: string)",
    "N: int >= 0",
    'separator: string = ""',
    shape=_join_shape,
)
op(
    "AsString(input: T) -> (output: string)",
    "T: {float32, float64, int32, uint8, int16, int8, int64, bfloat16, uint16, float16, uint32,"
    " uint64, complex64, complex128, bool, variant, string}",
    "precision: int = -1",
    "scientific: bool = false",
    "shortest: bool = false",
    "width: int = -1",
    'fill: string = ""',
    shape=unchanged,
)
op(
    "StringToNumber(string_tensor: string) -> (output: out_type)",
    "out_type: {float32, float64, int32, int64, uint32, uint64} = float32",
    shape=unchanged,
)
op("StringLength(input: string) -> (output: int32)", 'unit: {"BYTE", "UTF8_CHAR"} = "BYTE"', shape=unchanged)
op(
    "Substr(input: string, pos: T, len: T) -> (output: string)",
    "T: {int32, int64}",
    'unit: {"BYTE", "UTF8_CHAR"} = "BYTE"',
    shape=_substr_shape,
)
op(
    "DecodeRaw(bytes: string) -> (output: out_type)",
    "out_type: {float16, float32, float64, int32, uint16, uint8, int16, int8, int64, complex64,"
    " complex128, bool, bfloat16}",
    "little_endian: bool = true",
    shape=_decode_raw_shape,
)
op("EncodeBase64(input: string) -> (output: string)", "pad: bool = false", shape=unchanged)
op("DecodeBase64(input: string) -> (output: string)", shape=unchanged)
op("StringLower(input: string) -> (output: string)", 'encoding: string = ""', shape=unchanged)
op("StringUpper(input: string) -> (output: string)", 'encoding: string = ""', shape=unchanged)
op("StringStrip(input: string) -> (output: string)", shape=unchanged)
op(
    "RegexReplace(input: string, pattern: string, rewrite: string) -> (output: string)",
    "replace_global: bool = true",
    shape=unchanged,
)
op(
    "StaticRegexReplace(input: string) -> (output: string)",
    "pattern: string",
    "rewrite: string",
    "replace_global: bool = true",
    shape=unchanged,
)
op("RegexFullMatch(input: string, pattern: string) -> (output: bool)", shape=_full_match_shape)
op("StaticRegexFullMatch(input: string) -> (output: bool)", "pattern: string", shape=unchanged)
op(
    "ReduceJoin(inputs: string, reduction_indices: int32) -> (output: string)",
    "keep_dims: bool = false",
    'separator: string = ""',
    shape=_reduce_join_shape,
)


@takes_composites
def join(inputs: Any, separator: str = "", name: str | None = None) -> Tensor:
    """The strings of a list of tensors, joined element by element (`tf.strings.join`).

    Args:
        inputs: tensors of one shape, and scalars.

    Example:
        >>> tf.Session().run(tf.string_join([["a", "b"], "c"], "-"))
        array([b'a-c', b'b-c'], dtype=object)
    """
    return apply_one("StringJoin", inputs, separator=separator, name=name)


@takes_composites
def to_number(
    string_tensor: Any = None, out_type: Any = dtypes.float32, name: str | None = None, input: Any = None
) -> Tensor:
    """The numbers in strings (`tf.strings.to_number`). `input` is the newer name of the argument.

    Raises:
        InvalidArgumentError: in a run, if a string is not a number or out of the range of `out_type`.
    """
    text = renamed_argument("string_tensor", string_tensor, "input", input)
    return apply_one("StringToNumber", text, out_type=out_type, name=name)


string_join = join
string_to_number = to_number


@takes_composites
def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Numbers as strings (`tf.strings.as_string`), in the formats of C's printf.

    Args:
        precision: the number of digits after the point, for floats; six by default.
        scientific: whether to use an exponent.
        shortest: whether to use an exponent if that is shorter.
        width: the least number of characters.
        fill: the flag of shorter numbers: "0", "+", " ", or "-" to fill with spaces on the right.

    Example:
        >>> tf.Session().run(tf.as_string([1, 2]))
        array([b'1', b'2'], dtype=object)
    """
    return apply_one(
        "AsString",
        input,
        precision=precision,
        scientific=scientific,
        shortest=shortest,
        width=width,
        fill=fill,
        name=name,
    )


@takes_composites
def length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """The lengths of strings, int32, in bytes or in characters ("UTF8_CHAR") (`tf.strings.length`)."""
    return apply_one("StringLength", input, unit=unit, name=name)


@takes_composites
def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """The part of each string that starts at `pos` and has `len` units (`tf.substr`).

    Args:
        pos: integers; negative ones count from the end.
        unit: "BYTE", or "UTF8_CHAR" for characters.

    Raises:
        InvalidArgumentError: in a run, where `pos` is outside of the string.
    """
    return apply_one("Substr", input, pos, len, unit=unit, name=name)


def decode_raw(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> Tensor:
    """The bytes of strings as numbers, in one more dimension (`tf.decode_raw`).

    Args:
        input_bytes: strings of one length; `bytes` is the argument's older name.
        out_type: the dtype of the numbers.
    """
    text = renamed_argument("input_bytes", input_bytes, "bytes", bytes)
    if out_type is None:
        raise ValueError("decode_raw_v1() missing 1 positional argument: 'out_type'")
    return apply_one("DecodeRaw", text, out_type=out_type, little_endian=little_endian, name=name)


@takes_composites
def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """Strings in the URL-safe alphabet of base64, padded with "=" if `pad` (`tf.encode_base64`)."""
    return apply_one("EncodeBase64", input, pad=pad, name=name)


@takes_composites
def decode_base64(input: Any, name: str | None = None) -> Tensor:
    """The inverse of `encode_base64`, for strings with or without padding (`tf.decode_base64`)."""
    return apply_one("DecodeBase64", input, name=name)


@takes_composites
def lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Strings in lower case: ASCII letters only, or all with encoding "utf-8" (`tf.strings.lower`)."""
    return apply_one("StringLower", input, encoding=encoding, name=name)


@takes_composites
def upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Strings in upper case: ASCII letters only, or all with encoding "utf-8" (`tf.strings.upper`)."""
    return apply_one("StringUpper", input, encoding=encoding, name=name)


@takes_composites
def strip(input: Any, name: str | None = None) -> Tensor:
    """Strings without leading and trailing white space (`tf.strings.strip`)."""
    return apply_one("StringStrip", input, name=name)


string_strip = strip


@takes_composites
def regex_replace(
    input: Any, pattern: str, rewrite: str, replace_global: bool = True, name: str | None = None
) -> Tensor:
    """Strings with matches of `pattern` replaced by `rewrite` (`tf.strings.regex_replace`).

    Args:
        pattern: a regular expression in the common syntax of RE2 and Python.
        rewrite: the replacement; \\\\1 … \\\\9 stand for the groups.
        replace_global: whether to replace every match, instead of the first one.
    """
    if isinstance(pattern, str | bytes) and isinstance(rewrite, str | bytes):
        return apply_one(
            "StaticRegexReplace",
            input,
            pattern=pattern,
            rewrite=rewrite,
            replace_global=replace_global,
            name=name,
        )
    return apply_one("RegexReplace", input, pattern, rewrite, replace_global=replace_global, name=name)


@takes_composites
def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Whether a regular expression matches the whole of each string (`tf.strings.regex_full_match`).

    Args:
        pattern: the expression, in RE2's syntax: a str, or a tensor of rank 0.
    """
    if isinstance(pattern, str | bytes):
        return apply_one("StaticRegexFullMatch", input, pattern=pattern, name=name)
    return apply_one("RegexFullMatch", input, pattern, name=name)


def _last_to_first(count: int) -> np.ndarray[Any, Any]:
    return np.arange(count - 1, -1, -1, dtype=np.int32)


@takes_composites
def reduce_join(
    inputs: Any,
    axis: Any = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Strings joined along dimensions (`tf.reduce_join`).

    Args:
        axis: an int or a list, joined in this order; all dimensions in row-major order by default.
            `reduction_indices` is its older name.
        keepdims: keep the dimensions, of size 1. `keep_dims` is its older name.
    """
    keep = renamed_argument("keepdims", keepdims, "keep_dims", keep_dims)
    axis = renamed_argument("axis", axis, "reduction_indices", reduction_indices)
    with get_default_graph().name_scope("ReduceJoin"):
        inputs = convert_to_tensor(inputs)
        if axis is None:
            known = None if inputs.dims is None else len(inputs.dims)
            axis = range(rank(inputs) - 1, -1, -1) if known is None else constant(_last_to_first(known))
        return apply_one("ReduceJoin", inputs, axis, keep_dims=bool(keep), separator=separator, name=name)
