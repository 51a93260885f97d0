"""`tf.contrib.staging`: tensors that one step leaves for another."""

import typing as _typing

from tensorfleet.ops.data_flow.staging import MapStagingArea as MapStagingArea, StagingArea as StagingArea

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
