"""`tf.gfile`: files, by the older names of TensorFlow 1.x."""

import typing as _typing

from tensorfleet.api.gfile import (
    Copy as Copy,
    DeleteRecursively as DeleteRecursively,
    Exists as Exists,
    Glob as Glob,
    IsDirectory as IsDirectory,
    ListDirectory as ListDirectory,
    MakeDirs as MakeDirs,
    MkDir as MkDir,
    Remove as Remove,
    Rename as Rename,
    Stat as Stat,
    Walk as Walk,
)
from tensorfleet.core.file_io import GFile as FastGFile, GFile as GFile, GFile as Open

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "Copy",
    "DeleteRecursively",
    "Exists",
    "FastGFile",
    "GFile",
    "Glob",
    "IsDirectory",
    "ListDirectory",
    "MakeDirs",
    "MkDir",
    "Open",
    "Remove",
    "Rename",
    "Stat",
    "Walk",
]
