"""RegexReplace: RE2's meaning, TensorFlow's errors, and time that is linear in the text."""

from __future__ import annotations

import time

import pytest

from tensorfleet.core import errors
from tensorfleet_service.kernels.text import regex
from tests.kernels.harness import run_op


def replaced(text: bytes, pattern: bytes, rewrite: bytes, everywhere: bool = True) -> bytes:
    found: bytes = run_op("RegexReplace", text, pattern, rewrite, replace_global=everywhere)[()]
    return found


# What TensorFlow 2.21 gives.
@pytest.mark.parametrize(
    ("text", "pattern", "rewrite", "result"),
    [
        ("abc", "b", r"[\0]", "a[b]c"),
        ("abc", "(b)", r"\2", "ac"),
        ("abc", "(b)", r"x\2y", "axyc"),
        ("abc", "(b)", "\\", "ac"),
        ("abc", "(b)", r"\x", "ac"),
        ("abc", "b", r"\\n", r"a\nc"),
        ("aaa", "x*", "-", "-a-a-a-"),
        ("abc", "", "-", "-a-b-c-"),
        ("abc", "b*", "-", "-a-c-"),
        ("baac", "a*", "-", "-b-c-"),
        ("é€", ".", "x", "xx"),
        ("é€", "", "-", "-é-€-"),
        ("a\nb", ".", "x", "x\nx"),
        ("a\nb", "^b", "x", "a\nb"),
        ("aB", "(?i)b", "x", "ax"),
        ("ab", "(?P<n>a)", r"\1\1", "aab"),
        ("\u0660a1", r"\d", "x", "\u0660ax"),
        ("a\0b", "a\0b", "x", "x"),
        ("ab", "(b)|(c)", r"[\1\2]", "a[b]"),
    ],
)
def test_replaces_as_tensorflow_does(text: str, pattern: str, rewrite: str, result: str) -> None:
    assert replaced(text.encode(), pattern.encode(), rewrite.encode()) == result.encode()


# What TensorFlow 1.15.5 gives.
@pytest.mark.parametrize(
    ("text", "pattern", "rewrite", "result"),
    [
        (b"aaa", b"a", b"b", b"baa"),
        (b"abc", b"^", b"-", b"-abc"),
        (b"abc", b"x*", b"-", b"-abc"),
        (b"", b"^$", b"-", b"-"),
        (b"abc", b"$", b"-", b"abc-"),
    ],
)
def test_the_first_match_only(text: bytes, pattern: bytes, rewrite: bytes, result: bytes) -> None:
    assert replaced(text, pattern, rewrite, everywhere=False) == result


def test_bytes_that_are_no_text() -> None:
    assert replaced(b"\xff\xfea", b"a", b"x") == b"\xff\xfex"
    assert replaced(b"\xff\xfe", b".", b"x") == b"\xff\xfe"
    assert replaced(b"\xffa", b"", b"-") == b"-\xff-a-"


@pytest.mark.parametrize(
    ("pattern", "error"),
    [
        ("(a", "missing ): (a"),
        (r"(a)\1", r"invalid escape sequence: \1"),
        ("a(?=b)", "invalid perl operator: (?="),
        ("a{1001}", "invalid repetition size: {1001}"),
        ("[b-", "missing ]: [b-"),
        ("(((a{100}){100}){100})", "invalid repetition size: {100}"),
    ],
)
def test_what_is_no_pattern(pattern: str, error: str) -> None:
    with pytest.raises(errors.InvalidArgumentError) as caught:
        replaced(b"x", pattern.encode(), b"")
    assert f"Invalid pattern: {pattern}, error: {error}" in caught.value.message


@pytest.mark.parametrize("pattern", [rb"|".join([rb"\pL{900}"] * 5000), b"x" * 100_000])
def test_patterns_that_would_take_long_to_compile(pattern: bytes) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="Invalid pattern: it has"):
        replaced(b"x", pattern, b"")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("pattern", [b"(a+)+$", b"(a|a)*b$", b"(a|aa)+$", b"(.*)*x", b"^(([a-z])+.)+[A-Z]$"])
def test_no_pattern_takes_more_than_linear_time(pattern: bytes) -> None:
    """A backtracking matcher takes 2^100000 steps; the deadline is the test's."""
    text = b"a" * 100_000 + b"!"
    begin = time.monotonic()
    replaced(text, pattern, b"")
    assert time.monotonic() - begin < 30


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize(
    ("pattern", "rewrite"), [(b"a", b"xy"), (b"", b"-"), (b"a*", b"[\\0]"), (b"q", b"r")]
)
def test_long_results_are_joined_on_the_way(
    pattern: bytes, rewrite: bytes, everywhere: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = b"abcaab\xffaaaaab" * 9
    whole = regex.replacer(pattern, rewrite, everywhere)(text)
    pieces: list[int] = []
    settle = regex._settle

    def noting(out: list[bytes], done: list[bytes]) -> None:
        pieces.append(len(out))
        settle(out, done)

    monkeypatch.setattr(regex, "_settle", noting)
    for name in ("_LOOKS", "_PIECES", "COPIED"):
        monkeypatch.setattr(regex, name, 2)
    assert regex.replacer(pattern, rewrite, everywhere)(text) == whole
    assert max(pieces) <= 1 + 2 * 4  # of two matches, of four pieces each at most


def test_a_text_without_a_match_is_not_copied() -> None:
    text = b"abc" * 9
    assert regex.replacer(b"d", b"e", True)(text) is text
