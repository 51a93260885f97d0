"""`tensorflow.python.ops.summary_op_util`, and the summaries that `logging_ops` had before TensorFlow 1.0."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorfleet as tf
from tensorfleet.api.raw_ops import raw_ops
from tensorfleet.graph.tensor import Tensor

# Those that no name scope has.
INVALID_SCOPE_CHARACTERS = re.compile(r"[^-_/.A-Za-z0-9]")


def collect(val: Any, collections: Any, default_collections: Any) -> None:
    """Adds a value to the collections, by default to the second ones."""
    for key in default_collections if collections is None else collections:
        tf.add_to_collection(key, val)


def skip_summary() -> bool:
    """False: summaries are written by every replica."""
    return False


def clean_tag(name: str | None) -> str | None:
    """The tag with "_" for each character that names of nodes cannot have."""
    if name is None:
        return None
    allowed = "".join(c if c.isascii() and (c.isalnum() or c in "_./-") else "_" for c in name)
    return allowed.lstrip("/")


@contextmanager
def summary_scope(
    name: str, family: str | None = None, default_name: str | None = None, values: Any = None
) -> Iterator[tuple[str, str]]:
    """A name scope for a summary, and the summary's tag."""
    name = clean_tag(name) or ""
    family = clean_tag(family)
    inner = f"{family}/{name}" if family else name
    with tf.name_scope(inner, default_name, values) as scope:
        tag = scope.rstrip("/")
        yield (f"{family}/{tag}" if family else tag), scope


def scalar_summary(tags: Any, values: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """A summary of tagged numbers, as before TensorFlow 1.0 (`logging_ops.scalar_summary`)."""
    made: Tensor = raw_ops.ScalarSummary(tags=tags, values=values, name=name)
    collect(made, collections, [tf.GraphKeys.SUMMARIES])
    return made


def histogram_summary(tag: Any, values: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """A summary with a histogram, as before TensorFlow 1.0 (`logging_ops.histogram_summary`)."""
    made: Tensor = raw_ops.HistogramSummary(tag=tag, values=values, name=name)
    collect(made, collections, [tf.GraphKeys.SUMMARIES])
    return made
