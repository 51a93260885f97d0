"""Names of checkpoint files, and files that appear under their names only when they are complete."""

from __future__ import annotations

import errno
import logging
import os
import re
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from tensorfleet.core import errors
from tensorfleet.core.files import LOCAL, Files

if sys.platform != "win32":
    import fcntl
else:
    fcntl = None

log = logging.getLogger(__name__)

ABANDONED_SECONDS = 60.0
"""Without a write, and without a lock, a temporary file is that of a dead process after this time,"""
UNLOCKED_SECONDS = 86400.0
"""or, on file systems without locks, after this."""

_TEMPORARY = re.compile(r"\.tempstate[0-9a-f]{32}$")
_CLASSES: dict[int, type[errors.OpError]] = {
    errno.ENOENT: errors.NotFoundError,
    errno.ENOTDIR: errors.FailedPreconditionError,
    errno.EISDIR: errors.FailedPreconditionError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.EROFS: errors.PermissionDeniedError,
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EDQUOT: errors.ResourceExhaustedError,
    errno.EFBIG: errors.ResourceExhaustedError,
}


def index_path(prefix: str) -> str:
    """The file with the names of the tensors and where they are."""
    return f"{prefix}.index"


def data_path(prefix: str, shard: int, shards: int) -> str:
    """The file with the values of one shard."""
    return f"{prefix}.data-{shard:05d}-of-{shards:05d}"


@contextmanager
def reported(path: str) -> Iterator[None]:
    """Turns an OSError into the OpError of its kind, with the path in it."""
    try:
        yield
    except OSError as e:
        kind = _CLASSES.get(e.errno or 0, errors.UnknownError)
        raise kind(None, None, f"{e.filename or path}; {e.strerror or e}") from e


class NewFile:
    """A file that is written under a temporary name, and renamed by `publish`; `discard` leaves no trace."""

    def __init__(self, path: str, way: Files = LOCAL) -> None:
        self.path = path
        self._way = way
        self.temporary = f"{path}.tempstate{uuid.uuid4().hex}"
        # Unbuffered: tensors are large, and go to the file in one call each.
        self.file = way.open_for_write(self.temporary, "xb")
        _lock(self.file)
        self.size = 0

    def write(self, data: bytes | memoryview) -> None:
        """Appends bytes."""
        rest = memoryview(data).cast("B") if len(data) else memoryview(b"")
        self.size += len(rest)
        while len(rest):
            rest = rest[self.file.write(rest) :]

    def complete(self) -> None:
        """Puts everything onto the disk, so that after a crash the name cannot stand for half a file."""
        os.fsync(self.file.fileno())
        self.file.close()

    def publish(self) -> None:
        """Gives the completed file its name, instead of an older file of that name."""
        self._way.replace(self.temporary, self.path)

    def discard(self) -> None:
        """Removes the file, if it has not been published."""
        self.file.close()
        if self._way.exists(self.temporary):
            self._way.remove(self.temporary)


def _lock(file: BinaryIO) -> bool | None:
    """Takes the lock that says that a file is being written; whether it was free, None without locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None  # the file system has none
    return True


def remove_abandoned(directory: str, way: Files = LOCAL) -> None:
    """Removes the temporary files of killed saves: those that nobody holds or has written to lately."""
    now = time.time()
    for name in way.names_in(directory or "."):
        if not _TEMPORARY.search(name):
            continue
        path = os.path.join(directory, name)
        try:
            age = now - way.stat(path).st_mtime
            if age < ABANDONED_SECONDS:
                continue
            with way.open_for_read(path) as file:
                free = _lock(file)
                if free or (free is None and age > UNLOCKED_SECONDS):
                    way.remove(path)
                    log.info("removed %s, which a save has left that was killed", path)
        except OSError as e:
            log.debug("%s stays: %s", path, e)  # published or removed meanwhile, or another user's


def replace_file(path: str, content: bytes) -> None:
    """Writes a small file at once: readers see the old content or the new.

    Raises:
        OSError: the disk is full, or the directory cannot be written to; the old file is as it was.
    """
    new = NewFile(path)
    try:
        new.write(content)
        new.complete()
        new.publish()
    finally:
        new.discard()
