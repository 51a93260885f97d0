"""Small programs of raw ops, which TensorFlow and TensorFleet run alike.

A program is a function of a `Maker`, which makes nodes of either library, and returns what is fetched.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow.compat.v1 as real
from tensorflow.python.framework import op_def_library, op_def_registry

import tensorfleet as fleet
from tensorfleet.core.dtypes import DType
from tensorfleet.graph.apply import apply_op

Program = Callable[["Maker"], Any]
PROGRAMS: dict[str, Program] = {}
_containers = itertools.count()
OPS: set[str] = set()
"""The op types that some program has."""


@dataclass
class Settings:
    """How a program's results are compared."""

    rtol: float = 0
    atol: float = 0
    shapes: bool = True
    """Whether static shapes are equal."""


SETTINGS: dict[str, Settings] = {}


def program(*ops: str, **settings: Any) -> Callable[[Program], Program]:
    """Adds a program, which is there for these op types."""

    def add(function: Program) -> Program:
        name = function.__name__
        assert name not in PROGRAMS, f"two programs are called {name}"
        PROGRAMS[name] = function
        SETTINGS[name] = Settings(**settings)
        OPS.update(ops)
        return function

    return add


def node(op: str, *inputs: Any, id: str = "", settings: dict[str, Any] | None = None, **attrs: Any) -> None:
    """Adds a program of one node, whose outputs are fetched."""
    count = sum(name.startswith(f"{op}-") for name in PROGRAMS)
    name = f"{op}-{id or count}"
    assert name not in PROGRAMS
    PROGRAMS[name] = lambda make: make(op, *inputs, **attrs)
    SETTINGS[name] = Settings(**settings or {})
    OPS.add(op)


@dataclass
class Maker:
    """Makes nodes of one of the libraries.

    Attributes:
        tf: the library.
        feeds: what was fed so far.
    """

    tf: Any
    feeds: dict[Any, Any] = field(default_factory=dict)

    def __call__(self, op: str, *inputs: Any, **attrs: Any) -> Any:
        """The outputs of a node of this type; inputs that are not tensors are constants."""
        if self.tf is fleet:
            return apply_op(op, *inputs, **{key: self._attr(value) for key, value in attrs.items()})
        definition = op_def_registry.get(op)
        names = [arg.name for arg in definition.input_arg]
        inferred = {
            name
            for arg in definition.input_arg
            for name in (arg.type_attr, arg.number_attr, arg.type_list_attr)
        }
        defaults = {
            a.name: _default(a.default_value)
            for a in definition.attr
            if a.HasField("default_value") and a.name not in inferred
        }
        return op_def_library.apply_op(op, **dict(zip(names, inputs, strict=True)), **defaults | attrs)

    def _attr(self, value: Any) -> Any:
        if isinstance(value, str) and hasattr(fleet, value) and isinstance(getattr(fleet, value), DType):
            return getattr(fleet, value)
        if isinstance(value, list) and value and isinstance(value[0], str):
            return [self._attr(item) for item in value]
        return value

    def fed(self, value: Any, dims: Any = None) -> Any:
        """A placeholder of this shape, which is fed the value."""
        array = np.asarray(value)
        tensor = self.tf.placeholder(self.tf.as_dtype(array.dtype), dims)
        self.feeds[tensor] = array
        return tensor


def _default(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "type":
        return real.as_dtype(value.type)
    if kind == "list":
        return [
            *value.list.i,
            *value.list.f,
            *value.list.s,
            *value.list.b,
            *map(real.as_dtype, value.list.type),
        ]
    if kind == "shape":
        return real.TensorShape(value.shape)
    return getattr(value, kind)


@dataclass
class Outcome:
    """What came of a program: the class of an error, or values and static shapes."""

    error: str = ""
    text: str = ""
    values: list[Any] = field(default_factory=list)
    shapes: list[Any] = field(default_factory=list)


def flat(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [item for part in result for item in flat(part)]
    return [] if result is None else [result]


def run(tf: Any, made: Program, target: str = "") -> Outcome:
    """The outcome of a program in one of the libraries, on the master at `target`."""
    # Programs on one server do not share variables, though these have the same names.
    container = f"program{next(_containers)}" if target else ""
    with tf.Graph().as_default(), tf.container(container):
        tf.set_random_seed(7)
        make = Maker(tf)
        try:
            fetches = flat(made(make))
        except (ValueError, TypeError) as error:
            # What a shape rule finds is the kernel's InvalidArgumentError where shapes are not known.
            return Outcome("InvalidArgumentError", str(error))
        except tf.errors.OpError as error:
            return Outcome(type(error).__name__, str(error))
        outcome = Outcome(
            shapes=[
                None if t.shape.ndims is None else t.shape.as_list() for t in fetches if hasattr(t, "shape")
            ]
        )
        try:
            with tf.Session(target) as session:
                session.run([tf.global_variables_initializer(), tf.tables_initializer()])
                outcome.values = session.run(fetches, make.feeds)
        except tf.errors.OpError as error:
            outcome.error, outcome.text = type(error).__name__, str(error)
        return outcome


def check(name: str, ours: Outcome, theirs: Outcome, shapes: bool = True) -> None:
    """Equal values, dtypes, shapes and static shapes, or errors of the same class."""
    settings = SETTINGS[name]
    assert ours.error == theirs.error, (
        f"ours: {ours.text[:400] or ours.values}, theirs: {theirs.text[:400] or theirs.values}"
    )
    if shapes and settings.shapes and not theirs.error:
        assert ours.shapes == theirs.shapes
    assert len(ours.values) == len(theirs.values)
    for index, (value, expected) in enumerate(zip(ours.values, theirs.values, strict=True)):
        if expected is None or type(expected).__name__ in ("IndexedSlicesValue", "SparseTensorValue"):
            assert (value is None) == (expected is None)
            continue
        value, expected = np.asarray(value), np.asarray(expected)
        assert (value.dtype, value.shape) == (expected.dtype, expected.shape), index
        if (settings.rtol or settings.atol) and expected.dtype.kind in "fcV" and expected.dtype.names is None:
            wide = np.complex128 if expected.dtype.kind == "c" else np.float64
            np.testing.assert_allclose(
                value.astype(wide), expected.astype(wide), rtol=settings.rtol, atol=settings.atol
            )
        else:
            if expected.dtype.type.__module__ == "ml_dtypes":  # NumPy does not know their NaN
                value, expected = value.astype(np.float64), expected.astype(np.float64)
            np.testing.assert_array_equal(value, expected, f"output {index}")
