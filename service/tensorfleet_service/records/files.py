"""The files that programs have a task read and write: all of them are opened here."""

from __future__ import annotations

import os
from typing import BinaryIO

from tensorfleet.checkpoint.files import reported
from tensorfleet.core import errors, file_io


class ProgramFiles:
    """The task's file system, as a program may use it."""

    def open_for_read(self, path: bytes) -> BinaryIO:
        """A file to read from, without a buffer.

        Raises:
            NotFoundError, PermissionDeniedError, …: as the operating system says.
        """
        name = os.fsdecode(path)
        with reported(name):
            return open(_local(name), "rb", buffering=0)

    def read(self, path: bytes) -> bytes:
        """The content of a file."""
        with self.open_for_read(path) as file, reported(os.fsdecode(path)):
            return file.read()

    def write(self, path: bytes, content: bytes) -> None:
        """Makes a file of this content, and the directories above it that are missing."""
        name = os.fsdecode(path)
        with reported(name):
            target = _local(name)
            os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
            with open(target, "wb") as file:
                file.write(content)

    def match(self, pattern: bytes) -> list[bytes]:
        """The files that match a pattern, sorted."""
        name = os.fsdecode(pattern)
        with reported(name):
            return [os.fsencode(path) for path in file_io.glob(_local(name))]


def _local(name: str) -> str:
    scheme, found, rest = name.partition("://")
    if found and "/" not in scheme:
        if scheme != "file":
            text = f"File system scheme {scheme!r} not implemented (file: {name!r}); mount it instead"
            raise errors.UnimplementedError(None, None, text)
        return rest
    return name


FILES = ProgramFiles()
"""The files of every task of this process."""
