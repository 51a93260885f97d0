"""`tensorflow.python.framework.combinations`: tests that run with each combination of arguments."""

from __future__ import annotations

import inspect
import itertools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import reduce
from types import FunctionType
from typing import Any

from absl.testing import parameterized

import tensorfleet as tf


class TestCombination:
    """How a test runs with some of its arguments; to be derived from."""

    def should_execute_combination(self, kwargs: dict[str, Any]) -> tuple[bool, str | None]:
        """Whether a test runs with these arguments, and why not."""
        return True, None

    def parameter_modifiers(self) -> list[ParameterModifier]:
        """What becomes of arguments before the test gets them."""
        return []

    def context_managers(self, kwargs: dict[str, Any]) -> list[Any]:
        """In which contexts the test runs."""
        return []


class ParameterModifier:
    """What becomes of one argument, or of all, before the test gets it; to be derived from."""

    DO_NOT_PASS_TO_THE_TEST = object()

    def __init__(self, parameter_name: str | None = None) -> None:
        self._parameter_name = parameter_name

    def modified_arguments(
        self, kwargs: dict[str, Any], requested_parameters: Sequence[str]
    ) -> dict[str, Any]:
        """New values; DO_NOT_PASS_TO_THE_TEST for arguments that are left out."""
        return {}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._parameter_name == other._parameter_name

    def __hash__(self) -> int:
        return hash((type(self), self._parameter_name))


class OptionalParameter(ParameterModifier):
    """Leaves an argument out where the test does not take it."""

    def modified_arguments(
        self, kwargs: dict[str, Any], requested_parameters: Sequence[str]
    ) -> dict[str, Any]:
        """The name with DO_NOT_PASS_TO_THE_TEST if the test has no such parameter."""
        if self._parameter_name is None or self._parameter_name in requested_parameters:
            return {}
        return {self._parameter_name: self.DO_NOT_PASS_TO_THE_TEST}


class EagerGraphCombination(TestCombination):
    """`mode="graph"` runs a test in a graph of its own; `mode="eager"` skips it: there is no eager mode."""

    def should_execute_combination(self, kwargs: dict[str, Any]) -> tuple[bool, str | None]:
        """False for `mode="eager"`."""
        mode = kwargs.get("mode", "graph")
        if mode not in ("eager", "graph"):
            raise ValueError(f"'mode' has to be either 'eager' or 'graph' and not {mode}")
        return mode == "graph", "There is no eager mode."

    def context_managers(self, kwargs: dict[str, Any]) -> list[Any]:
        """A new default graph."""
        return [tf.Graph().as_default()]

    def parameter_modifiers(self) -> list[ParameterModifier]:
        """`mode` is optional."""
        return [OptionalParameter("mode")]


class TFVersionCombination(TestCombination):
    """`tf_api_version=2` skips a test."""

    def should_execute_combination(self, kwargs: dict[str, Any]) -> tuple[bool, str | None]:
        """False for version 2."""
        return kwargs.get("tf_api_version") != 2, "Skipping a TF2 test when TF2 is not enabled."

    def parameter_modifiers(self) -> list[ParameterModifier]:
        """`tf_api_version` is optional."""
        return [OptionalParameter("tf_api_version")]


class NamedObject:
    """An object with a name for tests' names; calls and attributes are the object's."""

    def __init__(self, name: str, obj: Any) -> None:
        self._name, self._obj = name, obj

    def __getattr__(self, name: str) -> Any:
        return getattr(self._obj, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._obj(*args, **kwargs)

    def __repr__(self) -> str:
        return self._name


def combine(**kwargs: Any) -> list[OrderedDict[str, Any]]:
    """All combinations of one value for each name, sorted by names.

    Args:
        kwargs: a list of values, or the only one.

    Example:
        >>> [dict(c) for c in combine(b=[1, 2], a="x")]
        [{'a': 'x', 'b': 1}, {'a': 'x', 'b': 2}]
    """
    names = sorted(kwargs)
    lists = [kwargs[name] if isinstance(kwargs[name], list) else [kwargs[name]] for name in names]
    return [OrderedDict(zip(names, values, strict=True)) for values in itertools.product(*lists)]


def times(*combined: list[Any]) -> list[Any]:
    """The product of several results of `combine`.

    Raises:
        ValueError: two of them have a name in common.
    """

    def joined(a: Any, b: Any) -> OrderedDict[str, Any]:
        if a.keys() & b.keys():
            raise ValueError(f"Keys need to not overlap: {a.keys()} vs {b.keys()}")
        return OrderedDict([*a.items(), *b.items()])

    return reduce(lambda left, right: [joined(a, b) for a in left for b in right], combined)


_DEFAULTS = (EagerGraphCombination(), TFVersionCombination())


def generate(
    combinations: Sequence[Any], test_combinations: Sequence[TestCombination] = _DEFAULTS
) -> Callable[[Any], Any]:
    """A decorator of a test method of a `parameterized.TestCase`, or of all of a class.

    Args:
        combinations: as `combine` and `times` make them; the arguments by name.
        test_combinations: how tests run with them.
    """
    named = [{**c, "testcase_name": _name_of(c)} for c in combinations]

    def decorate(target: Any) -> Any:
        if not isinstance(target, type):
            decorator: Any = parameterized.named_parameters(*named)  # type: ignore[no-untyped-call]
            return decorator(_with_combinations(target, test_combinations))
        methods = [
            (name, value)
            for name, value in vars(target).items()
            if name.startswith("test") and isinstance(value, FunctionType)
        ]
        for name, value in methods:
            delattr(target, name)
            for combination in named:
                arguments = dict(combination)
                suffix = arguments.pop("testcase_name")
                method = _called_with(_with_combinations(value, test_combinations), arguments)
                setattr(target, name + suffix, method)
        return target

    return decorate


def _called_with(method: Callable[..., None], arguments: dict[str, Any]) -> Callable[[Any], None]:
    return lambda self: method(self, **arguments)


def _name_of(combination: Any) -> str:
    def plain(value: Any) -> str:
        return "".join(filter(str.isalnum, str(value)))

    return "_test" + "".join(f"_{plain(key)}_{plain(value)}" for key, value in combination.items())


def _with_combinations(
    method: Callable[..., Any], test_combinations: Sequence[TestCombination]
) -> Callable[..., None]:
    taken = inspect.getfullargspec(method).args

    def test(self: Any, **kwargs: Any) -> None:
        answers = [combination.should_execute_combination(dict(kwargs)) for combination in test_combinations]
        if reasons := [f" - {why}" for runs, why in answers if not runs]:
            self.skipTest("\n".join(reasons))
        passed = dict(kwargs)
        for modifier in {m for combination in test_combinations for m in combination.parameter_modifiers()}:
            passed.update(modifier.modified_arguments(dict(kwargs), taken))
        passed = {
            name: value
            for name, value in passed.items()
            if value is not ParameterModifier.DO_NOT_PASS_TO_THE_TEST
        }
        if lacking := set(taken) - passed.keys() - {"self"}:
            raise ValueError(f"The test requires parameters whose arguments were not passed: {lacking} .")
        if unknown := passed.keys() - set(taken):
            raise ValueError(f"The test does not take parameters that were passed : {unknown} .")
        with ExitStack() as contexts:
            for combination in test_combinations:
                for manager in combination.context_managers(dict(kwargs)):
                    contexts.enter_context(manager)
            method(self, **passed)

    test.__name__ = method.__name__
    test.__doc__ = method.__doc__
    return test
