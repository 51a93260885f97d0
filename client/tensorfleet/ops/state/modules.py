"""Objects that own variables: `tf.Module`."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from tensorfleet.graph.framework import name_scope
from tensorfleet.ops.state.variables import Variable

_F = TypeVar("_F", bound=Callable[..., Any])
_NAME = re.compile(r"^[A-Za-z_]\w*$")


class Module:
    """The base class of objects that own variables, and other modules, as their attributes (`tf.Module`).

    Args:
        name: a name of Python, by default the class's in snake case.

    Raises:
        ValueError: the name is no name of Python.
    """

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = _snake(type(self).__name__)
        elif not _NAME.match(name):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python identifiers (e.g. a "
                "valid class name)."
            )
        self._name = name
        with name_scope(name) as scope:
            self._scope_name = scope

    # Attributes that are not looked into; libraries' classes add theirs.
    _TF_MODULE_IGNORED_PROPERTIES: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The name, as it was given."""
        return self._name

    @property
    def name_scope(self) -> Any:
        """The name scope of the module's operations and variables, to be entered."""
        return name_scope(self._scope_name)

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables of the module and of its modules, by the names of attributes."""
        return tuple(dict.fromkeys(self._flatten(predicate=lambda value: isinstance(value, Variable))))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The trainable ones of `variables`."""
        return tuple(v for v in self.variables if v.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Any, ...]:
        """The other ones of `variables`."""
        return tuple(v for v in self.variables if not v.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """The modules in this one, and in those."""
        return tuple(dict.fromkeys(self._flatten(predicate=lambda value: isinstance(value, Module))))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
    ) -> Iterator[Any]:
        """The values of the module's attributes, then those of its modules; libraries call it.

        Args:
            recursive: whether modules are looked into.
            predicate: which values are wanted, by default all.
            attribute_traversal_key: orders the names of attributes.
            with_path: whether pairs of path, a tuple of names, keys and indices, and value are given.
        """
        wanted = predicate or (lambda value: True)
        return _walk(self, (), {id(self)}, recursive, wanted, attribute_traversal_key, with_path)

    @classmethod
    def with_name_scope(cls, method: _F) -> _F:
        """A method whose operations and variables are made in the module's name scope."""

        @functools.wraps(method)
        def scoped(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return scoped  # type: ignore[return-value]


def _walk(
    module: Module,
    path: tuple[Any, ...],
    seen: set[int],
    recursive: bool,
    wanted: Callable[[Any], bool],
    order: Callable[[str], Any] | None,
    with_path: bool,
) -> Iterator[Any]:
    inner: list[tuple[tuple[Any, ...], Module]] = []
    for name in sorted(vars(module), key=order):
        if name in module._TF_MODULE_IGNORED_PROPERTIES:
            continue
        for way, leaf in _leaves(vars(module)[name], (*path, name)):
            if wanted(leaf):
                yield (way, leaf) if with_path else leaf
            if recursive and isinstance(leaf, Module) and id(leaf) not in seen:
                seen.add(id(leaf))
                inner.append((way, leaf))
    for way, found in inner:
        yield from _walk(found, way, seen, recursive, wanted, order, with_path)


def _leaves(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from _leaves(value[key], (*path, key))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, index))
    else:
        yield path, value


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
