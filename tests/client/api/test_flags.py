"""Flags of a program: what a second definition and unknown arguments do."""

from __future__ import annotations

import sys

import pytest

from tensorfleet.api import flags


def test_a_second_definition_takes_the_place_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flags, "FLAGS", flags.FlagValues())
    monkeypatch.setattr(sys, "argv", ["program", "--size=3", "--of-others=4"])
    flags.DEFINE_string("size", "small", "of a shirt")
    flags.DEFINE_integer("size", 1, "of a batch")
    assert flags.FLAGS.size == 3


def test_unknown_flags_are_left_to_others_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flags, "FLAGS", flags.FlagValues())
    flags.DEFINE_integer("size", 1)
    assert flags.FLAGS(["program", "--of-others=4"], known_only=True) == ["program", "--of-others=4"]
    with pytest.raises(SystemExit):
        flags.FLAGS(["program", "--of-others=4"])
