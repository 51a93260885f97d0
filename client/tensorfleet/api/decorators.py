"""Wrappers of functions that can be found, taken off and put around others again: `tf.flags.tf_decorator`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

_ATTRIBUTE = "_tf_decorator"


class TFDecorator:
    """A decorator with a state; a call calls what it decorates. Subclasses say what else it does.

    Attributes:
        decorated_target: what is decorated; it can be replaced.
        decorator_name: the name of the decorator.
        decorator_doc: what the decorator adds to the documentation.
        decorator_argspec: a FullArgSpec in place of the target's signature, or None.
    """

    def __init__(
        self, decorator_name: str, target: Any, decorator_doc: str = "", decorator_argspec: Any = None
    ) -> None:
        self.decorated_target = target
        self.decorator_name = decorator_name
        self.decorator_doc = decorator_doc
        self.decorator_argspec = decorator_argspec
        for name in ("__name__", "__qualname__"):
            if hasattr(target, name):
                setattr(self, name, getattr(target, name))
        self.__doc__ = decorator_doc or getattr(target, "__doc__", None) or ""
        signature = _signature(target, decorator_argspec)
        if signature is not None:
            self.__signature__ = signature

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self.decorated_target.__get__(instance, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.decorated_target(*args, **kwargs)


def fullargspec_to_signature(fullargspec: inspect.FullArgSpec) -> inspect.Signature:
    """The `inspect.Signature` that says the same as a FullArgSpec."""
    kinds = inspect.Parameter
    defaults = dict(fullargspec.kwonlydefaults or {})
    given = fullargspec.defaults or ()
    defaults.update(zip(fullargspec.args[len(fullargspec.args) - len(given) :], given, strict=True))

    def parameter(name: str, kind: Any) -> inspect.Parameter:
        return inspect.Parameter(name, kind, default=defaults.get(name, inspect.Parameter.empty))

    found = [parameter(name, kinds.POSITIONAL_OR_KEYWORD) for name in fullargspec.args]
    if fullargspec.varargs is not None:
        found.append(inspect.Parameter(fullargspec.varargs, kinds.VAR_POSITIONAL))
    found += [parameter(name, kinds.KEYWORD_ONLY) for name in fullargspec.kwonlyargs]
    if fullargspec.varkw is not None:
        found.append(inspect.Parameter(fullargspec.varkw, kinds.VAR_KEYWORD))
    return inspect.Signature(found)


def _signature(target: Any, argspec: Any) -> inspect.Signature | None:
    """The signature of a FullArgSpec, else of the target; None where Python knows none."""
    if argspec:
        return fullargspec_to_signature(argspec)
    if not callable(target):
        return None
    try:
        return inspect.signature(target)
    except (TypeError, ValueError):
        return None  # some functions of C


def make_decorator(
    target: Any,
    decorator_func: Callable[..., Any],
    decorator_name: str | None = None,
    decorator_doc: str = "",
    decorator_argspec: Any = None,
) -> Callable[..., Any]:
    """Makes a wrapper of a function known as such, with the name, signature and attributes of the function.

    Args:
        target: the function that is wrapped.
        decorator_func: the wrapper.
        decorator_name: by default the name of the function that calls this one.
        decorator_doc: a text in place of the target's documentation.
        decorator_argspec: a FullArgSpec in place of the target's signature.

    Returns:
        `decorator_func`.
    """
    wrapper: Any = decorator_func
    name = sys._getframe(1).f_code.co_name if decorator_name is None else decorator_name
    decorator = TFDecorator(name, target, decorator_doc, decorator_argspec)
    setattr(wrapper, _ATTRIBUTE, decorator)
    for attribute in ("__name__", "__qualname__", "__module__"):
        if hasattr(target, attribute):
            setattr(wrapper, attribute, getattr(target, attribute))
    for attribute, value in getattr(target, "__dict__", {}).items():
        wrapper.__dict__.setdefault(attribute, value)
    wrapper.__doc__ = decorator.__doc__
    wrapper.__wrapped__ = target
    wrapper.__original_wrapped__ = target
    signature = _signature(target, decorator_argspec)
    if signature is not None:
        wrapper.__signature__ = signature
    return decorator_func


def _decorator_of(value: Any) -> Any:
    """The decorator that a value is, or has; None for another function."""
    return value if isinstance(value, TFDecorator) else getattr(value, _ATTRIBUTE, None)


def unwrap(maybe_tf_decorator: Any) -> tuple[list[TFDecorator], Any]:
    """The decorators around a function, from the outermost to the innermost, and the function."""
    found: list[TFDecorator] = []
    current = maybe_tf_decorator
    while (decorator := _decorator_of(current)) is not None:
        found.append(decorator)
        current = decorator.decorated_target
    return found, current


def rewrap(decorator_func: Any, previous_target: Any, new_target: Any) -> Any:
    """Puts another function into the decorators, in place of the one that `unwrap` has found.

    Returns:
        The outermost decorator; `new_target` if there are no decorators.
    """
    current, innermost = decorator_func, None
    while (decorator := _decorator_of(current)) is not None:
        innermost = current, decorator
        if decorator.decorated_target is previous_target:
            break
        current = decorator.decorated_target
    if innermost is None:
        return new_target
    wrapper, decorator = innermost
    decorator.decorated_target = new_target
    getattr(wrapper, "__func__", wrapper).__wrapped__ = new_target
    return decorator_func
