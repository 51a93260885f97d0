"""`slim.prefetch_queue`: a queue of batches."""

import typing as _typing

from tensorfleet.contrib.slim_data.reading import prefetch_queue as prefetch_queue

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["prefetch_queue"]
