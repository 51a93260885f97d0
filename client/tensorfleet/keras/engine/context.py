"""Which layer is being called: what calls of layers inside of it take from it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any


class _Calls(threading.local):
    """The layers that are being called in a thread, and the training argument of the innermost."""

    def __init__(self) -> None:
        self.layers: list[Any] = []
        self.training: list[Any] = []
        self.inputs: list[Any] = []


_calls = _Calls()


def in_call() -> bool:
    """Whether a layer is being called."""
    return bool(_calls.layers)


def current_training() -> Any:
    """The training argument of the layer that is being called, None if it has none."""
    return _calls.training[-1] if _calls.training else None


def current_inputs() -> Any:
    """The inputs of the outermost layer that is being called."""
    return _calls.inputs[0] if _calls.inputs else None


@contextlib.contextmanager
def calling(layer: Any, training: Any, inputs: Any) -> Iterator[None]:
    """A `with` block in which a layer is called."""
    _calls.layers.append(layer)
    _calls.training.append(training)
    _calls.inputs.append(inputs)
    try:
        yield
    finally:
        _calls.layers.pop()
        _calls.training.pop()
        _calls.inputs.pop()


def in_frozen() -> bool:
    """Whether one of the layers that are being called is not trainable."""
    return any(not layer.trainable for layer in _calls.layers)
