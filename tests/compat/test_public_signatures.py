"""Public functions have TensorFlow's argument names, order and defaults; the names that we lack are listed.

`pytest tests/compat/test_public_signatures.py --update-missing` writes the list anew, which
docs/generate_missing.py makes a page of.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet
from tensorfleet import core

pytestmark = pytest.mark.slow

MISSING = Path(core.__file__).with_name("missing_names.txt")

# Whole areas that are out of scope: listed by their first name only.
_NOT_WALKED = frozenset(("compat", "keras", "estimator", "experimental", "raw_ops", "layers.experimental"))

# TensorFlow loads these from Keras, which need not be there.
_LAZY = frozenset(("keras", "layers", "estimator", "initializers.keras", "nn.rnn_cell"))

# Ours take more, or TensorFlow's say less than they take.
_OURS_DIFFER: dict[str, str] = {
    "logging": "by Python's own logging, whose functions take keywords",
    "flags": "TensorFlow's FLAGS reads the command line of the tests where it is inspected",
    "app": "of which flags are a part",
    "Graph.as_graph_def": "without a choice of protobuf implementations",
    "DType": "made by this library only",
    "Tensor": "made by this library only",
    "convert_to_tensor": "with as_ref, by which ops ask for variables themselves",
}


def public(module: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name in sorted(dir(module)):
        if name.startswith("_"):
            continue
        full_name = prefix + name
        if full_name in _LAZY:
            yield full_name, None
            continue
        value = getattr(module, name)
        yield full_name, value
        if isinstance(value, ModuleType) and full_name not in _NOT_WALKED and full_name.count(".") < 2:
            yield from public(value, full_name + ".")


def lookup(full_name: str) -> Any:
    place: Any = fleet
    for part in full_name.split("."):
        place = getattr(place, part, _ABSENT)
        if place is _ABSENT:
            return _ABSENT
    return place


_ABSENT = object()
NAMES = dict(public(real))


def missing() -> list[str]:
    """The names that we lack; of a namespace that we lack, only its own."""
    result: list[str] = []
    for name in NAMES:
        if lookup(name) is _ABSENT and not any(name.startswith(other + ".") for other in result):
            result.append(name)
    return sorted(result)


def test_list_of_missing_names_is_exact(request: pytest.FixtureRequest) -> None:
    found = missing()
    if request.config.getoption("--update-missing"):
        MISSING.write_text("".join(name + "\n" for name in found))
    assert MISSING.read_text().split() == found


def default(value: Any) -> Any:
    """A default in a form that compares between the libraries."""
    if isinstance(value, enum.Enum):
        return value.name
    if type(value).__name__ == "DType":
        return value.name
    return value if isinstance(value, (int, float, str, bytes, tuple, type(None))) else type(value).__name__


def parameters(function: Callable[..., Any]) -> list[Any] | None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    return [
        (p.name, p.kind.name, default(p.default))
        for p in signature.parameters.values()
        if p.name not in ("self", "cls")
    ]


def functions() -> Iterator[tuple[str, Any, Any]]:
    for name, theirs in NAMES.items():
        ours = lookup(name)
        if ours is _ABSENT or isinstance(theirs, ModuleType) or not callable(theirs):
            continue
        if {name, name.split(".")[0], name.split(".")[-1]} & set(_OURS_DIFFER) or hasattr(
            theirs, "DESCRIPTOR"
        ):
            continue
        yield name, theirs, ours


@pytest.mark.parametrize(("theirs", "ours"), [pytest.param(t, o, id=n) for n, t, o in functions()])
def test_arguments_are_tensorflows(theirs: Any, ours: Any) -> None:
    expected = parameters(theirs)
    if expected is None or any(kind.startswith("VAR_") for _, kind, _ in expected):
        pytest.skip("TensorFlow's own does not say what it takes")
    assert parameters(ours) == expected


def methods() -> Iterator[Any]:
    for name, theirs, ours in functions():
        if not (inspect.isclass(theirs) and inspect.isclass(ours)) or issubclass(
            ours, (Exception, enum.Enum)
        ):
            continue
        for method in sorted(vars(ours)):
            if method.startswith("_") or not inspect.isfunction(vars(ours)[method]):
                continue
            if callable(getattr(theirs, method, None)) and f"{name}.{method}" not in _OURS_DIFFER:
                yield pytest.param(getattr(theirs, method), getattr(ours, method), id=f"{name}.{method}")


@pytest.mark.parametrize(("theirs", "ours"), list(methods()))
def test_arguments_of_methods_are_tensorflows(theirs: Any, ours: Any) -> None:
    expected = parameters(theirs)
    if expected is None or any(kind.startswith("VAR_") for _, kind, _ in expected):
        pytest.skip("TensorFlow's own does not say what it takes")
    assert parameters(ours) == expected
