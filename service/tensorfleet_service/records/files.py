"""Files that ops read and write: their names, contents and errors."""

from __future__ import annotations

import os
from typing import BinaryIO

from tensorfleet.checkpoint.files import reported
from tensorfleet.core.files import Files, path_of
from tensorfleet_service.threads.running import check as check_step


class ProgramFiles:
    """A task's files, by names in bytes, as ops have them.

    All methods raise the errors of the operating system and of the task's settings: PermissionDeniedError,
    NotFoundError, …
    """

    def __init__(self, files: Files) -> None:
        self._files = files

    def open_for_read(self, path: bytes) -> BinaryIO:
        """A file to read from, without a buffer."""
        name = path_of(path)
        with reported(name):
            return self._files.open_for_read(name)

    def open_for_write(self, path: bytes) -> BinaryIO:
        """An empty file to write into, without a buffer."""
        name = path_of(path)
        with reported(name):
            return self._files.open_for_write(name)

    def read(self, path: bytes) -> bytes:
        """The content of a file."""
        with self.open_for_read(path) as file, reported(path_of(path)):
            return file.read()

    def write(self, path: bytes, content: bytes) -> None:
        """Makes a file of this content, and the directories above it that are missing."""
        name = path_of(path)
        with reported(name):
            self._files.make_directories(os.path.dirname(name))
            with self._files.open_for_write(name) as file:
                rest = memoryview(content)
                while rest:
                    rest = rest[file.write(rest) :]

    def match(self, pattern: bytes) -> list[bytes]:
        """The files that match a pattern, sorted."""
        name = path_of(pattern)
        with reported(name):
            check_step()  # there may be many patterns, each for a large directory
            return [os.fsencode(path) for path in self._files.match(name)]
