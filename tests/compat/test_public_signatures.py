"""Public functions have TensorFlow's argument names, order and defaults; the names that we lack are listed.

So are the methods and properties that our classes lack. `pytest tests/compat/test_public_signatures.py
--update-missing` writes both lists anew; docs/generate_missing.py makes a page of them.
"""

from __future__ import annotations

import ast
import enum
import inspect
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real
from tensorflow import types as tensorflow_types

import tensorfleet as fleet
from tensorfleet import core

pytestmark = pytest.mark.slow

MISSING = Path(core.__file__).with_name("missing_names.txt")
MISSING_METHODS = Path(__file__).with_name("missing_methods.txt")

# Whole areas that are out of scope: listed by their first name only.
_NOT_WALKED = frozenset(("compat", "keras", "estimator", "experimental", "raw_ops", "layers.experimental"))

# By these TensorFlow 2 traces functions; programs of 1.x do not know them.
_TRACING = frozenset(dir(tensorflow_types.experimental.TraceType)) | {
    *("experimental_as_proto", "experimental_from_proto", "experimental_type_proto")
}

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
        own = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if own in ("typing", "inspect"):
            continue  # TensorFlow's module imports it for itself
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


def classes() -> dict[str, tuple[type, type]]:
    """The public classes that both have, by name; of one with several names, only the first."""
    found: dict[str, tuple[type, type]] = {}
    for name, theirs in sorted(NAMES.items(), key=lambda item: (item[0].count("."), item[0])):
        ours = lookup(name)
        if not (inspect.isclass(theirs) and inspect.isclass(ours)) or hasattr(theirs, "DESCRIPTOR"):
            continue
        if name.split(".")[0] not in _OURS_DIFFER and theirs not in (known for known, _ in found.values()):
            found[name] = theirs, ours
    return found


def attributes(kind: type) -> set[str]:
    """The attributes of a class's instances: those of the class, declared, or assigned by its methods."""
    found = set(dir(kind))
    for base in kind.__mro__[:-1]:
        found.update(inspect.get_annotations(base))
        try:
            source = ast.parse(textwrap.dedent(inspect.getsource(base)))
        except (OSError, TypeError):
            continue  # of the interpreter itself
        found.update(
            node.attr
            for node in ast.walk(source)
            if isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
        )
    return found


def missing_methods() -> list[str]:
    """The methods and properties that our classes lack; of an inherited one, only that of the base class."""
    both = classes()
    result = []
    for name, (theirs, ours) in both.items():
        own = attributes(ours)
        if name == "Variable":  # which makes an object of one of its subclasses
            own |= set.intersection(*map(attributes, ours.__subclasses__()))
        bases = [base for base, _ in both.values() if base is not theirs and issubclass(theirs, base)]
        for method in dir(theirs):
            if method.startswith("_") or method in own or method in _TRACING:
                continue
            if not any(hasattr(base, method) for base in bases):
                result.append(f"{name}.{method}")
    return sorted(result)


def test_list_of_missing_methods_is_exact(request: pytest.FixtureRequest) -> None:
    found = missing_methods()
    if request.config.getoption("--update-missing"):
        MISSING_METHODS.write_text("".join(name + "\n" for name in found))
    assert MISSING_METHODS.read_text().split() == found


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
