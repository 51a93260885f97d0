"""`tf.make_template`: functions that reuse the variables of their first call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tensorfleet.graph.framework import get_collection
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.state.variable_scope import VariableScope, variable_scope


class Template:
    """A function in a variable scope of its own, in which all calls after the first reuse variables."""

    def __init__(
        self, name: str, func: Callable[..., Any], unique_name: str | None, custom_getter: Any
    ) -> None:
        self._name = name
        self._func = func
        self._unique_name = unique_name
        self._custom_getter = custom_getter
        self._scope: VariableScope | None = None
        self._called = False

    def open_scope(self) -> None:
        """Determines the name of the scope, if no call has done so."""
        if self._scope is None:
            with self._first_scope() as scope:
                self._scope = scope

    def _first_scope(self) -> Any:
        if self._unique_name is not None:
            return variable_scope(self._unique_name, custom_getter=self._custom_getter)
        return variable_scope(None, default_name=self._name, custom_getter=self._custom_getter)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        entered = (
            self._first_scope() if self._scope is None else variable_scope(self._scope, reuse=self._called)
        )
        count = len(get_collection(GraphKeys.TRAINABLE_VARIABLES))
        with entered as scope:
            self._scope = self._scope or scope
            result = self._func(*args, **kwargs)
        made = get_collection(GraphKeys.TRAINABLE_VARIABLES)[count:]
        if self._called and made:
            raise ValueError(
                "Trainable variable created when calling a template after the first time, perhaps you used "
                f"tf.Variable when you meant tf.get_variable: {made}"
            )
        self._called = True
        return result

    @property
    def name(self) -> str:
        """The template's name, as given."""
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        """The function."""
        return self._func

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope of its variables; None before the first call."""
        return self._scope

    @property
    def var_scope(self) -> VariableScope | None:
        """The scope of its variables, by the name that it had first."""
        return self._scope

    @property
    def variable_scope_name(self) -> str | None:
        """The prefix of its variables' names: the scope's name, with a slash; None before the first call."""
        if self._scope is None:
            return None
        return f"{self._scope.name.removesuffix('/')}/" if self._scope.name else ""

    def _collected(self, key: str) -> list[Any]:
        return [] if self._scope is None else get_collection(key, self._scope.name + "/")

    @property
    def global_variables(self) -> list[Any]:
        """The global variables that it made."""
        return self._collected(GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self) -> list[Any]:
        """The local variables that it made."""
        return self._collected(GraphKeys.LOCAL_VARIABLES)

    @property
    def trainable_variables(self) -> list[Any]:
        """The trainable variables that it made."""
        return self._collected(GraphKeys.TRAINABLE_VARIABLES)

    @property
    def variables(self) -> list[Any]:
        """Its global and local variables."""
        return self.global_variables + self.local_variables

    trainable_weights = trainable_variables
    weights = variables


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Template:
    """A function that makes its variables in the first call and reuses them in later calls
    (`tf.make_template`).

    Args:
        name_: the name of the scope, which is made unique.
        func_: the function.
        create_scope_now_: take the scope's name now, not at the first call.
        unique_name_: the exact name of the scope, which other templates may share.
        kwargs: arguments that are passed in each call.

    Raises:
        ValueError: in a later call, for a variable that the first one did not make, or for a trainable one
            that `tf.Variable` makes anew.
    """
    function = functools.partial(func_, **kwargs) if kwargs else func_
    template = Template(name_, function, unique_name_, custom_getter_)
    if create_scope_now_:
        template.open_scope()
    return template
