"""`slim.dataset`: what a data set is."""

import typing as _typing

from tensorfleet.contrib.slim_data.decoders import Dataset as Dataset

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["Dataset"]
