"""Calls to another task: each has one end."""

from __future__ import annotations

import pytest

from tensorfleet.core import errors
from tensorfleet_service.net.pending_calls import PendingCalls


def lost() -> errors.OpError:
    return errors.UnavailableError(None, None, "the connection is lost")


def test_an_answer_that_has_come_outlasts_the_connection() -> None:
    calls = PendingCalls()

    def send(number: int) -> None:
        calls.answer(number, b"here")
        calls.end(lost())

    assert calls.call(send, 10.0, "no answer") == b"here"
    with pytest.raises(errors.UnavailableError, match="the connection is lost"):
        calls.call(send, 10.0, "no answer")


def test_an_answer_after_the_end_comes_too_late() -> None:
    calls = PendingCalls()

    def send(number: int) -> None:
        calls.end(lost())
        calls.answer(number, b"here")

    with pytest.raises(errors.UnavailableError, match="the connection is lost"):
        calls.call(send, 10.0, "no answer")
