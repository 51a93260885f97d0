"""Unicode: texts from code points, and changes of encoding."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import range
from tensorfleet.ops.array.joining import stack
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.shape_rules import unchanged, with_rank

REPLACEMENT = 0xFFFD
"""The code point that replaces what cannot be decoded."""


def _splits(op: RuleNode) -> Dims:
    dims = op.inputs[0].dims
    if dims is None or None in dims:
        return (None,)
    count = 1
    for d in dims:
        count *= d or 0
    return (count + 1,)


def _decoded_shape(op: RuleNode) -> list[Dims]:
    return [_splits(op), (None,)]


def _decoded_with_offsets_shape(op: RuleNode) -> list[Dims]:
    return [_splits(op), (None,), (None,)]


def _encoded_shape(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 1)
    splits = with_rank(op.inputs[1].dims, 1)[0]
    return [(None if splits is None else splits - 1,)]


_ERRORS = 'errors: {"strict", "replace", "ignore"} = "replace"'
_OUTPUT = 'output_encoding: {"UTF-8", "UTF-16-BE", "UTF-32-BE"}'
_REPLACEMENT = "replacement_char: int = 65533"
_CONTROLS = "replace_control_characters: bool = false"
_TSPLITS = "Tsplits: {int32, int64} = int64"
op(
    "UnicodeDecode(input: string) -> (row_splits: Tsplits, char_values: int32)",
    "input_encoding: string",
    _ERRORS,
    _REPLACEMENT,
    _CONTROLS,
    _TSPLITS,
    shape=_decoded_shape,
)
op(
    "UnicodeDecodeWithOffsets(input: string) -> "
    "(row_splits: Tsplits, char_values: int32, char_to_byte_starts: int64)",
    "input_encoding: string",
    _ERRORS,
    _REPLACEMENT,
    _CONTROLS,
    _TSPLITS,
    shape=_decoded_with_offsets_shape,
)
op(
    "UnicodeEncode(input_values: int32, input_splits: Tsplits) -> (output: string)",
    _ERRORS,
    _OUTPUT,
    _REPLACEMENT,
    _TSPLITS,
    shape=_encoded_shape,
)
op(
    "UnicodeTranscode(input: string) -> (output: string)",
    "input_encoding: string",
    _OUTPUT,
    _ERRORS,
    _REPLACEMENT,
    _CONTROLS,
    shape=unchanged,
)


@takes_composites
def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = REPLACEMENT,
    name: str | None = None,
) -> Tensor:
    """Texts of code points (`tf.strings.unicode_encode`).

    Args:
        input: integers, of a known rank of 1 or more; the last dimension becomes a text.
        output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
        errors: the treatment of numbers that are not code points: "replace", "ignore", or "strict" for an
            error of the run.
        replacement_char: the code point that replaces them.

    Example:
        >>> tf.Session().run(tf.strings.unicode_encode([104, 105], "UTF-8"))
        b'hi'
    """
    with framework.name_scope(name, "UnicodeEncode", [input]):
        points = convert_to_tensor(input)
        if points.ndim is None:
            raise ValueError("Rank of input_tensor must be statically known.")
        if points.ndim == 0:
            raise ValueError("input_tensor's rank must be at least 1.")
        sizes: Any = shape(points)
        if points.ndim == 1:
            flat, splits = points, stack([0, sizes[0]])
        else:
            flat = reshape(points, [-1])
            rows = apply_one("Prod", sizes[:-1], constant([0], name="Const"))
            splits = range(rows + 1) * sizes[-1]
        texts = apply_one(
            "UnicodeEncode",
            flat,
            splits,
            errors=errors,
            output_encoding=output_encoding,
            replacement_char=replacement_char,
            Tsplits=dtypes.int32,
        )
        if points.ndim == 2:
            return texts
        return reshape(texts, [] if points.ndim == 1 else sizes[:-1])


@takes_composites
def unicode_transcode(
    input: Any,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = REPLACEMENT,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Texts in another encoding (`tf.strings.unicode_transcode`).

    Args:
        input_encoding: the name of any encoding that the task knows.
        output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
        errors: the treatment of bytes that cannot be decoded: "replace", "ignore", or "strict" for an error
            of the run.
        replacement_char: the code point that replaces them.
        replace_control_characters: replace the characters below 32, too.
    """
    return apply_one(
        "UnicodeTranscode",
        input,
        input_encoding=input_encoding,
        output_encoding=output_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
        name=name,
    )
