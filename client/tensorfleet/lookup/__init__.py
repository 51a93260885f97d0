"""`tf.lookup`: tables from keys to values."""

import typing as _typing

from tensorfleet.lookup import experimental as experimental
from tensorfleet.lookup.tables import (
    KeyValueTensorInitializer as KeyValueTensorInitializer,
    StaticHashTable as StaticHashTable,
    TextFileIndex as TextFileIndex,
    TextFileInitializer as TextFileInitializer,
)
from tensorfleet.lookup.vocabularies import (
    StaticVocabularyTable as StaticVocabularyTable,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__, modules=("experimental",))
