"""RegexFullMatch and StaticRegexFullMatch."""

from __future__ import annotations

import numpy as np
import pytest

from tensorfleet.core import errors
from tests.kernels.harness import run_op

TEXTS = np.array([[b"a1", b"a12"], [b"1a", b""]], object)


# What TensorFlow 2.21 gives.
@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        (b"[a-z][0-9]", [[True, False], [False, False]]),
        (b"[a-z][0-9]*", [[True, True], [False, False]]),
        (b"", [[False, False], [False, True]]),
        (b"a|1|a1", [[True, False], [False, False]]),
        (b".*", [[True, True], [True, True]]),
    ],
)
def test_whole_texts_match(pattern: bytes, matched: list[list[bool]]) -> None:
    assert run_op("RegexFullMatch", TEXTS, pattern).tolist() == matched
    found = run_op("StaticRegexFullMatch", TEXTS, pattern=pattern)
    assert found.tolist() == matched
    assert found.dtype == np.bool_


def test_characters_are_those_of_utf_8() -> None:
    assert run_op("RegexFullMatch", "é€".encode(), b"..")
    assert not run_op("RegexFullMatch", b"\xff\xfe", b"..")


def test_what_is_no_pattern() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="Invalid pattern: a\\(, error: missing"):
        run_op("RegexFullMatch", b"a", b"a(")
    with pytest.raises(errors.InvalidArgumentError, match="Invalid pattern: a\\(, error: missing"):
        run_op("StaticRegexFullMatch", b"a", pattern=b"a(")
