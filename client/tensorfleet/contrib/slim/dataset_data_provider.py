"""`slim.dataset_data_provider`: the items of a data set, read by queues."""

import typing as _typing

from tensorfleet.contrib.slim_data.decoders import DatasetDataProvider as DatasetDataProvider

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["DatasetDataProvider"]
