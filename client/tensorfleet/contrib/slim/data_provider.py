"""`slim.data_provider`: the base class of providers."""

import typing as _typing

from tensorfleet.contrib.slim_data.decoders import DataProvider as DataProvider

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["DataProvider"]
