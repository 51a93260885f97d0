"""The functions of `tensorflow.python.lib.io.file_io`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorfleet.core import file_io
from tensorfleet.core.file_io import GFile

FileIO = GFile
stat = file_io.stat
rename = file_io.rename
copy = file_io.copy
is_directory = file_io.isdir
file_exists = file_io.exists
list_directory = file_io.listdir
create_dir = file_io.mkdir
recursive_create_dir = file_io.makedirs
delete_file = file_io.remove
delete_recursively = file_io.rmtree
get_matching_files = file_io.glob


def read_file_to_string(filename: Any, binary_mode: bool = False) -> Any:
    """The content of a file, as text or bytes."""
    with GFile(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def write_string_to_file(filename: Any, file_content: Any) -> None:
    """Writes text or bytes to a file."""
    with GFile(filename, "wb" if isinstance(file_content, bytes) else "w") as file:
        file.write(file_content)


def atomic_write_string_to_file(filename: Any, contents: Any, overwrite: bool = True) -> None:
    """`write_string_to_file`, atomically: readers see either the old or the new file."""
    temporary = f"{filename}.tmp"
    write_string_to_file(temporary, contents)
    rename(temporary, filename, overwrite)


def walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """The directories below `top`, each with its directories and files."""
    return iter(file_io.walk(top, in_order))
