"""The floors of both packages: a room imports from the rooms below it, never from one above."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# From the ground up. "" is what lies in the package's own folder. A room's folders belong to it, unless
# they are rooms of their own.
FLOORS = {
    "tensorfleet": (
        *("proto", "core", "security", "checkpoint", "records", "wire", "graph", "session"),
        *("ops", "ops/functions", "ops/array", "ops/math", "ops/linalg", "ops/io", "ops/data_flow"),
        *("ops/control_flow", "ops/debugging", "ops/random", "ops/text", "ops/ragged", "ops/state"),
        *("ops/functional", "ops/training", "ops/nn", "ops/image", "ops/collective"),
        *(
            "autodiff",
            "functions",
            "kube",
            "cluster",
            "metrics",
            "losses",
            "linear_operators",
            "distributions",
            "signal",
            "layers",
            "rnn",
            "export",
        ),
        *(
            "summary",
            "train",
            "saved_model",
            "lookup",
            "data",
            "feature_column",
            "estimator",
            "keras",
            "distribute",
            "contrib",
            "api",
            "",
            "examples",
            "run",
            "cli",
        ),
    ),
    "tensorfleet_service": (
        *("security", "graph", "threads", "devices", "tracing", "collectives", "state", "records", "data"),
        *("kernels", "kernels/functions", "kernels/array", "kernels/math", "kernels/linalg", "kernels/io"),
        *("kernels/data_flow", "kernels/control_flow", "kernels/random", "kernels/text", "kernels/state"),
        *("kernels/training", "kernels/nn", "kernels/image", "kernels/collective"),
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
PUBLIC = (
    *("tensorfleet.compat", "tensorfleet.config", "tensorfleet.io", "tensorfleet.nn"),
    "tensorfleet.ops.collective_ops",
)
# Circles of types: at least one arrow of each is an import under TYPE_CHECKING, of names for annotations.
TYPE_CIRCLES = {
    "an Operation has Tensors and a Graph, a Tensor an Operation; a Graph has all of them, and scopes": (
        "tensorfleet.graph.collecting_graph",
        *("tensorfleet.graph.elements", "tensorfleet.graph.graph", "tensorfleet.graph.graph_part"),
        "tensorfleet.graph.operation",
        *("tensorfleet.graph.scoped_graph", "tensorfleet.graph.scopes", "tensorfleet.graph.tensor"),
    ),
    "a context becomes a message, and is made of one": (
        "tensorfleet.ops.control_flow.context_protos",
        "tensorfleet.ops.control_flow.control_flow_contexts",
        "tensorfleet.ops.control_flow.while_context",
    ),
    "a loop's gradient is made of parts that belong to it": (
        "tensorfleet.ops.control_flow.loop_gradient",
        "tensorfleet.ops.control_flow.loop_parts",
    ),
    "a distribution gives its divergence from another": (
        *("tensorfleet.distributions.distribution", "tensorfleet.distributions.kullback_leibler"),
    ),
    "datasets give datasets, and iterators": (
        *("tensorfleet.data.batching", "tensorfleet.data.dataset", "tensorfleet.data.functional"),
        "tensorfleet.data.iterator",
        *("tensorfleet.data.grouping", "tensorfleet.data.sampling", "tensorfleet.data.windowing"),
        "tensorfleet.data.ragged_batches",
    ),
    "an estimator's parts know their estimator": (
        *("tensorfleet.estimator.estimator", "tensorfleet.estimator.evaluating"),
        *("tensorfleet.estimator.exporting", "tensorfleet.estimator.predicting"),
        "tensorfleet.estimator.training_run",
    ),
    "a supervisor's threads know their supervisor": (
        *("tensorfleet.train.supervisor", "tensorfleet.train.supervisor_threads"),
    ),
    "tf.compat.v1 is the package again": ("tensorfleet", "tensorfleet.compat", "tensorfleet.compat.v1"),
    "a plan's runs have frames, and both know their plan": (
        "tensorfleet_service.executor.dataflow",
        "tensorfleet_service.executor.execution",
        "tensorfleet_service.executor.frames",
    ),
    "a run belongs to a step": (
        *("tensorfleet_service.executor.dataflow_run", "tensorfleet_service.executor.step"),
    ),
    "a peer is one of a task's peers": (
        *("tensorfleet_service.net.peer", "tensorfleet_service.net.peer_grpc"),
        "tensorfleet_service.net.peers",
    ),
}
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
    if module == f"{package}.__main__":  # the package as a command
        return package, len(floors) - 1
    for end in range(len(names), -1, -1):
        if (room := "/".join(names[:end])) in floors:
            return package, floors.index(room)
    raise AssertionError(f"{module} lies in no room")


@functools.cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(FILES[module].read_text())


def nodes(tree: ast.AST, types: bool) -> Iterator[ast.AST]:
    """All nodes of a syntax tree, or those that may run."""
    left = [tree]
    while left:
        node = left.pop()
        yield node
        if not types and isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            left += node.orelse
        elif not isinstance(node, ast.Name):  # the most frequent, with nothing in it
            left += ast.iter_child_nodes(node)


def circles(types: bool) -> set[frozenset[str]]:
    """The largest sets of modules in which each imports each other, by way of others if need be."""
    arrows = {module: {other for _, other in imported(module, types)} - {module} for module in FILES}
    reached = {module: reachable(module, arrows) for module in FILES}
    return {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in FILES
        if module in reached[module]
    }


def reachable(module: str, arrows: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    left = [module]
    while left:
        for other in arrows[left.pop()] - found:
            found.add(other)
            left.append(other)
    return found


@functools.cache
def imported(module: str, types: bool = True) -> list[tuple[int, str]]:
    """(line, module) of what a module imports: anywhere in it, and where its text is all of a string.

    Args:
        types: whether imports under TYPE_CHECKING count.
    """
    found: list[tuple[int, str]] = []
    for node in nodes(tree_of(module), types):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.module, f"{module}:{node.lineno}: imports are absolute"
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in FILES else node.module for name in full]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
            names = [node.value]
        found += ((node.lineno, name) for name in names if name in FILES)
    return found


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


def test_no_modules_import_each_other() -> None:
    """Inside of a room neither, and not inside of functions."""
    assert circles(types=False) == set()


def test_only_some_modules_have_each_other_in_annotations() -> None:
    assert circles(types=True) == {frozenset(modules) for modules in TYPE_CIRCLES.values()}
