from __future__ import annotations

from collections.abc import Iterator

import pytest

import tensorfleet as tf


@pytest.fixture(autouse=True)
def _session() -> Iterator[None]:
    """A session on the test's graph, which Keras takes as its own."""
    with tf.Session():
        yield
