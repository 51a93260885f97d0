"""`tf.lookup.experimental`: mutable tables."""

import typing as _typing

from tensorfleet.lookup.mutable import (
    DenseHashTable as DenseHashTable,
    MutableHashTable as MutableHashTable,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
