"""`tf.io.gfile`: files and directories of this machine, with TensorFlow's errors.

`tensorfleet.api.gfile` has the older names.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple, Self

from tensorfleet.core import errors
from tensorfleet.core.compat import as_bytes, path_to_str
from tensorfleet.core.files import LOCAL, local_path

_MODES = frozenset(letter + more for letter in "rwa" for more in ("", "b", "+", "b+", "+b"))

_ERRORS: dict[int | None, type[errors.OpError]] = {
    errno.ENOENT: errors.NotFoundError,
    errno.EEXIST: errors.AlreadyExistsError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.ENOTDIR: errors.FailedPreconditionError,
    errno.EISDIR: errors.FailedPreconditionError,
    errno.ENOTEMPTY: errors.FailedPreconditionError,
    errno.EBUSY: errors.UnavailableError,
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EDQUOT: errors.ResourceExhaustedError,
    errno.EINVAL: errors.InvalidArgumentError,
}


class FileStatistics(NamedTuple):
    """The result of `stat`: `length` in bytes, `mtime_nsec` since 1970, `is_directory`."""

    length: int
    mtime_nsec: int
    is_directory: bool


class GFile:
    """A file, which is opened when it is first read or written (`tf.io.gfile.GFile`, `tf.gfile.Open`).

    `read` and `readline` give bytes if the mode has a "b", else text in UTF-8; places are counted in bytes.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        """Raises InvalidArgumentError: no such mode."""
        if mode not in _MODES:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"mode {mode!r} of file {name}: it has to be r, w or a, with b or + or both after it",
            )
        self._name = name
        self._mode = mode
        self._file: IO[bytes] | None = None

    @property
    def name(self) -> Any:
        """The name by which the file was opened."""
        return self._name

    @property
    def mode(self) -> str:
        """ "r", "w" or "a", with "b" for bytes and "+" for both directions."""
        return self._mode

    def size(self) -> int:
        """Its length in bytes."""
        return stat(self._name).length

    def read(self, n: int = -1) -> str | bytes:
        """`n` bytes, or all that is left."""
        return self._given(self._readable().read(n))

    def readline(self) -> str | bytes:
        """One line, with its end; nothing at the end of the file."""
        return self._given(self._readable().readline())

    def readlines(self) -> list[str | bytes]:
        """All lines that are left."""
        return list(self)

    def write(self, file_content: str | bytes) -> None:
        """Appends `file_content` to what was written."""
        self._writable().write(as_bytes(file_content))

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Goes to `offset` from the start (`whence` 0), from here (1) or from the end (2)."""
        if offset is not None and position is not None:
            raise TypeError("seek(): offset and position may not be set simultaneously.")
        place = position if offset is None else offset
        if place is None:
            raise TypeError("seek(): offset argument required")
        with _reported(self._name):
            self._readable().seek(place, whence)

    def tell(self) -> int:
        """The place in the file."""
        return (self._readable() if "r" in self._mode or "+" in self._mode else self._writable()).tell()

    def seekable(self) -> bool:
        """True."""
        return True

    def flush(self) -> None:
        """Hands what was written to the file system."""
        if self._file is not None:
            with _reported(self._name):
                self._file.flush()

    def close(self) -> None:
        """Closes the file; one that is read or written again is opened again."""
        file, self._file = self._file, None
        if file is not None:
            with _reported(self._name):
                file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[str | bytes]:
        return self

    def __next__(self) -> str | bytes:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def next(self) -> str | bytes:
        """The next line."""
        return next(self)

    def _given(self, data: bytes) -> str | bytes:
        return data if "b" in self._mode else data.decode()

    def _readable(self) -> IO[bytes]:
        if "r" not in self._mode and "+" not in self._mode:
            raise errors.PermissionDeniedError(None, None, f"File isn't open for reading: {self._name}")
        return self._opened()

    def _writable(self) -> IO[bytes]:
        if self._mode in ("r", "rb"):
            raise errors.PermissionDeniedError(None, None, f"File isn't open for writing: {self._name}")
        return self._opened()

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            with _reported(self._name):
                self._file = open(_local(self._name), self._mode.replace("b", "") + "b")  # noqa: SIM115
        return self._file


def exists(path: Any) -> bool:
    """Whether there is such a file or directory (`tf.io.gfile.exists`)."""
    return os.path.exists(_local(path))


def isdir(path: Any) -> bool:
    """Whether there is such a directory (`tf.io.gfile.isdir`)."""
    return os.path.isdir(_local(path))


def stat(path: Any) -> FileStatistics:
    """Length, time of the last change, kind (`tf.io.gfile.stat`). Raises NotFoundError."""
    with _reported(path):
        found = os.stat(_local(path))
    return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(_local(path)))


def listdir(path: Any) -> list[str]:
    """The names in a directory, in no order (`tf.io.gfile.listdir`). Raises NotFoundError."""
    if not isdir(path):
        raise errors.NotFoundError(None, None, f"Could not find directory {path_to_str(path)}")
    with _reported(path):
        return os.listdir(_local(path))


def glob(pattern: Any) -> list[str]:
    """The paths that match `pattern`, or one of several (`tf.io.gfile.glob`).

    `*` stands for any part of a name, `?` for a character, `[a-z]` for one of these.
    """
    patterns = [pattern] if isinstance(pattern, (str, bytes, os.PathLike)) else pattern
    found: list[str] = []
    for one in patterns:
        found += LOCAL.match(_local(one))
    return found


def join(path: Any, *paths: Any) -> Any:
    """The parts of a path, put together (`tf.io.gfile.join`)."""
    return os.path.join(path_to_str(path), *map(path_to_str, paths))


def mkdir(path: Any) -> None:
    """Makes a directory in one that is there, unless there is one (`tf.io.gfile.mkdir`).

    Raises:
        NotFoundError: there is no directory to make it in.
        AlreadyExistsError: there is a file of that name.
    """
    try:
        with _reported(path):
            os.mkdir(_local(path))
    except errors.AlreadyExistsError:
        if not isdir(path):
            raise


def makedirs(path: Any) -> None:
    """Makes a directory and those above it, unless it is there (`tf.io.gfile.makedirs`).

    Raises FailedPreconditionError: something on the way is a file.
    """
    try:
        with _reported(path):
            os.makedirs(_local(path), exist_ok=True)
    except errors.AlreadyExistsError as e:
        raise errors.FailedPreconditionError(None, None, f"{path_to_str(path)}; Not a directory") from e


def remove(path: Any) -> None:
    """Deletes a file (`tf.io.gfile.remove`).

    Raises:
        NotFoundError: there is none.
        FailedPreconditionError: it is a directory.
    """
    with _reported(path):
        os.remove(_local(path))


def rmtree(path: Any) -> None:
    """Deletes a directory and all that is in it (`tf.io.gfile.rmtree`). Raises NotFoundError."""
    with _reported(path):
        shutil.rmtree(_local(path))


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copies what is in a file (`tf.io.gfile.copy`).

    Raises:
        NotFoundError: there is none.
        AlreadyExistsError: there is something at `dst`, which is not to be overwritten.
    """
    _refuse_to_replace(dst, overwrite)
    with _reported(src):
        shutil.copyfile(_local(src), _local(dst))


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Moves a file or directory (`tf.io.gfile.rename`).

    Raises:
        NotFoundError: there is none.
        AlreadyExistsError: there is something at `dst`, which is not to be overwritten.
    """
    _refuse_to_replace(dst, overwrite)
    with _reported(src):
        os.rename(_local(src), _local(dst))


def walk(
    top: Any, topdown: bool = True, onerror: Callable[[errors.OpError], object] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """`top` and the directories below it, with the names of what is in each (`tf.io.gfile.walk`)."""
    path = path_to_str(top)
    try:
        names = sorted(listdir(path))
    except errors.NotFoundError as e:
        if onerror is not None:
            onerror(e)
        return
    directories = [name for name in names if isdir(os.path.join(path, name))]
    here = path, directories, [name for name in names if name not in directories]
    if topdown:
        yield here
    for name in directories:
        yield from walk(os.path.join(path, name), topdown, onerror)
    if not topdown:
        yield here


def get_registered_schemes() -> list[str]:
    """The file systems that there are (`tf.io.gfile.get_registered_schemes`): this machine's."""
    return ["", "file"]


def _refuse_to_replace(path: Any, overwrite: bool) -> None:
    if not overwrite and exists(path):
        raise errors.AlreadyExistsError(None, None, f"file already exists: {path_to_str(path)}")


def _local(path: Any) -> str:
    """The path in this machine's file system.

    Raises:
        UnimplementedError: it is one of another file system, such as `gs://bucket/file`.
    """
    return local_path(path_to_str(path) if not isinstance(path, bytes) else path.decode())


@contextmanager
def _reported(path: Any) -> Iterator[None]:
    """Turns the operating system's errors into TensorFlow's."""
    try:
        yield
    except OSError as e:
        kind = _ERRORS.get(e.errno, errors.UnknownError)
        raise kind(None, None, f"{path_to_str(path)}; {e.strerror}") from e


def open_binary(path: Any, mode: str) -> IO[bytes]:
    """A file of bytes, as `open` opens it in `mode` "rb", "wb" or "ab", with TensorFlow's errors."""
    with _reported(path):
        return open(_local(path), mode)
