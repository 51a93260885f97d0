"""`slim.data_decoder`: the base class of decoders."""

import typing as _typing

from tensorfleet.contrib.slim_data.decoders import DataDecoder as DataDecoder

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["DataDecoder"]
