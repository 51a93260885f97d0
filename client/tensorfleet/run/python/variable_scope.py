"""What is private in `tensorflow.python.ops.variable_scope`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorfleet as tf


@contextmanager
def pure_variable_scope(name_or_scope: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
    """A variable scope that opens no name scope."""
    names = (
        *("reuse", "initializer", "regularizer", "caching_device", "partitioner", "custom_getter"),
        *("old_name_scope", "dtype", "use_resource", "constraint"),
    )
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    given.pop("old_name_scope", None)
    with tf.variable_scope(name_or_scope, auxiliary_name_scope=False, **given) as scope:
        yield scope
