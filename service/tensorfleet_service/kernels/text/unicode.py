"""Texts and code points: encodings of Unicode, decoded, encoded, and changed."""

from __future__ import annotations

import codecs
import itertools
import threading
from typing import Any

import numpy as np

from tensorfleet.core import string_arrays
from tensorfleet.core.long_texts import excerpt
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.text.strings import MAX_TEXT, WORDS_PART, utf8_parts
from tensorfleet_service.kernels.values import array_kernel, each_string, invalid, shape_text
from tensorfleet_service.threads.running import check as check_step

_OUTPUT = {b"UTF-8": "utf-8", b"UTF-16-BE": "utf-16-be", b"UTF-32-BE": "utf-32-be"}
_NAMES = {"usascii": "ascii"}
_MARK = "\udc80"
"""Stands for bytes that are not valid text: no encoding of Unicode has this character."""
_SURROGATES = (0xD800, 0xDFFF)
_LAST = 0x10FFFF
_BIG_ENDIAN = {name: codecs.lookup(f"{name}-be") for name in ("utf-16", "utf-32")}
_MARKS_OF_ORDER = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_CONTROLS = 32


class _Faults(threading.local):
    """The ranges of invalid bytes that this thread's decoding has found, as (first, after the last)."""

    spans: list[tuple[int, int]]


_faults = _Faults()


def _mark(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    _faults.spans.append((error.start, error.end))
    return _MARK, error.end


codecs.register_error("tensorfleet.mark", _mark)


def _codec(encoding: bytes) -> Any:
    """The codec of an encoding that ICU has, too. Raises InvalidArgumentError where there is none."""
    name = excerpt(encoding)
    plain = "".join(c for c in name.lower() if c.isalnum())
    try:
        found = codecs.lookup(_NAMES.get(plain, name))
    except (LookupError, ValueError):
        found = None
    if found is None or not found._is_text_encoding:
        raise invalid(f"Could not create converter for input encoding: {name}")
    return found


class Decoder:
    """Decodes texts by the attributes of a node."""

    def __init__(self, node: KernelNode) -> None:
        attrs = node.attrs
        self._codec = _codec(attrs["input_encoding"])
        self._errors: bytes = attrs["errors"]
        self._replacement = _code_point(attrs["replacement_char"])
        self._controls: bool = attrs["replace_control_characters"]

    def points(self, text: bytes) -> tuple[Any, Any]:
        """The code points of a text, and the byte at which each begins.

        Raises:
            InvalidArgumentError: it is invalid, and errors are neither replaced nor ignored.
        """
        if len(text) <= WORDS_PART:
            return self._points(text)
        if self._codec.name != "utf-8":
            if len(text) > MAX_TEXT:
                raise invalid(f"A text of {len(text)} bytes is too long: {MAX_TEXT} bytes at most")
            return self._points(text)
        begin, points, starts = 0, [], []
        for part in utf8_parts(text):
            found = self._points(part)
            points.append(found[0])
            starts.append(found[1] + begin)
            begin += len(part)
        return np.concatenate(points), np.concatenate(starts)

    def _points(self, text: bytes) -> tuple[Any, Any]:
        _faults.spans = []
        codec = self._codec
        if codec.name in _BIG_ENDIAN and not text.startswith(_MARKS_OF_ORDER):
            codec = _BIG_ENDIAN[codec.name]  # as in ICU; Python takes the machine's order
        decoded = codec.decode(text, "tensorfleet.mark")[0]
        spans = _faults.spans
        points = np.frombuffer(decoded.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int64)
        wrong = points == ord(_MARK)
        if wrong.any() and self._errors == b"strict":
            raise invalid("Invalid formatting on input string")
        lengths = _lengths(codec, points, decoded)
        lengths[wrong] = [end - begin for begin, end in spans]
        starts = np.cumsum(lengths) - lengths
        if self._controls:
            wrong |= points < _CONTROLS
        if self._errors == b"ignore":
            return points[~wrong], starts[~wrong]
        points[wrong] = self._replacement
        return points, starts


def _lengths(codec: Any, points: Any, decoded: str) -> Any:
    """The bytes of each character in the encoding."""
    match codec.name:
        case "utf-8":
            return 1 + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000)
        case "utf-16-be" | "utf-16-le":
            return 2 + 2 * (points >= 0x10000)
        case "utf-32-be" | "utf-32-le":
            return np.full(len(points), 4)
        case "ascii" | "iso8859-1" | "cp1252":
            return np.ones(len(points), np.int64)
    return np.array([0 if c == _MARK else len(codec.encode(c)[0]) for c in decoded], np.int64)


def _code_point(number: int) -> int:
    if not 0 <= number <= _LAST:
        raise invalid("replacement_char out of unicode codepoint range")
    return number


def _encoded(points: Any, encoding: bytes) -> bytes:
    """The text of valid code points."""
    size = points.size
    if size <= WORDS_PART:
        text: str = points.astype("<u4").tobytes().decode("utf-32-le")
        return text.encode(_OUTPUT[encoding])
    return b"".join([_encoded(points[i : i + WORDS_PART], encoding) for i in range(0, size, WORDS_PART)])


@array_kernel("UnicodeTranscode")
def unicode_transcode(node: KernelNode) -> Kernel:
    encoding = node.attrs["output_encoding"]

    def run(texts: Any) -> Any:
        decoder = Decoder(node)
        result = string_arrays.empty(texts.size)
        for i, text in enumerate(each_string(texts)):
            result[i] = _encoded(decoder.points(text)[0], encoding)
        return result.reshape(texts.shape)

    return run


@array_kernel("UnicodeDecode", "UnicodeDecodeWithOffsets")
def unicode_decode(node: KernelNode) -> Kernel:
    splits_dtype = node.attrs["Tsplits"].np
    offsets = node.op.endswith("WithOffsets")

    def run(texts: Any) -> Any:
        decoder = Decoder(node)
        rows = [decoder.points(text) for text in each_string(texts)]
        splits = np.cumsum([0, *(len(points) for points, _ in rows)]).astype(splits_dtype)
        empty = [np.zeros(0, np.int64)]
        points = np.concatenate([points for points, _ in rows] or empty).astype(np.int32)
        if not offsets:
            return splits, points
        return splits, points, np.concatenate([starts for _, starts in rows] or empty).astype(np.int64)

    return run


@array_kernel("UnicodeEncode")
def unicode_encode(node: KernelNode) -> Kernel:
    errors, encoding = node.attrs["errors"], node.attrs["output_encoding"]
    replacement = node.attrs["replacement_char"]

    def run(points: Any, splits: Any) -> Any:
        fill = _code_point(replacement)
        if points.ndim != 1 or splits.ndim != 1:
            raise invalid(
                "Values and splits must be vectors, got shapes "
                f"{shape_text(points.shape)} and {shape_text(splits.shape)}"
            )
        ends = splits.tolist()
        if not ends:
            raise invalid("Input_splits should contain elements, but was given 0 values.")
        if ends[0] != 0:
            raise invalid("First value in input_splits must be zero.")
        if (splits[1:] < splits[:-1]).any():
            raise invalid("Values in input_splits must be equal or in ascending order.")
        if ends[-1] > len(points):
            raise invalid("Values in input_splits must be less than or equal to input_tensor length.")
        wrong = (points < 0) | (points > _LAST) | ((points >= _SURROGATES[0]) & (points <= _SURROGATES[1]))
        if wrong.any():
            if errors == b"strict":
                raise invalid("Code point is out of range for Unicode, or is a surrogate.")
            points = np.where(wrong, fill, points)
        result = string_arrays.empty(len(ends) - 1)
        for i, (begin, end) in enumerate(itertools.pairwise(ends)):
            if not i % 1024:
                check_step()
            row = points[begin:end]
            result[i] = _encoded(row[~wrong[begin:end]] if errors == b"ignore" else row, encoding)
        return result

    return run
