"""The files that ops may use: all files of the task's user, or those in certain directories.

Whoever runs a graph on a task can have ops open files there, with the rights of the task's user. So every
kernel opens files by its task's `Files` (`node.resources.files`). `ConfinedFiles` allows only those inside of
the directories that the task's settings name (`TENSORFLEET_READ_PATHS`, `TENSORFLEET_WRITE_PATHS`).

Symbolic links are followed before the check: a path is resolved first, and the resolved path is opened
component by component from the root, each relative to the one before and none through a link. So a directory
that is replaced by a link meanwhile is an error, never a way out.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import BinaryIO

from tensorfleet.core import errors
from tensorfleet.core.files import LOCAL, Files, WriteMode, local_path
from tensorfleet.security import local as local_credentials, settings

READ_PATHS = "TENSORFLEET_READ_PATHS"
WRITE_PATHS = "TENSORFLEET_WRITE_PATHS"
STATE_DIRECTORY = "TENSORFLEET_STATE_DIR"

ANY, NONE = "any", "none"

_SEARCH = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Opening a pipe would block, and a terminal would become the task's controlling one.
_OPEN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
# No O_TRUNC: whether it is a regular file is checked before it is truncated.
_CREATE: dict[WriteMode, int] = {
    "wb": os.O_CREAT,
    "ab": os.O_CREAT | os.O_APPEND,
    "xb": os.O_CREAT | os.O_EXCL,
}
_FILE_MODE, _DIRECTORY_MODE = 0o666, 0o777  # the umask applies, as with open and mkdir


class ConfinedFiles(Files):
    """The files inside of some directories, and no others.

    Args:
        read: directories whose files may be read.
        write: directories whose files may be written, and read as well.
        read_all: whether all files may be read that the user may read.
        kept: files and directories that may be neither read nor written, wherever they are: the credentials.
    """

    def __init__(
        self,
        read: Sequence[str] = (),
        write: Sequence[str] = (),
        read_all: bool = False,
        kept: Sequence[str] = (),
    ) -> None:
        self._kept = tuple(map(os.path.abspath, kept))
        self._write = tuple(dict.fromkeys(map(os.path.realpath, write)))
        self._read = tuple(dict.fromkeys((*map(os.path.realpath, read), *self._write)))
        if read_all:
            self._read = (os.sep,)

    def __str__(self) -> str:
        return f"read: {_listed(self._read)}; write: {_listed(self._write)}"

    def prepare(self) -> None:
        for directory in self._write:
            with suppress(OSError):  # without the right to make it, its first use is an error that says so
                os.makedirs(directory, mode=0o700, exist_ok=True)

    def open_for_read(self, path: str) -> BinaryIO:
        with self._place(path, writes=False) as (directory, name):
            file = _regular(os.open(name, os.O_RDONLY | _OPEN, dir_fd=directory), path, "rb")
        with _closed_on_error(file):
            self._check_names(file, path)
        return file

    def open_for_write(self, path: str, mode: WriteMode = "wb") -> BinaryIO:
        with self._place(path, writes=True) as (directory, name):
            flags = os.O_WRONLY | _CREATE[mode] | _OPEN
            file = _regular(os.open(name, flags, _FILE_MODE, dir_fd=directory), path, mode)
            with _closed_on_error(file):
                if self._check_names(file, path):
                    if mode == "ab":
                        raise errors.PermissionDeniedError(
                            None, None, f"{path!r} has another name besides, which may be anywhere"
                        )
                    # What is written belongs to this name alone; under others the file stays what it is.
                    file.close()
                    os.unlink(name, dir_fd=directory)
                    new = os.O_WRONLY | _CREATE["xb"] | _OPEN
                    file = _regular(os.open(name, new, _FILE_MODE, dir_fd=directory), path, mode)
                if mode == "wb":
                    file.truncate(0)
        return file

    def stat(self, path: str) -> os.stat_result:
        with self._place(path, writes=False) as (directory, name):
            return os.stat(name, dir_fd=directory, follow_symlinks=False)

    def names_in(self, directory: str) -> list[str]:
        with self._place(directory or ".", writes=False) as (parent, name):
            descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | _OPEN, dir_fd=parent)
        try:
            return os.listdir(descriptor)
        finally:
            os.close(descriptor)

    def make_directory(self, path: str) -> None:
        with self._place(path, writes=True) as (directory, name):
            os.mkdir(name, _DIRECTORY_MODE, dir_fd=directory)

    def replace(self, source: str, target: str) -> None:
        with (
            self._place(source, writes=True, itself=True) as (from_directory, name),
            self._place(target, writes=True, itself=True) as (to_directory, new),
        ):
            os.replace(name, new, src_dir_fd=from_directory, dst_dir_fd=to_directory)

    def remove(self, path: str) -> None:
        with self._place(path, writes=True, itself=True) as (directory, name):
            os.unlink(name, dir_fd=directory)

    def remove_directory(self, path: str) -> None:
        with self._place(path, writes=True, itself=True) as (directory, name):
            os.rmdir(name, dir_fd=directory)

    @contextmanager
    def _place(self, path: str, writes: bool, itself: bool = False) -> Iterator[tuple[int, str]]:
        """The open directory of a path, and its name in it.

        Args:
            writes: whether the path will be written.
            itself: whether a link at the end of the path is not followed.

        Raises:
            PermissionDeniedError: it is outside of the directories.
            OSError: a directory on the way does not exist, or has just become a link.
        """
        text = local_path(path)
        if not text:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), text)
        parent, name = os.path.split(text.rstrip(os.sep))
        if itself and name not in ("", os.curdir, os.pardir):
            real = os.path.join(os.path.realpath(parent), name)
        else:
            real = os.path.realpath(text)
        if not any(_is_inside(real, directory) for directory in (self._write if writes else self._read)):
            raise self._refusal(text, writes)
        self._check_not_kept(real, text, itself)
        parts = [part for part in real.split(os.sep) if part]
        descriptor = os.open(os.sep, _SEARCH)
        try:
            for part in parts[:-1]:
                inner = _entered(part, descriptor, text)
                os.close(descriptor)
                descriptor = inner
            yield descriptor, parts[-1] if parts else os.curdir
        except OSError as e:
            e.filename = text
            raise
        finally:
            os.close(descriptor)

    def _check_not_kept(self, real: str, path: str, itself: bool) -> None:
        """Raises PermissionDeniedError for the credentials, and for moving or removing directories above
        them.
        """
        for kept in self._kept:
            for place in (kept, os.path.realpath(kept)):  # they differ if a link leads there
                if _is_inside(real, place) or (itself and _is_inside(place, real)):
                    raise _kept_error(path)

    def _check_names(self, file: BinaryIO, path: str) -> bool:
        """Whether an open file has other names besides; PermissionDeniedError if one is of a credential."""
        found = os.fstat(file.fileno())
        if found.st_nlink < 2:
            return False
        if (found.st_dev, found.st_ino) in _identities(self._kept):
            raise _kept_error(path)
        return True

    def _refusal(self, path: str, writes: bool) -> errors.PermissionDeniedError:
        directories, setting = (self._write, WRITE_PATHS) if writes else (self._read, READ_PATHS)
        done = "written" if writes else "read"
        inside = f"only inside of {_listed(directories)}" if directories else "nowhere"
        return errors.PermissionDeniedError(
            None,
            None,
            f"{path!r} may not be {done}: on this task, ops may have files {done} {inside}. Use "
            f"a path there, or have whoever runs the task name the directory in {setting}.",
        )


@contextmanager
def _closed_on_error(file: BinaryIO) -> Iterator[None]:
    try:
        yield
    except BaseException:
        file.close()
        raise


def _kept_error(path: str) -> errors.PermissionDeniedError:
    text = f"{path!r} belongs to the credentials of this machine, which ops may not use"
    return errors.PermissionDeniedError(None, None, text)


def _identities(places: Iterable[str]) -> set[tuple[int, int]]:
    """The files at some places and below them."""
    found = set()
    for place in places:
        below = (os.path.join(at, name) for at, _, names in os.walk(place) for name in names)
        for path in itertools.chain([place], below):
            with suppress(OSError):
                status = os.stat(path)
                found.add((status.st_dev, status.st_ino))
    return found


def _entered(name: str, directory: int, path: str) -> int:
    try:
        return os.open(name, _SEARCH, dir_fd=directory)
    except OSError as e:
        if e.errno in (errno.ELOOP, errno.EMLINK):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path) from None
        raise


def _is_inside(real: str, directory: str) -> bool:
    return directory == os.sep or real == directory or real.startswith(directory + os.sep)


def _regular(descriptor: int, path: str, mode: str) -> BinaryIO:
    """The file of a descriptor, which belongs to the file from then on."""
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(kind):
            raise errors.PermissionDeniedError(
                None, None, f"{path!r} is a pipe, a socket or a device: ops may use regular files only"
            )
        buffering = -1 if mode == "rb" else 0
        return open(descriptor, mode.replace("x", "w"), buffering)  # type: ignore[return-value]
    except BaseException:
        os.close(descriptor)
        raise


def _listed(directories: Sequence[str]) -> str:
    return " and ".join(directories) or NONE


class PathsError(ValueError):
    """An invalid setting of directories; the text names it and says what to set."""


def from_environment(environ: Mapping[str, str], local: bool) -> Files:
    """The files of a task.

    Args:
        environ: has the settings, directories separated by `:`, or `any`, or `none`.
        local: whether the task serves this machine only, so that ops may use what its user may, unless the
            settings say otherwise. A task that serves others lets them use its state directory and the
            temporary one.

    Raises:
        PathsError: a setting names something that is not a directory.
    """
    write = _directories(environ, WRITE_PATHS)
    read = _directories(environ, READ_PATHS)
    if write == ANY and read not in (None, ANY):
        raise PathsError(
            f"{WRITE_PATHS} is {ANY}, so that ops may read all files, too, but {READ_PATHS} is "
            f"{environ[READ_PATHS]!r}: name the directories that may be written in {WRITE_PATHS}, or unset "
            f"{READ_PATHS}"
        )
    if write is None:
        # A task of which it is said what may be read shall not read everything because it may write it.
        write = ANY if local and read in (None, ANY) else _own_directories(environ)
    if read is None:
        read = ANY if local else []
    if write == ANY:
        return LOCAL
    return ConfinedFiles(
        [] if isinstance(read, str) else read, list(write), read_all=read == ANY, kept=_credentials(environ)
    )


def _credentials(environ: Mapping[str, str]) -> list[str]:
    """Files by which ops could act as somebody else, or hide what they did."""
    found = [environ.get(name, "") for name in settings.FILES]
    with suppress(RuntimeError):  # the user has no home directory
        found.append(str(local_credentials.folder()))
    return [path for path in found if path not in ("", "-")]


def _directories(environ: Mapping[str, str], name: str) -> list[str] | str | None:
    text = environ.get(name, "")
    if text in ("", ANY):
        return text or None
    if text == NONE:
        return []
    found = [part for part in text.split(os.pathsep) if part]
    for path in found:
        if not os.path.isabs(path) or not os.path.isdir(path):
            raise PathsError(
                f"{name} has {path!r}, which is no absolute path of a directory: set it to directories with "
                f"{os.pathsep!r} between them, to {ANY} for all that the task's user may use, or to {NONE}"
            )
    return found


def _own_directories(environ: Mapping[str, str]) -> list[str]:
    """The task's state directory and the temporary one."""
    state = environ.get(STATE_DIRECTORY, "") or os.path.join(
        environ.get("XDG_STATE_HOME", "") or os.path.join(os.path.expanduser("~"), ".local", "state"),
        "tensorfleet",
    )
    return [state, tempfile.gettempdir()]
