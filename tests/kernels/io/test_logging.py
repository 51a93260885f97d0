"""Kernels that write: Assert, Print, PrintV2; and PyFunc, which calls back."""

from __future__ import annotations

import codecs
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import errors, long_texts
from tensorfleet.core.printable import MAX_TOLD
from tensorfleet.ops.io.script import register
from tensorfleet_service.kernels.registry import make_kernel
from tests.kernels.harness import make_node, run_op


def test_assert_shows_its_data() -> None:
    data = [np.int32([1, 2, 3, 4]), np.array(b"abc", object), np.float32(2.5)]
    assert run_op("Assert", np.bool_(True), data) is None
    with pytest.raises(
        errors.InvalidArgumentError, match=r"^assertion failed: \[1 2 3\.\.\.\] \[abc\] \[2\.5\]$"
    ):
        run_op("Assert", np.bool_(False), data)


def test_print_writes_only_so_many_times(capsys: pytest.CaptureFixture[str]) -> None:
    node, values = make_node("Print", np.float32(1), [np.int32([[1, 2], [3, 4]])], message="m", first_n=2)
    kernel = make_kernel(node)
    assert callable(kernel)
    assert [kernel(*values) for _ in range(3)] == [1, 1, 1]
    assert capsys.readouterr().err == "m[[1 2][3...]...]\n" * 2


@pytest.mark.parametrize("stream", ["stderr", "stdout"])
def test_print_v2(stream: str, capsys: pytest.CaptureFixture[str]) -> None:
    run_op("PrintV2", b"text", output_stream=stream, end="!")
    captured = capsys.readouterr()
    assert (captured.err, captured.out) == (("text!", "") if stream == "stderr" else ("", "text!"))


def test_print_v2_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    for _ in range(2):
        run_op("PrintV2", b"line", output_stream=f"file://{path}")
    assert path.read_text() == "line\nline\n"


def test_string_format() -> None:
    shown = run_op("StringFormat", [np.arange(9), np.array(b"s", object)], template="<%> %", placeholder="%")
    assert shown[()] == b'<[0 1 2 ... 6 7 8]> "s"'
    with pytest.raises(errors.InvalidArgumentError, match=r"must match: 1 vs\. 2"):
        run_op("StringFormat", [np.arange(9), np.arange(2)], template="%", placeholder="%")


def test_timestamp() -> None:
    before = time.time()
    assert before <= run_op("Timestamp") <= time.time()


def call(function: Any, inputs: list[Any], types: list[str]) -> Any:
    return run_op("PyFunc", inputs, token=register(function), Tout=types)


def test_py_func_calls_the_function() -> None:
    np.testing.assert_array_equal(
        call(lambda x, y: x + y, [np.float32([1, 2]), np.float32(3)], ["float32"]), [4, 5]
    )
    one, word = call(lambda: (1, b"w"), [], ["int64", "string"])
    assert (one, word[()]) == (1, b"w")
    assert call(lambda: None, [], []) is None


@pytest.mark.parametrize(
    ("function", "types", "kind", "message"),
    [
        (
            lambda: np.float32(1),
            ["int32"],
            errors.InvalidArgumentError,
            "0-th value returned by pyfunc_.* is float, ",
        ),
        (
            lambda: (1, 2),
            ["int64"],
            errors.InvalidArgumentError,
            "returns 2 values, but expects to see 1 values",
        ),
        (lambda: 1 // 0, ["int64"], errors.UnknownError, "ZeroDivisionError: integer division"),
        (lambda: int("x"), ["int64"], errors.InvalidArgumentError, "ValueError: invalid literal"),
    ],
)
def test_py_func_errors(function: Any, types: list[str], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call(function, [], types)


def test_py_func_of_another_process() -> None:
    with pytest.raises(errors.UnimplementedError, match=r"PyFunc PyFunc \(nowhere\) calls a Python function"):
        run_op("PyFunc", [], token="nowhere", Tout=["int32"])


@pytest.mark.parametrize("op", ["Assert", "PrintV2", "Print", "StringFormat"])
def test_a_long_text_is_decoded_by_parts(
    op: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    class Noting:
        def __init__(self, how: str) -> None:
            self._decoder = codecs.getincrementaldecoder("utf-8")(how)

        def decode(self, data: bytes, final: bool) -> str:
            sizes.append(len(data))
            return self._decoder.decode(data, final)

    monkeypatch.setattr(long_texts, "DECODED", 1000)
    monkeypatch.setattr(long_texts, "_decoder", Noting)
    text = b"\xff\n" * (1_000_000 if op == "Assert" else 100_000)
    if op == "Assert":
        with pytest.raises(errors.InvalidArgumentError) as raised:
            run_op("Assert", np.False_, [text], summarize=1)
        shown = str(raised.value)
        assert shown.startswith(f"assertion failed: [{_ESCAPED * 10}")
        assert len(shown) < MAX_TOLD + 100
        assert sum(sizes) < MAX_TOLD  # it is not decoded any further
    elif op == "PrintV2":
        path = tmp_path / "printed"
        run_op("PrintV2", text, output_stream=f"file://{path}", end="!")
        assert path.read_text() == "\\xff\n" * 100_000 + "!"
    elif op == "Print":
        run_op("Print", np.float32(1), [text], message="here: ")
        assert capsys.readouterr().err == f"here: [{_ESCAPED * 100_000}]\n"
    else:
        found = run_op("StringFormat", [text], template="<%s>", placeholder="%s")
        assert found.item() == f'<"{_ESCAPED * 100_000}">'.encode()
    assert max(sizes) == 1000


_ESCAPED = "\\\\xff\\n"
