"""The floors of both packages: a room imports from the rooms below it, never from one above."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# From the ground up. "" is what lies in the package's own folder. A room's folders belong to it, unless
# they are rooms of their own.
FLOORS = {
    "tensorfleet": (
        *("proto", "core", "security", "checkpoint", "wire", "graph", "session"),
        *("ops", "ops/functions", "ops/array", "ops/math", "ops/linalg", "ops/io", "ops/data_flow"),
        *("ops/control_flow", "ops/debugging", "ops/random", "ops/text", "ops/state", "ops/functional"),
        *("ops/training", "ops/nn", "ops/collective"),
        *("autodiff", "kube", "cluster", "metrics", "losses", "layers", "rnn", "data", "export"),
        *("summary", "train", "contrib", "distribute", "api", "", "examples", "cli"),
    ),
    "tensorfleet_service": (
        *("security", "graph", "threads", "devices", "tracing", "collectives", "state", "data"),
        *("kernels", "kernels/functions", "kernels/array", "kernels/math", "kernels/linalg", "kernels/io"),
        *("kernels/data_flow", "kernels/control_flow", "kernels/random", "kernels/text", "kernels/state"),
        *("kernels/training", "kernels/nn", "kernels/collective"),
        *(
            "executor",
            "net",
            "worker/collectives",
            "worker",
            "master",
            "observe",
            "rpc",
            "settings",
            "",
            "cli",
        ),
    ),
}
# Modules that hold public names only lie on top of the rooms, as those in the package's own folder.
PUBLIC = ("tensorfleet.compat", "tensorfleet.io", "tensorfleet.nn", "tensorfleet.ops.collective_ops")
FOLDERS = {
    "tensorfleet": ROOT / "client" / "tensorfleet",
    "tensorfleet_service": ROOT / "service" / "tensorfleet_service",
}


def files() -> dict[str, Path]:
    """The files of both packages by the names of their modules."""
    found = {}
    for package, folder in FOLDERS.items():
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join((package, *parts)).removesuffix(".__init__")] = path
    return found


FILES = files()


def floor(module: str) -> tuple[str, int]:
    """The package of a module, and the floor of its room."""
    package, *names = module.split(".")
    if f"{module}.".startswith(tuple(f"{public}." for public in PUBLIC)):
        return package, FLOORS[package].index("")
    if FILES[module].name != "__init__.py":
        names = names[:-1]
    floors = FLOORS[package]
    for end in range(len(names), -1, -1):
        if (room := "/".join(names[:end])) in floors:
            return package, floors.index(room)
    raise AssertionError(f"{module} lies in no room")


def imported(module: str) -> Iterator[tuple[int, str]]:
    """(line, module) of what a module imports: anywhere in it, and where its text is all of a string."""
    for node in ast.walk(ast.parse(FILES[module].read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.module, f"{module}:{node.lineno}: imports are absolute"
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in FILES else node.module for name in full]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
            names = [node.value]
        yield from ((node.lineno, name) for name in names if name in FILES)


@pytest.mark.parametrize("package", FLOORS)
def test_no_import_runs_up(package: str) -> None:
    upward = []
    for module in (m for m in FILES if m.partition(".")[0] == package):
        own, here = floor(module)
        for line, other in imported(module):
            theirs, there = floor(other)
            if (own, theirs) == ("tensorfleet", "tensorfleet_service") or (own == theirs and there > here):
                upward.append(f"{FILES[module].relative_to(ROOT)}:{line}: {other}")
    assert not upward, "these imports run up:\n" + "\n".join(upward)


@pytest.mark.parametrize("package", FLOORS)
def test_every_room_is_there(package: str) -> None:
    assert [room for room in FLOORS[package] if not (FOLDERS[package] / room).is_dir()] == []
