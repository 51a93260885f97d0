"""`tensorflow.python.util.deprecation`: decorators that warn once of what will be removed."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from tensorfleet.api.decorators import make_decorator
from tensorfleet.core import logging

Decorator = Callable[[Any], Any]

_silent: list[bool] = []
_told: set[Any] = set()


def _warn(key: Any, warn_once: bool, text: str) -> None:
    if _silent or (warn_once and key in _told):
        return
    _told.add(key)
    logging.warning("%s", text)


def _when(date: str | None) -> str:
    return "in a future version" if date is None else f"after {date}"


def _wrapped(target: Any, before: Callable[[tuple[Any, ...], dict[str, Any]], None], name: str) -> Any:
    """The function, or the class, whose calls run `before` on their arguments."""
    if inspect.isclass(target):
        made = target.__init__

        @functools.wraps(made)
        def construct(self: Any, *args: Any, **kwargs: Any) -> None:
            before((self, *args), kwargs)
            made(self, *args, **kwargs)

        setattr(target, "__init__", construct)  # noqa: B010 - of a class that is only known here
        return target

    @functools.wraps(target)
    def call(*args: Any, **kwargs: Any) -> Any:
        before(args, kwargs)
        return target(*args, **kwargs)

    return make_decorator(target, call, name)


def _label(target: Any) -> str:
    return f"{getattr(target, '__qualname__', target)} (from {getattr(target, '__module__', '?')})"


def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Decorator:
    """A decorator of functions and classes that are going to be removed.

    Args:
        date: when, as YYYY-MM-DD; None without a date.
        instructions: what to do instead.
        warn_once: whether only the first call warns.
    """
    if not instructions:
        raise ValueError("Require instructions for how to update.")

    def decorate(target: Any) -> Any:
        text = (
            f"{_label(target)} is deprecated and will be removed {_when(date)}.\nInstructions for updating:\n"
        )
        return _wrapped(target, lambda *_: _warn(target, warn_once, text + instructions), "deprecated")

    return decorate


def deprecated_args(
    date: str | None, instructions: str, *deprecated_arg_names_or_tuples: Any, **kwargs: Any
) -> Decorator:
    """A decorator of functions some of whose arguments are going to be removed.

    Args:
        date: when, as YYYY-MM-DD; None without a date.
        instructions: what to do instead.
        *deprecated_arg_names_or_tuples: their names; `(name, value)` does not warn of that value.
        **kwargs: `warn_once`, True by default.

    Raises:
        ValueError: the function has no such argument.
    """
    if not deprecated_arg_names_or_tuples:
        raise ValueError("Specify which argument is deprecated.")
    allowed = [
        (entry, inspect.Parameter.empty)
        if isinstance(entry, str)
        else (entry[0], entry[1] if entry[1:] else None)
        for entry in deprecated_arg_names_or_tuples
    ]
    once = kwargs.get("warn_once", True)

    def decorate(target: Any) -> Any:
        names = inspect.signature(target).parameters
        takes_any = any(p.kind is p.VAR_KEYWORD for p in names.values())
        if missing := [name for name, _ in allowed if name not in names and not takes_any]:
            raise ValueError(
                f"The following deprecated arguments are not present in the function signature: {missing}. "
                f"Found arguments: {list(names)}."
            )
        positions = {name: at for at, name in enumerate(names)}

        def before(args: tuple[Any, ...], given: dict[str, Any]) -> None:
            for name, value in allowed:
                at = positions.get(name, len(args))
                if name in given:
                    used = given[name]
                elif at < len(args):
                    used = args[at]
                else:
                    continue
                if used is None or used is value:
                    continue
                text = (
                    f"calling {_label(target)} with {name} is deprecated and will be removed {_when(date)}."
                )
                _warn((target, name), once, f"{text}\nInstructions for updating:\n{instructions}")

        return _wrapped(target, before, "deprecated_args")

    return decorate


def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: Any
) -> Decorator:
    """A decorator of functions some of whose arguments' values are going to be removed, by argument."""
    if not deprecated_kwargs:
        raise ValueError("Specify which argument values are deprecated.")

    def decorate(target: Any) -> Any:
        signature = inspect.signature(target)

        def before(args: tuple[Any, ...], given: dict[str, Any]) -> None:
            try:
                values = signature.bind_partial(*args, **given).arguments
            except TypeError:
                return  # the call itself says what is wrong
            for name, value in deprecated_kwargs.items():
                if name in values and values[name] == value:
                    text = f"calling {_label(target)} with {name}={value} is deprecated and will be removed "
                    _warn((target, name), warn_once, f"{text}{_when(date)}.\n{instructions}")

        return _wrapped(target, before, "deprecated")

    return decorate


def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """The value that was given by an argument's new or old name.

    Raises:
        ValueError: both were given.
    """
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    return old_value


def deprecated_alias(deprecated_name: str, name: str, func_or_class: Any, warn_once: bool = True) -> Any:
    """The function or class under an old name, which warns when it is called."""
    text = f"The name {deprecated_name} is deprecated. Please use {name} instead.\n"

    def before(*_: Any) -> None:
        _warn((func_or_class, deprecated_name), warn_once, text)

    if inspect.isclass(func_or_class):
        old = type(func_or_class.__name__, (func_or_class,), {"__doc__": func_or_class.__doc__})
        return _wrapped(old, before, "deprecated_alias")
    return _wrapped(func_or_class, before, "deprecated_alias")


def deprecated_endpoints(*args: str) -> Decorator:
    """A decorator that records old public names of a function."""

    def decorate(target: Any) -> Any:
        target._tf_deprecated_api_names = args
        return target

    return decorate


def rewrite_argument_docstring(old_doc: str, old_argument: str, new_argument: str) -> str:
    """A docstring in which an argument has its new name."""
    return old_doc.replace(f"`{old_argument}`", f"`{new_argument}`").replace(
        f"{old_argument}:", f"{new_argument}:"
    )


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """A scope without these warnings."""
    _silent.append(True)
    try:
        yield
    finally:
        _silent.pop()
