"""Access to files: whatever opens files for a program does so through a `Files`, which may refuse.

`LOCAL` opens what the process may open. A task's programs get one that the task's settings confine to
directories (the service's `state.files`); checkpoints are written and read by whichever they are given.
"""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Iterator
from typing import BinaryIO, Literal

from tensorfleet.core import errors

WriteMode = Literal["wb", "ab", "xb"]

MAX_PATH_BYTES = 4096


_FILE = "file://"


def path_of(name: bytes) -> str:
    """The path, or address, that a program gives as bytes.

    Raises:
        InvalidArgumentError: no file can have it, being so long.
    """
    if len(name) > MAX_PATH_BYTES + len(_FILE):
        raise _no_name(os.fsdecode(name[:80]), len(name))
    return os.fsdecode(name)


def _no_name(beginning: str, size: int) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(
        None, None, f"No file can have the name {beginning!r}, of {size} characters"
    )


def local_path(text: str) -> str:
    """The path in this machine's file system of a path or `file://` address.

    Raises:
        UnimplementedError: it is one of another file system, such as `gs://bucket/file`.
        InvalidArgumentError: no file can have it.
    """
    if len(text) > MAX_PATH_BYTES + len(_FILE):
        raise _no_name(text[:80], len(text))
    scheme, found, rest = text.partition("://")
    if found and "/" not in scheme:
        if scheme != "file":
            raise errors.UnimplementedError(
                None,
                None,
                f"File system scheme {scheme!r} not implemented (file: {text!r}); mount it instead",
            )
        text = rest
    if "\0" in text or len(os.fsencode(text)) > MAX_PATH_BYTES:
        raise _no_name(text[:80], len(text))
    return text


class Files:
    """The file system as this process's user may use it. Paths are of this machine, or `file://`.

    All methods raise OSError as the operating system reports it, which `checkpoint.files.reported` makes an
    OpError; ways that are confined raise PermissionDeniedError besides.
    """

    def prepare(self) -> None:
        """Makes directories that this way needs, before the first use."""

    def open_for_read(self, path: str) -> BinaryIO:
        """A file to read from."""
        return open(local_path(path), "rb")

    def open_for_write(self, path: str, mode: WriteMode = "wb") -> BinaryIO:
        """A file to write into, without a buffer: emptied (`wb`), at its end (`ab`), or a new one (`xb`)."""
        return open(local_path(path), mode, buffering=0)

    def stat(self, path: str) -> os.stat_result:
        """The attributes of a file or directory that may be read."""
        return os.stat(local_path(path))

    def exists(self, path: str) -> bool:
        """Whether there is such a file or directory."""
        try:
            self.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def is_directory(self, path: str) -> bool:
        """Whether there is such a directory."""
        try:
            found = self.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return (found.st_mode & 0o170000) == 0o040000

    def names_in(self, directory: str) -> list[str]:
        """The names in a directory, in no order."""
        return os.listdir(local_path(directory) or ".")

    def match(self, pattern: str) -> list[str]:
        """The paths that match a pattern, sorted: `*` stands for any part of a name, `?` for a character,
        `[a-z]` for one of these. Unlike Python's, `*` matches hidden files, too.
        """
        text = local_path(pattern)
        if not glob.has_magic(text):
            return [text] if self.exists(text) else []
        return sorted(self._matches(text))

    def _matches(self, pattern: str) -> Iterator[str]:
        directory, name = os.path.split(pattern)
        parents = list(self._matches(directory)) if glob.has_magic(directory) else [directory]
        for parent in parents:
            if self.is_directory(parent or "."):
                names = fnmatch.filter(self.names_in(parent or "."), name) if name else [""]
                yield from (os.path.join(parent, found) for found in names)

    def make_directory(self, path: str) -> None:
        """Makes a directory in one that is there; FileExistsError if there is something of that name."""
        os.mkdir(local_path(path))

    def make_directories(self, path: str) -> None:
        """Makes a directory and those above it, as far as they are not there."""
        text = local_path(path)
        if not text or self.is_directory(text):
            return
        parent = os.path.dirname(text.rstrip(os.sep))
        if parent != text:
            self.make_directories(parent)
        try:
            self.make_directory(text)
        except FileExistsError:
            if not self.is_directory(text):
                raise

    def replace(self, source: str, target: str) -> None:
        """Gives a file another name, in place of what had it."""
        os.replace(local_path(source), local_path(target))

    def remove(self, path: str) -> None:
        """Deletes a file."""
        os.unlink(local_path(path))

    def remove_directory(self, path: str) -> None:
        """Deletes an empty directory."""
        os.rmdir(local_path(path))


LOCAL = Files()
