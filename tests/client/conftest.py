"""Every test builds in a graph of its own, and may run on a master that only records."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tensorfleet as tf
from tensorfleet.session import connect as transport
from tests.client.session.fake_transport import FakeTransport


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as own:
        yield own


@pytest.fixture
def master(monkeypatch: pytest.MonkeyPatch) -> FakeTransport:
    """The master of every session that the test makes."""
    fake = FakeTransport()
    monkeypatch.setattr(transport, "connect", lambda target, config: fake)
    return fake
