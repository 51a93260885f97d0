"""The public namespaces and what is in them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import tensorfleet as tf


def namespaces(name: str = "tf", module: ModuleType = tf) -> Iterator[tuple[str, ModuleType]]:
    """(`tf.nn`, module) of every public namespace."""
    yield name, module
    for key, value in public(module):
        # `tf.test.mock` is Python's.
        if isinstance(value, ModuleType) and value is not tf and value.__name__.startswith(tf.__name__):
            yield from namespaces(f"{name}.{key}", value)


def public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The names of a namespace that `dir` shows, and what they stand for."""
    return ((key, getattr(module, key)) for key in dir(module) if not key.startswith("_"))


def functions_and_classes() -> dict[str, Any]:
    """Public functions and classes, without messages, by one of their names."""
    found: dict[int, tuple[str, Any]] = {}
    for name, module in namespaces():
        for key, value in public(module):
            if (inspect.isclass(value) or inspect.isroutine(value)) and not hasattr(value, "DESCRIPTOR"):
                found.setdefault(id(value), (f"{name}.{key}", value))
    return dict(found.values())
