"""Long records of comma-separated values: their fields are found by parts."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import dtypes, errors
from tensorfleet_service.records import csv
from tensorfleet_service.records.csv import CsvReader, Format
from tests.kernels.harness import run_op


class Noting(bytes):
    """A record that notes how much of it is split by one call."""

    sizes: list[int]

    def __getitem__(self, key: Any) -> Any:
        part = Noting(super().__getitem__(key))
        part.sizes = self.sizes
        return part

    def split(self, *arguments: Any) -> Any:
        self.sizes.append(len(self))
        return super().split(*arguments)


@pytest.mark.parametrize("record", [b"1," * 100, b"," * 77, b"a" * 300, b",".join([b"abcdefg"] * 50)])
@pytest.mark.parametrize("quotes", [True, False])
def test_a_long_record_by_parts(record: bytes, quotes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv, "_PART", 10)
    noting = Noting(record)
    noting.sizes = []
    assert Format(b",", quotes, b"").fields(noting) == record.split(b",")
    assert b"," not in record or max(noting.sizes) <= 10 + 7


def test_a_long_field_in_quotes() -> None:
    form = Format(b",", True, b"")
    assert form.fields(b'"' + b'""' * 5000 + b'",b') == [b'"' * 5000, b"b"]
    assert form.fields(b'"a""b","","c"') == [b'a"b', b"", b"c"]
    for wrong in (b'a"b,c', b'a"b,', b'"a\nb",a\nb'):
        with pytest.raises(errors.InvalidArgumentError, match="Unquoted fields cannot have"):
            form.fields(wrong)


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("text", [b"1", b"a", b"\xff"])
def test_no_number_is_that_long(dtype: Any, text: bytes) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="Field 0 in record 0 is not a valid") as raised:
        run_op("DecodeCSV", text * 1_000_000, [np.zeros(1, dtype)])
    assert len(str(raised.value)) < 200_000


def test_numbers_beyond_all_others() -> None:
    default = [np.zeros(1, np.float64)] * 2
    huge = b"0x1" + b"0" * 400
    assert run_op("DecodeCSV", huge + b",-" + huge, default, OUT_TYPE=[dtypes.float64] * 2) == (
        math.inf,
        -math.inf,
    )


def records(data: bytes) -> list[list[bytes]]:
    reader = CsvReader(io.BytesIO(data), Format(b",", True, b""), True, False)
    return list(iter(reader.read, None))


@pytest.mark.parametrize("buffer", [1, 2, 3, 7, 1 << 20])
@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_a_file_is_read_in_pieces(
    buffer: int, end: bytes, last: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv, "BUFFER", buffer)
    lines = [b'a,"b', b'""c",d', b"", b"e,f", b'"', b'",""', b"g"]
    data = end.join(lines) + (end if last else b"")
    assert records(data) == [
        [b"a", b"b" + end + b'"c', b"d"],
        [b""],
        [b"e", b"f"],
        [end, b""],
        [b"g"],
    ]
    assert records(end + end) == [[b""], [b""]]
    with pytest.raises(errors.InvalidArgumentError, match="without closing quoted field"):
        records(b'a,"b' + end + b"c" + end)


def test_a_long_line_is_looked_through_once() -> None:
    """A pattern that began with a line's text was tried from each of its bytes on, each time to the end."""
    assert records(b"a" * 3_000_000) == [[b"a" * 3_000_000]]


def test_a_field_of_many_lines_is_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[bytes] = []
    split = Format.split

    def noting(form: Format, record: bytes, *arguments: Any) -> list[bytes]:
        begun.append(record)
        return split(form, record, *arguments)

    monkeypatch.setattr(Format, "split", noting)
    assert records(b'"' + b'a""\n' * 100 + b'",b\nc\n') == [[b'a"\n' * 100, b"b"], [b"c"]]
    assert begun == [b'"a""']
