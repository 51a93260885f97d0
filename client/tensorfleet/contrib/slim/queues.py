"""`slim.queues`: queue runners for the duration of a block."""

import typing as _typing

from tensorfleet.contrib.slim_queues import QueueRunners as QueueRunners

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
