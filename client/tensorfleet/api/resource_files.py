"""Files beside a program's modules: `tf.resource_loader`."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path


def _caller() -> Path:
    """The folder of the module that called a function of this one."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    file = None if frame is None else frame.f_globals.get("__file__")
    return Path(file or sys.argv[0] or ".").resolve().parent


def load_resource(path: str) -> bytes:
    """The content of a file, whose path is relative to the program's folder
    (`tf.resource_loader.load_resource`).

    Raises:
        OSError: it cannot be read.
    """
    return (_root() / path).read_bytes()


def get_data_files_path() -> str:
    """The folder of the calling module (`tf.resource_loader.get_data_files_path`)."""
    return str(_caller())


def get_path_to_datafile(path: str) -> str:
    """A path relative to the folder of the calling module (`tf.resource_loader.get_path_to_datafile`)."""
    return str(_caller() / path)


def get_root_dir_with_all_resources() -> str:
    """The program's folder (`tf.resource_loader.get_root_dir_with_all_resources`)."""
    return str(_root())


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """The path as it is (`tf.resource_loader.readahead_file_path`)."""
    return path


def _root() -> Path:
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    return Path(file).resolve().parent if file else Path.cwd()
