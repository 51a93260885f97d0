"""`tf.autograph`: Python functions that build graphs, which are called as they are.

Nothing is converted here. A function that needs no conversion is the same either way; where one has Python's
`if`, `while`, `for` or `assert` of a tensor, the tensor refuses to be a `bool`, or an iterator, at that line,
and names the op that does it.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, overload

_F = TypeVar("_F", bound=Callable[..., Any])


class Feature(enum.Enum):
    """What a conversion may do (`tf.autograph.experimental.Feature`); there is none."""

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"


@overload
def do_not_convert(func: _F) -> _F: ...
@overload
def do_not_convert(func: None = None) -> Callable[[_F], _F]: ...
def do_not_convert(func: Any = None) -> Any:
    """A function as it is; without one, a decorator that returns functions as they are."""
    return do_not_convert if func is None else func


def to_graph(
    entity: Any,
    recursive: bool = True,
    arg_values: Any = None,
    arg_types: Any = None,
    experimental_optional_features: Any = None,
) -> Any:
    """The function that builds the graph of another: the same one.

    Args:
        entity: a function or method. Control flow on values of tensors is written with tf.cond and
            tf.while_loop: Python's raises a TypeError that says so when the function is called.
        recursive, arg_values, arg_types, experimental_optional_features: how TensorFlow converts.

    Raises:
        NotImplementedError: a class, or an object with `__call__`.
    """
    if not (inspect.isfunction(entity) or inspect.ismethod(entity)):
        raise NotImplementedError(
            f"tf.autograph.to_graph takes functions and methods here, not {entity!r}: give the method that "
            "builds the graph."
        )
    return entity
