"""Functions that users hand over: their parameters, by whose names they are called."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from tensorfleet.core.logging import warning

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_MODEL_FN_ARGUMENTS = frozenset(("features", "labels", "mode", "params", "self", "config"))


def parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The parameters of a function that can be given by name; those that a partial has bound are left out."""
    if isinstance(function, functools.partial):
        names = parameter_names(function.func)[len(function.args) :]
        return tuple(name for name in names if name not in function.keywords)
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # a function of an extension module may tell nothing
        return ()
    return tuple(parameter.name for parameter in parameters if parameter.kind in _NAMED)


def takes_any_names(function: Callable[..., Any]) -> bool:
    """Whether a function has `**kwargs`."""
    if isinstance(function, functools.partial):
        return takes_any_names(function.func)
    parameters = inspect.signature(function).parameters.values()
    return any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)


def those_taken(function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that have the name of a parameter."""
    names = parameter_names(function)
    return {name: value for name, value in values.items() if name in names}


def check_model_fn(model_fn: Callable[..., Any], params: Any) -> tuple[str, ...]:
    """The parameters of a `model_fn`.

    Raises:
        ValueError: it lacks one that is needed, or has one that no estimator gives.
    """
    names = parameter_names(model_fn)
    if "features" not in names:
        raise ValueError(f"model_fn ({model_fn}) must include features argument.")
    if params is not None and "params" not in names:
        raise ValueError(
            f"model_fn ({model_fn}) does not include params argument, but params ({params}) is passed to "
            "Estimator."
        )
    if params is None and "params" in names:
        warning(
            "Estimator's model_fn (%s) includes params argument, but params are not passed to Estimator.",
            model_fn,
        )
    unknown = sorted(set(names) - _MODEL_FN_ARGUMENTS)
    if unknown:
        raise ValueError(
            f"model_fn ({model_fn}) has following not expected args: {unknown}. It may have "
            "features, labels, mode, params and config."
        )
    return names
