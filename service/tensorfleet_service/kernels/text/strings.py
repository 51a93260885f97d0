"""Strings: join, length, substr, numbers from and to strings, base64, raw bytes. All of it in host memory."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, errors, string_arrays
from tensorfleet.core.dtypes import DType
from tensorfleet.core.long_texts import excerpt
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import (
    STRINGS_PART as PART,
    array_kernel,
    each_string,
    ints,
    invalid,
    shape_text,
    string_array,
)
from tensorfleet_service.records.csv import MAX_DIGITS
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.running import check as check_step

TEXT_PART = 3 << 20
"""Number of bytes of a text processed at a time; divisible by three and four."""

WORDS_PART = 1 << 20
"""Number of bytes of UTF-8 whose case is changed at a time."""

SHOWN = 200
"""Number of bytes of a text that an error shows."""

MAX_WIDTH = 1 << 16
"""Limit on the characters to which a number is padded."""


MAX_TEXT = 64 << 20
"""Limit on the bytes of a UTF-8 text that is processed as a whole."""

_HEX = re.compile(rb"[+-]?0[xX][0-9a-fA-F.]+([pP][+-]?[0-9]+)?$")


def _decoded(item: bytes) -> str:
    return item.decode("utf-8", "surrogateescape")


def _each(function: Callable[[Any], Any], dtype: Any = object) -> Kernel:
    """A kernel that applies a function to every element."""

    def run(x: Any) -> Any:
        flat = x.reshape(-1)
        result = string_arrays.empty(x.size) if dtype is object else np.empty(x.size, dtype)
        for begin in range(0, x.size, PART):
            check_step()
            result[begin : begin + PART] = [function(item) for item in flat[begin : begin + PART].tolist()]
        return result.reshape(x.shape)

    return run


def _by_parts(function: Callable[[bytes], bytes], size: int = TEXT_PART) -> Callable[[bytes], bytes]:
    """A function of texts that applies `function` to their parts, one after the other."""

    def whole(item: bytes) -> bytes:
        if len(item) <= size:
            return function(item)
        return b"".join([function(item[i : i + size]) for i in range(0, len(item), size)])

    return whole


def _by_words(function: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """As `_by_parts`, of UTF-8 that is cut after spaces, as what is before a letter may change its case.

    Where no space comes for as long as a part is, it is cut before a character.
    """

    def whole(item: bytes) -> bytes:
        if len(item) <= WORDS_PART:
            return function(item)
        if len(item) > MAX_TEXT:
            raise _too_long(item)
        parts = []
        begin = 0
        while begin < len(item):
            check_step()
            end = min(begin + WORDS_PART, len(item))
            if end < len(item):
                space = item.rfind(b" ", begin, end)
                if space >= 0:
                    end = space + 1
                else:
                    while end > begin + WORDS_PART - 4 and item[end] & 0xC0 == 0x80:
                        end -= 1
            parts.append(function(item[begin:end]))
            begin = end
        return b"".join(parts)

    return whole


def _too_long(item: bytes) -> errors.OpError:
    return invalid(f"A UTF-8 text of {len(item)} bytes is too long: {MAX_TEXT} bytes at most")


def _text(attr: bytes) -> str:
    return excerpt(attr)


@array_kernel("StringJoin")
def string_join(node: KernelNode) -> Kernel:
    separator = node.attrs["separator"]

    def run(*inputs: Any) -> Any:
        shape = next((x.shape for x in inputs if x.ndim), ())
        for x in inputs:
            if x.ndim and x.shape != shape:
                raise invalid(f"Input shapes do not match: {shape_text(shape)} vs. {shape_text(x.shape)}")
        if not inputs:
            return string_array(b"")
        columns = [np.broadcast_to(x, shape).reshape(-1) for x in inputs]
        result = string_arrays.empty(int(np.prod(shape)))
        for begin in range(0, result.size, PART):
            check_step()
            part = [column[begin : begin + PART].tolist() for column in columns]
            result[begin : begin + PART] = [separator.join(row) for row in zip(*part, strict=True)]
        return result.reshape(shape)

    return run


@array_kernel("ReduceJoin")
def reduce_join(node: KernelNode) -> Kernel:
    separator, keep = node.attrs["separator"], node.attrs["keep_dims"]

    def run(x: Any, reduction_indices: Any) -> Any:
        axes = ints(reduction_indices.reshape(-1))
        for axis in axes:
            if not -x.ndim <= axis < x.ndim:
                text = f"Invalid reduction dimension {axis} for input with {x.ndim} dimension(s)"
                raise errors.OutOfRangeError(None, None, text)
        axes = [axis % x.ndim for axis in axes]
        if len(set(axes)) < len(axes):
            twice = next(axis for i, axis in enumerate(axes) if axis in axes[:i])
            raise invalid(f"Duplicate reduction dimension {twice}")
        if not axes:
            return x
        kept = [axis for axis in range(x.ndim) if axis not in axes]
        groups = int(np.prod([x.shape[axis] for axis in kept]))
        count = int(np.prod([x.shape[axis] for axis in axes]))
        # The first axis is joined first: along it, neighbours stay neighbours.
        rows = x.transpose(kept + axes[::-1]).reshape(groups, count)
        result = string_arrays.empty(groups)
        for i in range(groups):
            if not i % 256:
                check_step()
            result[i] = separator.join(_joined(rows[i], separator))
        dims = [1 if axis in axes else d for axis, d in enumerate(x.shape)]
        return result.reshape(dims if keep else [x.shape[axis] for axis in kept])

    return run


def _joined(row: Any, separator: bytes) -> list[bytes]:
    """The strings of a row, joined by parts."""
    if row.size <= PART:
        found: list[bytes] = row.tolist()
        return found
    return [separator.join(row[i : i + PART].tolist()) for i in range(0, row.size, PART)]


_FILLS = ("", " ", "+", "-", "0", "#")


@array_kernel("AsString")
def as_string(node: KernelNode) -> Kernel:
    dtype: DType = node.attrs["T"]
    spell = _formatter(dtype, node.attrs)

    return (lambda x: x) if dtype is dtypes.string else _each(lambda item: spell(item).encode())


def _formatter(dtype: DType, attrs: dict[str, Any]) -> Callable[[Any], str]:
    fill, width, precision = _text(attrs["fill"]), attrs["width"], attrs["precision"]
    is_float = dtype.is_floating or dtype.is_complex
    if max(width, precision) > MAX_WIDTH:
        raise invalid(f"width {width} or precision {precision} is over {MAX_WIDTH} characters")
    if attrs["scientific"] and attrs["shortest"]:
        raise invalid("Cannot select both scientific and shortest notation")
    if len(fill) > 1:
        raise invalid(f"Fill string must be one or fewer characters: {fill}")
    if fill not in _FILLS:
        raise invalid(f'Fill argument not supported: "{fill}"')
    if not is_float and (precision >= 0 or attrs["scientific"] or attrs["shortest"]):
        kind = "precision" if precision >= 0 else "scientific and shortest format"
        raise invalid(f"{kind} not supported for datatype {dtype.name}")
    size = f"{fill}{width}" if width > -1 else fill
    if is_float:
        letter = "e" if attrs["scientific"] else "g" if attrs["shortest"] else "f"
        number = f"%{size}{f'.{precision}' if precision > -1 else ''}{letter}"
        # C pads only digits with zeros, not inf and nan.
        other = number.replace("%0", "%", 1)

        def spell(v: float) -> str:
            return (number if math.isfinite(v) else other) % v

        return (lambda z: f"({spell(z.real)},{spell(z.imag)})") if dtype.is_complex else spell
    if dtype.is_bool:
        return lambda v: "true" if v else "false"
    return lambda v: f"%{size}d" % v


def _of_hex(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return -math.inf if text[0] == "-" else math.inf


@array_kernel("StringToNumber")
def string_to_number(node: KernelNode) -> Kernel:
    dtype = node.output_types[0]
    assert dtype.np is not None
    limits = None if dtype.is_floating else (int(dtype.min), int(dtype.max))

    def number(item: bytes) -> Any:
        if len(item) > MAX_DIGITS:
            raise ValueError
        text = item.strip()
        if b"_" in text:
            raise ValueError
        if limits is None:
            return _of_hex(text.decode()) if _HEX.match(text) else float(text)
        value = int(text)
        if not limits[0] <= value <= limits[1]:
            raise ValueError
        return value

    def run(x: Any) -> Any:
        result = np.empty(x.size, dtype.np)
        for i, item in enumerate(each_string(x)):
            try:
                result[i] = number(item)
            except ValueError:
                where = (
                    f"element {[int(n) for n in np.unravel_index(i, x.shape)]} of the" if x.ndim else "the"
                )
                raise invalid(
                    f"StringToNumberOp could not correctly convert string: {_text(item[:SHOWN])}"
                    f"\nIt is no {dtype.name}: {where} input string_tensor of {node.name}"
                ) from None
        return result.reshape(x.shape)

    return run


@array_kernel("StringLength")
def string_length(node: KernelNode) -> Kernel:
    return _each(len if node.attrs["unit"] == b"BYTE" else _characters, np.int32)


def _characters(item: bytes) -> int:
    """The number of characters of UTF-8: of bytes that do not continue one."""
    count = 0
    for begin in range(0, len(item), TEXT_PART):
        part = np.frombuffer(item, np.uint8, min(TEXT_PART, len(item) - begin), begin)
        count += int(np.count_nonzero(part & 0xC0 != 0x80))
    return count


@array_kernel("Substr")
def substr(node: KernelNode) -> Kernel:
    cut = _cut_bytes if node.attrs["unit"] == b"BYTE" else _cut_characters

    def run(x: Any, pos: Any, length: Any) -> Any:
        if pos.shape != length.shape:
            raise invalid(
                f"pos and len should have the same shape, got: {shape_text(pos.shape)} vs. "
                f"{shape_text(length.shape)}"
            )
        try:
            shape = np.broadcast_shapes(x.shape, pos.shape)
        except ValueError:
            raise invalid(f"Incompatible shapes: {shape_text(x.shape)} vs. {shape_text(pos.shape)}") from None
        columns = [each_string(np.broadcast_to(v, shape)) for v in (x, pos, length)]
        result = string_arrays.empty(int(np.prod(shape)))
        for i, (item, begin, count) in enumerate(zip(*columns, strict=True)):
            part = cut(item, begin, count)
            if part is None:
                raise invalid(_outside(node, begin, item, i))
            result[i] = part
        return result.reshape(shape)

    return run


def _outside(node: KernelNode, begin: int, item: bytes, index: int) -> str:
    which = f" b'{_text(item)}'" if node.attrs["unit"] == b"BYTE" else ""
    return f"pos {begin} out of range for string{which} at index {index}"


def _cut_bytes(item: bytes, begin: int, count: int) -> bytes | None:
    if not -len(item) <= begin <= len(item):
        return None
    begin += len(item) if begin < 0 else 0
    return item[begin : begin + count] if count >= 0 else item[begin:]


def _cut_characters(item: bytes, begin: int, count: int) -> bytes | None:
    if len(item) <= WORDS_PART:
        text = _decoded(item)
        if not -len(text) <= begin <= len(text):
            return None
        begin += len(text) if begin < 0 else 0
        return text[begin : begin + max(count, 0)].encode("utf-8", "surrogateescape")
    parts = list(utf8_parts(item))
    sizes = [len(_decoded(part)) for part in parts]
    size = sum(sizes)
    if not -size <= begin <= size:
        return None
    begin += size if begin < 0 else 0
    end = begin + min(max(count, 0), size - begin)
    found = []
    for part, length in zip(parts, sizes, strict=True):
        if begin < length and end > 0:
            text = _decoded(part)[max(begin, 0) : end]
            found.append(text.encode("utf-8", "surrogateescape"))
        begin -= length
        end -= length
    return b"".join(found)


def utf8_parts(item: bytes) -> Iterator[bytes]:
    """The parts of a UTF-8 text, cut before characters; bytes that are not valid are so in the parts, too.

    Raises:
        OpError: the step has ended.
    """
    begin = 0
    while len(item) - begin > WORDS_PART:
        check_step()
        end = begin + WORDS_PART
        while end > begin + WORDS_PART - 4 and item[end] & 0xC0 == 0x80:
            end -= 1
        yield item[begin:end]
        begin = end
    yield item[begin:]


@array_kernel("DecodeRaw")
def decode_raw(node: KernelNode) -> Kernel:
    dtype = node.output_types[0]
    assert dtype.np is not None
    stored = dtype.np if node.attrs["little_endian"] else dtype.np.newbyteorder(">")

    def run(x: Any) -> Any:
        items = unlocked.listed(x)
        size = len(items[0]) if items else 0
        for i, item in enumerate(items):
            if not i % PART:
                check_step()
            if len(item) != size:
                raise invalid(
                    "DecodeRaw requires input strings to all be the same size, but element "
                    f"{i} has size {size} != {len(item)}"
                )
        if size % dtype.size:
            raise invalid(
                f"Input to DecodeRaw has length {size} that is not a multiple of {dtype.size}, "
                f"the size of {dtype.name}"
            )
        numbers = np.frombuffer(b"".join(items), stored).astype(dtype.np, copy=False)
        return numbers.reshape(*x.shape, size // dtype.size)

    return run


@array_kernel("EncodeBase64")
def encode_base64(node: KernelNode) -> Kernel:
    encode = base64.urlsafe_b64encode
    # Only the last part has padding.
    return _each(_by_parts(encode if node.attrs["pad"] else lambda part: encode(part).rstrip(b"=")))


@array_kernel("DecodeBase64")
def decode_base64(node: KernelNode) -> Kernel:
    decode_part = _by_parts(lambda part: base64.b64decode(part, b"-_", validate=True))

    def decode(item: bytes) -> bytes:
        if len(item) % 4 == 1 and b"=" not in item[:-1]:
            raise invalid("Base64 string length cannot be 1 modulo 4.")
        if b"+" in item or b"/" in item:  # of the alphabet that is not for URLs
            raise invalid("Invalid character found in base64.")
        padded = item if item.endswith(b"=") else item + b"=" * (-len(item) % 4)
        if padded.find(b"=", 0, -2) >= 0:  # an end in the middle
            raise invalid("Invalid character found in base64.")
        try:
            return decode_part(padded)
        except binascii.Error:
            raise invalid("Invalid character found in base64.") from None

    return _each(decode)


def _case(node: KernelNode, ascii_only: Callable[[bytes], bytes], full: Callable[[str], str]) -> Kernel:
    match node.attrs["encoding"]:
        case b"":
            return _each(_by_parts(ascii_only))
        case b"utf-8":
            whole = _by_words(lambda part: full(_decoded(part)).encode("utf-8", "surrogateescape"))
            return _each(whole)
    raise invalid(f"only utf8 or '' (no encoding) is supported, received {_text(node.attrs['encoding'])}")


@array_kernel("StringLower")
def string_lower(node: KernelNode) -> Kernel:
    return _case(node, bytes.lower, str.lower)


@array_kernel("StringUpper")
def string_upper(node: KernelNode) -> Kernel:
    return _case(node, bytes.upper, str.upper)


@array_kernel("StringStrip")
def string_strip(node: KernelNode) -> Kernel:
    return _each(_stripped)


def _stripped(item: bytes) -> bytes:
    begin, end = 0, len(item)
    while end - begin > TEXT_PART and item[begin : begin + TEXT_PART].isspace():
        begin += TEXT_PART
    while end - begin > TEXT_PART and item[end - TEXT_PART : end].isspace():
        end -= TEXT_PART
    return item[begin:end].strip()
