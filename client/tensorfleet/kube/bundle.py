"""The files of `tensorfleet submit`: in ConfigMaps, which a volume combines to a directory."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorfleet.kube import packages as runner

# The API server limits an object to 1 MiB, including names and labels.
MAX_BYTES = 1_000_000
MAX_MAPS = 8
MAX_FILES = 2_000  # each is an item of the pod's volume
DIRECTORY = "/job"  # of the files in the container
RUNNER = ".tensorfleet-packages.py"

_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_LEFT_OUT = ("__pycache__", "node_modules")


class FileError(ValueError):
    """A file cannot be sent; the text says which one and why."""


@dataclass(frozen=True)
class Bundle:
    """Files by their paths in the working directory of the script.

    Attributes:
        script: the script's path there.
        packages: paths of the wheels and requirements files to install first.
        maps: the files of each ConfigMap.
    """

    script: str
    packages: tuple[str, ...]
    maps: tuple[Mapping[str, bytes], ...]

    def volume(self, name: str, job: str) -> dict[str, Any]:
        """The volume of a Job's pod with all files at their paths."""
        sources = [
            {
                "configMap": {
                    "name": _map_name(job, number),
                    "items": [{"key": key, "path": path} for path, key in _keys(files).items()],
                }
            }
            for number, files in enumerate(self.maps)
        ]
        return {"name": name, "projected": {"sources": sources}}

    def manifests(self, job: Any) -> list[dict[str, Any]]:
        """The ConfigMaps of the Job `job` (V1Job), which owns them."""
        return [_manifest(job, number, files) for number, files in enumerate(self.maps)]


def read(script: str, others: Sequence[str] = (), packages: Sequence[str] = ()) -> Bundle:
    """The bundle of a script, files and directories, and of wheels and requirements files for pip.

    A directory keeps its name; `.` stands for the content of the current one. Hidden files and caches in
    directories are left out.

    Raises:
        FileError: a file is missing, two would have the same path, or they are too large or too many.
    """
    found: dict[str, Path] = {}
    for path in map(Path, (script, *packages)):
        _add(found, path.name, path)
    for text in others:
        path = Path(text)
        if path.is_dir():
            inside = list(_walk(path))
            if not inside:
                raise FileError(f"{text} has no files to send along (hidden ones and caches are left out)")
            for file in inside:
                _add(found, str(Path(path.name) / file.relative_to(path)), file)
        else:
            _add(found, path.name, path)
    if len(found) > MAX_FILES:
        raise FileError(
            f"there are {len(found):,} files, and {MAX_FILES:,} can be sent. Put them into an image (--image)"
        )
    contents = {name: _read(path) for name, path in found.items()}
    if packages:
        contents[RUNNER] = Path(runner.__file__).read_bytes()
    return Bundle(Path(script).name, tuple(Path(path).name for path in packages), _divide(contents))


def _add(found: dict[str, Path], name: str, path: Path) -> None:
    known = found.setdefault(name, path)
    if known != path and known.resolve() != path.resolve():
        raise FileError(f"{path}: another file would be at the same path, {DIRECTORY}/{name}: {known}")


def _walk(directory: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(directory):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _LEFT_OUT)
        yield from (Path(parent, file) for file in sorted(files) if not file.startswith("."))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None


def _divide(contents: Mapping[str, bytes]) -> tuple[Mapping[str, bytes], ...]:
    """The files divided among ConfigMaps, by first fit."""
    maps: list[dict[str, bytes]] = []
    room: list[int] = []
    for path, content in contents.items():
        size = _encoded_size(content)
        if size > MAX_BYTES:
            raise FileError(
                f"{path} has {size:,} bytes as it is sent, and a ConfigMap takes {MAX_BYTES:,} at most. "
                "Put large files into an image (--image)"
            )
        number = next((i for i, left in enumerate(room) if left >= size), len(maps))
        if number == len(maps):
            maps.append({})
            room.append(MAX_BYTES)
        maps[number][path] = content
        room[number] -= size
    if len(maps) > MAX_MAPS:
        total = sum(map(_encoded_size, contents.values()))
        raise FileError(
            f"the files have {total:,} bytes as they are sent, and about {MAX_BYTES * MAX_MAPS:,} can be. "
            "Put large ones into an image (--image)"
        )
    return tuple(maps)


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


def _encoded_size(content: bytes) -> int:
    return len(content) if _is_text(content) else (len(content) + 2) // 3 * 4


def _keys(files: Mapping[str, bytes]) -> dict[str, str]:
    """The key of each file in its ConfigMap, in which `/` is not allowed."""
    return {
        path: path if _KEY.fullmatch(path) and not path.startswith(".") else f".{number}"
        for number, path in enumerate(files)
    }


def _map_name(job: str, number: int) -> str:
    return f"{job}-{number}" if number else job


def _manifest(job: Any, number: int, files: Mapping[str, bytes]) -> dict[str, Any]:
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "controller": True,
    }
    keys = _keys(files)
    texts = {keys[path]: content.decode() for path, content in files.items() if _is_text(content)}
    others = {
        keys[path]: base64.b64encode(content).decode()
        for path, content in files.items()
        if not _is_text(content)
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": _map_name(job.metadata.name, number),
            "namespace": job.metadata.namespace,
            "labels": dict(job.metadata.labels),
            "ownerReferences": [owner],
        },
        "immutable": True,
        "data": texts,
        "binaryData": others,
    }
