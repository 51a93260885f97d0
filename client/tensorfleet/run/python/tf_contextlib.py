"""`tensorflow.python.util.tf_contextlib`: context managers from generators."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from tensorfleet.api.decorators import make_decorator


def contextmanager(target: Callable[..., Any]) -> Callable[..., Any]:
    """`contextlib.contextmanager`, whose wrapper `tf_inspect` sees through."""
    return make_decorator(target, contextlib.contextmanager(target), "contextmanager")
