"""Text from outside, as it is shown."""

from __future__ import annotations

import time

from tensorfleet.core.errors import InvalidArgumentError
from tensorfleet.core.printable import MAX_TOLD, printable, told
from tensorfleet.wire.frames import pack_error


def test_characters_that_act_on_a_terminal() -> None:
    assert printable("a\x1b[31m\r\0\x85\u202e\ud800") == r"a\x1b[31m\x0d\x00\x85\u202e\ud800"
    assert printable("é 漢\tb\nc") == "é 漢\tb\nc"
    assert printable(printable("\x1b")) == printable("\x1b")


def test_a_long_text_is_cut_before_it_is_looked_at() -> None:
    began = time.process_time()
    text = told("head" + "x" * (200 << 20) + "tail")
    assert time.process_time() - began < 2
    assert text.startswith("headx")
    assert text.endswith("xtail")
    assert len(text) == MAX_TOLD + 3


def test_an_error_is_told_without_them() -> None:
    assert (
        pack_error(InvalidArgumentError(None, None, "no \x1b[31m\ud800 here"))[1]
        == rb"no \x1b[31m\ud800 here"
    )
