"""`tf.gfile`: the names by which TensorFlow 1.x programs call the functions of `tensorfleet.core.file_io`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorfleet.core import file_io
from tensorfleet.core.file_io import GFile

FastGFile = Open = GFile


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """See `tensorfleet.core.file_io.copy` (`tf.gfile.Copy`)."""
    file_io.copy(oldpath, newpath, overwrite)


def DeleteRecursively(dirname: Any) -> None:
    """See `tensorfleet.core.file_io.rmtree` (`tf.gfile.DeleteRecursively`)."""
    file_io.rmtree(dirname)


def Exists(filename: Any) -> bool:
    """See `tensorfleet.core.file_io.exists` (`tf.gfile.Exists`)."""
    return file_io.exists(filename)


def Glob(filename: Any) -> list[str]:
    """See `tensorfleet.core.file_io.glob` (`tf.gfile.Glob`)."""
    return file_io.glob(filename)


def IsDirectory(dirname: Any) -> bool:
    """See `tensorfleet.core.file_io.isdir` (`tf.gfile.IsDirectory`)."""
    return file_io.isdir(dirname)


def ListDirectory(dirname: Any) -> list[str]:
    """See `tensorfleet.core.file_io.listdir` (`tf.gfile.ListDirectory`)."""
    return file_io.listdir(dirname)


def MakeDirs(dirname: Any) -> None:
    """See `tensorfleet.core.file_io.makedirs` (`tf.gfile.MakeDirs`)."""
    file_io.makedirs(dirname)


def MkDir(dirname: Any) -> None:
    """See `tensorfleet.core.file_io.mkdir` (`tf.gfile.MkDir`)."""
    file_io.mkdir(dirname)


def Remove(filename: Any) -> None:
    """See `tensorfleet.core.file_io.remove` (`tf.gfile.Remove`)."""
    file_io.remove(filename)


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """See `tensorfleet.core.file_io.rename` (`tf.gfile.Rename`)."""
    file_io.rename(oldname, newname, overwrite)


def Stat(filename: Any) -> file_io.FileStatistics:
    """See `tensorfleet.core.file_io.stat` (`tf.gfile.Stat`)."""
    return file_io.stat(filename)


def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """See `tensorfleet.core.file_io.walk`; `in_order` is its `topdown` (`tf.gfile.Walk`)."""
    return file_io.walk(top, in_order)
