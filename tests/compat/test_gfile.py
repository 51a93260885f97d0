"""`tf.gfile` and `tf.io.gfile` do with files what TensorFlow's do, errors included."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet

pytestmark = pytest.mark.slow


def written(tf: Any, name: str, mode: str, *content: Any) -> None:
    with tf.gfile.GFile(name, mode) as file:
        for item in content:
            file.write(item)


def places(tf: Any, mode: str) -> list[Any]:
    file = tf.gfile.Open("lines", mode)
    first = file.readline(), file.tell()
    file.seek(1)
    return [first, file.read(3), file.readlines(), file.tell(), file.size(), file.name, file.mode]


STEPS: dict[str, Callable[[Any], Any]] = {
    "read text": lambda tf: tf.gfile.GFile("lines").read(),
    "read bytes": lambda tf: tf.gfile.FastGFile("lines", "rb").read(),
    "iterate": lambda tf: list(tf.gfile.GFile("lines")),
    "places in text": lambda tf: places(tf, "r"),
    "places in bytes": lambda tf: places(tf, "rb"),
    "append": lambda tf: written(tf, "lines", "a", "more", b" of it"),
    "write anew": lambda tf: written(tf, "new", "w", "new\n"),
    "write bytes": lambda tf: written(tf, "new", "wb", b"\xff"),
    "write nothing": lambda tf: written(tf, "nothing", "w"),
    "write a number": lambda tf: written(tf, "new", "w", 3),
    "write where one reads": lambda tf: written(tf, "lines", "r", "x"),
    "read where one writes": lambda tf: tf.gfile.GFile("new", "w").read(),
    "an unknown mode": lambda tf: tf.gfile.GFile("lines", "x"),
    "read what is not there": lambda tf: tf.gfile.GFile("none").read(),
    "read bytes as text": lambda tf: tf.gfile.GFile("bytes").read(),
    "write into no directory": lambda tf: written(tf, "none/new", "w", "x"),
    "seek to nowhere": lambda tf: tf.gfile.GFile("lines").seek(),
    "exists": lambda tf: [tf.gfile.Exists(name) for name in ("lines", "tree", "none", "")],
    "is a directory": lambda tf: [tf.gfile.IsDirectory(name) for name in ("lines", "tree", "none")],
    "stat": lambda tf: [(s.length, s.is_directory) for s in map(tf.gfile.Stat, ("lines",))],
    "stat of nothing": lambda tf: tf.gfile.Stat("none"),
    "list": lambda tf: sorted(tf.gfile.ListDirectory("tree")),
    "list a file": lambda tf: tf.gfile.ListDirectory("lines"),
    "list nothing": lambda tf: tf.gfile.ListDirectory("none"),
    "glob": lambda tf: sorted(tf.gfile.Glob("tree/*")),
    "glob deep": lambda tf: sorted(tf.gfile.Glob("tree/?/?[a-d]*")),
    "glob of several": lambda tf: sorted(tf.gfile.Glob(["lines", "no*", "tree/a"])),
    "glob of nothing": lambda tf: tf.gfile.Glob("none/*"),
    "walk": lambda tf: [(d, sorted(s), sorted(f)) for d, s, f in tf.gfile.Walk("tree")],
    "walk upwards": lambda tf: [(d, sorted(s), sorted(f)) for d, s, f in tf.gfile.Walk("tree", False)],
    "walk nowhere": lambda tf: list(tf.gfile.Walk("none")),
    "make a directory": lambda tf: tf.gfile.MkDir("tree/new"),
    "make it again": lambda tf: tf.gfile.MkDir("tree"),
    "make it in nothing": lambda tf: tf.gfile.MkDir("none/new"),
    "make several": lambda tf: tf.gfile.MakeDirs("tree/x/y"),
    "make several again": lambda tf: tf.gfile.MakeDirs("tree/b"),
    "make one below a file": lambda tf: tf.gfile.MakeDirs("lines/b"),
    "remove": lambda tf: tf.gfile.Remove("lines"),
    "remove nothing": lambda tf: tf.gfile.Remove("none"),
    "remove a directory": lambda tf: tf.gfile.Remove("tree"),
    "remove all": lambda tf: tf.gfile.DeleteRecursively("tree"),
    "remove all of nothing": lambda tf: tf.gfile.DeleteRecursively("none"),
    "copy": lambda tf: tf.gfile.Copy("lines", "new"),
    "copy nothing": lambda tf: tf.gfile.Copy("none", "new"),
    "copy over": lambda tf: tf.gfile.Copy("lines", "tree/a"),
    "copy over, if told": lambda tf: tf.gfile.Copy("lines", "tree/a", overwrite=True),
    "rename": lambda tf: tf.gfile.Rename("tree", "wood"),
    "rename nothing": lambda tf: tf.gfile.Rename("none", "new"),
    "rename over": lambda tf: tf.gfile.Rename("lines", "tree/a"),
    "rename over, if told": lambda tf: tf.gfile.Rename("lines", "tree/a", True),
    "new names": lambda tf: [
        tf.io.gfile.exists("lines"),
        tf.io.gfile.join("a", "b"),
        tf.io.gfile.isdir("tree"),
    ],
    "a file system that is not there": lambda tf: tf.gfile.GFile("nosuch://bucket/file").read(),
}


def outcome(tf: Any, step: Callable[[Any], Any], place: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The result or error of `step` in a directory of its own, and what it leaves there."""
    (place / "tree" / "b").mkdir(parents=True)
    (place / "lines").write_text("one\ntwö\n\nlast")
    (place / "bytes").write_bytes(b"\xff\xfe")
    for name in ("tree/a", "tree/.hidden", "tree/b/xc", "tree/b/xz"):
        (place / name).write_text(name)
    monkeypatch.chdir(place)
    try:
        result = step(tf)
    except Exception as e:  # whichever it is, it is compared
        result = type(e).__name__
    left = {str(p.relative_to(place)): p.is_dir() or p.read_bytes() for p in place.rglob("*")}
    return result if not isinstance(result, tf.gfile.GFile) else "a file", left


@pytest.mark.parametrize("name", STEPS)
def test_files_are_used_as_tensorflow_does(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = outcome(real, STEPS[name], tmp_path / "theirs", monkeypatch)
    assert outcome(fleet, STEPS[name], tmp_path / "ours", monkeypatch) == theirs
