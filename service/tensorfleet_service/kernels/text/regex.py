"""Regular expressions, by RE2, as TensorFlow: its time is linear in the text, whatever the pattern."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import re2

from tensorfleet.core import string_arrays
from tensorfleet.core.long_texts import COPIED, bytes_of, excerpt
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import array_kernel, each_string, invalid, shape_text, string_array
from tensorfleet_service.threads.running import check as check_step

MAX_PATTERNS = 32
"""Number of patterns that are kept compiled; RE2 takes at most 8 MiB for each."""

MAX_PATTERN_BYTES = 64 * 1024
MAX_COSTLY_PATTERN_BYTES = 4 * 1024
"""Limit on patterns with parts that RE2 expands, such as `\\pL{100}`: compiling one holds the interpreter's
lock for at most 0.1 s."""
_COSTLY = (b"\\p", b"{", b"(?i")

_LOOKS = 1 << 10
"""Number of matches between two looks at the step."""

_PIECES = 1 << 14
"""Number of pieces of a result that are joined on the way."""

Replace = Callable[[bytes], bytes]


@lru_cache(MAX_PATTERNS)
def compiled(pattern: bytes) -> Any:
    """The pattern of a regular expression over UTF-8.

    Raises:
        InvalidArgumentError: it is no regular expression.
    """
    limit = MAX_PATTERN_BYTES
    if any(sign in pattern.lower() for sign in _COSTLY):
        limit = MAX_COSTLY_PATTERN_BYTES
    if len(pattern) > limit:
        raise invalid(f"Invalid pattern: it has {len(pattern)} bytes, and one of its kind {limit} at most")
    options = re2.Options()
    options.log_errors = False
    try:
        found = re2.compile(pattern, options)
    except re2.error as e:
        why = e.args[0] if e.args else ""
        why = excerpt(why) if isinstance(why, bytes) else str(why)
        raise invalid(f"Invalid pattern: {excerpt(pattern)}, error: {why}") from None
    re2.purge()  # which keeps four times as many of its own
    return found


def replacer(pattern: bytes, rewrite: bytes, everywhere: bool) -> Replace:
    """The function that replaces matches in a text, or the first one; `\\1` in `rewrite` is a group's text.

    Raises:
        InvalidArgumentError: the pattern is no regular expression.
    """
    regex = compiled(pattern)
    parts, is_whole = _parts(rewrite)
    if not (is_whole or everywhere):  # RE2 leaves the text as it is
        return lambda text: text
    # A group that the pattern lacks is empty.
    parts = [part for part in parts if isinstance(part, bytes) or part <= regex.groups]

    def replace(text: bytes) -> bytes:
        done: list[bytes] = []
        out: list[bytes] = []
        position, last_end = 0, -1
        for count in itertools.count():
            if position > len(text):
                break
            if not count % _LOOKS:
                check_step()
                _settle(out, done)
            match = regex.search(text, position)
            if match is None:
                break
            begin, end = match.span()
            out.append(_between(text, position, begin))
            if begin == end == last_end:
                # An empty match at the end of the last one does not count: go on by one character.
                step = _character(text, begin)
                out.append(text[begin : begin + step])
                position = begin + max(step, 1)
                continue
            out.extend(part if isinstance(part, bytes) else match.group(part) or b"" for part in parts)
            position = last_end = end
            if not everywhere:
                break
        if not (out or done):
            return text
        out.append(_between(text, position, len(text)))
        return b"".join(done + out)

    return replace


def _settle(out: list[bytes], done: list[bytes]) -> None:
    """Joins pieces if they are many: they take many times the memory of the text, and as long to drop."""
    if len(out) >= _PIECES:
        done.append(b"".join(out))
        out.clear()


def _between(text: bytes, begin: int, end: int) -> bytes:
    return text[begin:end] if end - begin <= COPIED else bytes_of(memoryview(text)[begin:end])


def _parts(rewrite: bytes) -> tuple[list[bytes | int], bool]:
    """The texts and groups that a replacement is made of, up to a mistake in it; whether there is none."""
    pieces = rewrite.split(b"\\")
    parts: list[bytes | int] = [pieces[0]]
    rest = iter(pieces[1:])
    for piece in rest:
        if piece[:1].isdigit():
            parts += [int(piece[:1]), piece[1:]]
        elif not piece and (after := next(rest, None)) is not None:
            parts.append(b"\\" + after)
        else:
            return parts, False
    return parts, True


def _character(text: bytes, begin: int) -> int:
    """The bytes of the UTF-8 character that begins there; 1 if it is invalid, 0 at the end."""
    for size in range(1, 5):
        if begin + size > len(text):
            break
        try:
            text[begin : begin + size].decode()
        except UnicodeDecodeError:
            continue
        return size
    return min(1, len(text) - begin)


def _each(x: Any, function: Callable[[bytes], Any], dtype: Any) -> Any:
    result = string_arrays.empty(x.size) if dtype is object else np.empty(x.size, dtype)
    for i, item in enumerate(each_string(x, 64)):
        result[i] = function(item)
    return result.reshape(x.shape)


@array_kernel("RegexReplace")
def regex_replace(node: KernelNode) -> Kernel:
    everywhere = node.attrs["replace_global"]

    def run(x: Any, pattern: Any, rewrite: Any) -> Any:
        for name, value in (("Pattern", pattern), ("Rewrite", rewrite)):
            if value.ndim:
                raise invalid(f"{name} must be scalar, but received {shape_text(value.shape)}")
        replace = replacer(string_array(pattern).item(), string_array(rewrite).item(), everywhere)
        return _each(x, replace, object)

    return run


@array_kernel("StaticRegexReplace")
def static_regex_replace(node: KernelNode) -> Kernel:
    pattern, rewrite, everywhere = (node.attrs[name] for name in ("pattern", "rewrite", "replace_global"))
    return lambda x: _each(x, replacer(pattern, rewrite, everywhere), object)


def _matcher(pattern: bytes) -> Callable[[bytes], bool]:
    regex = compiled(pattern)
    return lambda text: regex.fullmatch(text) is not None


@array_kernel("RegexFullMatch")
def regex_full_match(node: KernelNode) -> Kernel:
    def run(x: Any, pattern: Any) -> Any:
        if pattern.ndim:
            raise invalid(f"Pattern must be scalar, but received {shape_text(pattern.shape)}")
        return _each(x, _matcher(pattern.item()), bool)

    return run


@array_kernel("StaticRegexFullMatch")
def static_regex_full_match(node: KernelNode) -> Kernel:
    pattern = node.attrs["pattern"]
    return lambda x: _each(x, _matcher(pattern), bool)
