"""`tf.contrib.deprecated`: summaries by their older names."""

import typing as _typing

from tensorfleet.contrib.small_parts import (
    histogram_summary as histogram_summary,
    image_summary as image_summary,
    scalar_summary as scalar_summary,
)
from tensorfleet.ops.io.summary import merge as merge_summary, merge_all as merge_all_summaries

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["histogram_summary", "image_summary", "merge_all_summaries", "merge_summary", "scalar_summary"]
