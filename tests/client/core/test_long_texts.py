"""Long texts are decoded, shown and copied by parts."""

from __future__ import annotations

import io
from itertools import repeat
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import errors, long_texts
from tensorfleet.core.files import MAX_PATH_BYTES, path_of
from tensorfleet.core.long_texts import beginning, bytes_of, decoded, excerpt, grouped

MIXED = "aé€😀".encode() + b"\xff\xe2\x82" + b"\n"


@pytest.mark.parametrize("part", [1, 2, 3, 5, 1000])
def test_a_text_decoded_by_parts(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = (MIXED * 7).decode("utf-8", "backslashreplace")
    monkeypatch.setattr(long_texts, "DECODED", part)
    looks: list[None] = []
    parts = list(decoded(MIXED * 7, lambda: looks.append(None)))
    assert "".join(parts) == whole
    assert max(map(len, parts)) <= 4 * (part + 3)  # and what a part before it began
    assert len(looks) == (len(parts) if part < 1000 else 0)


def test_an_excerpt_has_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    assert excerpt(MIXED) == MIXED.decode("utf-8", "backslashreplace")
    monkeypatch.setattr(long_texts, "DECODED", 10)
    assert excerpt(b"0123456789") == "0123456789"
    assert excerpt(b"01234" + b"\xff" * 1_000_000 + b"56789") == "01234 … 56789"


def test_the_beginning_of_what_does_not_end() -> None:
    assert beginning(repeat("abc"), 7) == "abcabca …"
    assert beginning(["abc", "", "def"], 6) == "abcdef"


def test_pieces_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(grouped(["a", "b", "c"])) == ["abc"]
    assert list(grouped([])) == []
    monkeypatch.setattr(long_texts, "COPIED", 4)
    assert list(grouped(["abc", "de", "f", "ghijk", "l"])) == ["abcde", "fghijk", "l"]


def test_bytes_are_copied_by_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    class Noting(io.BytesIO):
        def write(self, data: Any) -> int:
            sizes.append(len(data))
            return super().write(data)

    monkeypatch.setattr(long_texts.io, "BytesIO", Noting)
    monkeypatch.setattr(long_texts, "COPIED", 100)
    array = np.arange(99, dtype=np.int32).reshape(9, 11)
    assert bytes_of(array.data) == array.tobytes()
    assert sizes == [100, 100, 100, 96]
    assert bytes_of(b"") == b""
    assert bytes_of(np.zeros((0, 3)).data) == b""


def test_no_file_has_a_long_name() -> None:
    assert path_of(b"a\xff") == "a\udcff"
    with pytest.raises(errors.InvalidArgumentError, match=r"of 5000 characters"):
        path_of(b"\xff" * 5000)
    assert len(path_of(b"file://" + b"a" * MAX_PATH_BYTES)) == MAX_PATH_BYTES + 7
