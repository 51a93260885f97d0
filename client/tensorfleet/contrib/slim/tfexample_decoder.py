"""`slim.tfexample_decoder`: decoders of Examples."""

import typing as _typing

from tensorfleet.contrib.slim_data.decoders import (
    TFExampleDecoder as TFExampleDecoder,
    TFSequenceExampleDecoder as TFSequenceExampleDecoder,
)
from tensorfleet.contrib.slim_data.handlers import (
    BackupHandler as BackupHandler,
    BoundingBox as BoundingBox,
    Image as Image,
    ItemHandler as ItemHandler,
    ItemHandlerCallback as ItemHandlerCallback,
    LookupTensor as LookupTensor,
    SparseTensorHandler as SparseTensor,
    TensorHandler as Tensor,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "BackupHandler",
    "BoundingBox",
    "Image",
    "ItemHandler",
    "ItemHandlerCallback",
    "LookupTensor",
    "SparseTensor",
    "TFExampleDecoder",
    "TFSequenceExampleDecoder",
    "Tensor",
]
