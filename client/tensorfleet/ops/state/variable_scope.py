"""`tf.variable_scope`: the names and the defaults of the variables that `tf.get_variable` makes or reuses."""

from __future__ import annotations

import contextlib
import copy
import enum
import functools
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.state.variable_options import VariableAggregation, VariableSynchronization, creators
from tensorfleet.ops.state.variable_store import VariableStore, explicit_dtype_matches


class _ReuseMode(enum.Enum):
    AUTO_REUSE = 1


AUTO_REUSE = _ReuseMode.AUTO_REUSE
"""`reuse=tf.AUTO_REUSE`: find a variable, or make it."""


def no_regularizer(_: Any) -> None:
    """A regularizer that keeps outer scopes' regularizers from applying (`tf.no_regularizer`)."""
    return None


class VariableScope:
    """The defaults of `tf.get_variable` under a `tf.variable_scope` (`tf.VariableScope`).

    Attributes:
        name: the prefix of variable names, without a "/" at its end.
        original_name_scope: the name scope that the variable scope first opened.
        reuse: None (or False) to make variables, True to find them, AUTO_REUSE for either.
    """

    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        name_scope: str = "",
        dtype: Any = dtypes.float32,
        use_resource: bool | None = None,
        constraint: Any = None,
    ) -> None:
        self.name = name
        self.original_name_scope = name_scope
        self.reuse = reuse
        self.initializer = initializer
        self.regularizer = regularizer
        self.caching_device = caching_device
        self.partitioner = partitioner
        self.custom_getter = custom_getter
        self.dtype = dtype
        self.use_resource = use_resource
        self.constraint = constraint

    def reuse_variables(self) -> None:
        """Finds variables from now on, instead of making them."""
        self.reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Sets the initializer of new variables."""
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """Sets the regularizer of new variables."""
        self.regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        """Sets the device on which readers of new variables share a copy."""
        self.caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        """Sets the partitioner of new variables."""
        self.partitioner = partitioner

    def set_custom_getter(self, custom_getter: Any) -> None:
        """Sets the function that makes new variables in place of `get_variable`."""
        self.custom_getter = custom_getter

    def set_dtype(self, dtype: Any) -> None:
        """Sets the dtype of new variables."""
        self.dtype = dtype

    def set_use_resource(self, use_resource: bool | None) -> None:
        """Sets whether new variables are resource variables."""
        self.use_resource = use_resource

    def get_collection(self, name: str) -> list[Any]:
        """The items of a collection whose names are in the scope."""
        return framework.get_collection(name, f"{self.name}/" if self.name else "")

    def global_variables(self) -> list[Any]:
        """The global variables of this scope and of the scopes in it."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """The local variables of this scope and of the scopes in it."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def trainable_variables(self) -> list[Any]:
        """The trainable variables of this scope and of the scopes in it."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def get_variable(
        self,
        var_store: VariableStore,
        name: str,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        reuse: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        custom_getter: Any = None,
        constraint: Any = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Any:
        """The variable `name` of this scope, which gives the values of arguments that are None."""
        regularizer = self.regularizer if regularizer is None else regularizer
        use_resource = self.use_resource if use_resource is None else use_resource
        reuse = self.reuse if reuse is None else reuse
        # Variables are named after variable scopes, not name scopes.
        if trainable is None:
            trainable = synchronization is not VariableSynchronization.ON_READ
        with framework.name_scope(None):
            explicit_dtype_matches(initializer, dtype)
            return var_store.get(
                f"{self.name}/{name}" if self.name else name,
                self.custom_getter if custom_getter is None else custom_getter,
                shape=shape,
                dtype=self.dtype if dtype is None else dtype,
                initializer=self.initializer if initializer is None else initializer,
                regularizer=None if regularizer is no_regularizer else regularizer,
                reuse=bool(reuse) if reuse is not AUTO_REUSE else reuse,
                trainable=trainable,
                collections=collections,
                caching_device=self.caching_device if caching_device is None else caching_device,
                partitioner=self.partitioner if partitioner is None else partitioner,
                validate_shape=validate_shape,
                use_resource=use_resource,
                constraint=self.constraint if constraint is None else constraint,
                synchronization=synchronization,
                aggregation=aggregation,
            )


class _ScopeStack:
    """The current variable scope of a graph, and the number of times that each name was opened."""

    def __init__(self) -> None:
        self.current = VariableScope(False)
        self.opened: dict[str, int] = {}

    def open(self, name: str) -> None:
        self.opened[name] = self.opened.get(name, 0) + 1

    def close_below(self, name: str) -> None:
        """Forgets the names below a closed scope, which may then be used again."""
        for key in self.opened:
            if not name or key.startswith(f"{name}/"):
                self.opened[key] = 0

    def unique(self, name: str) -> str:
        """`name`, with a number if a scope of that name was already opened in the current one."""
        prefix = f"{self.current.name}/" if self.current.name else ""
        candidate, index = name, 0
        while self.opened.get(prefix + candidate):
            index += 1
            candidate = f"{name}_{index}"
        return candidate


_SCOPES = ("__varscope",)


class _LocalStack(threading.local):
    """The variable scopes of a graph in each thread: none at its start, as in TensorFlow."""

    def __init__(self) -> None:
        self.stack = _ScopeStack()


def _local_stack() -> _LocalStack:
    held: list[_LocalStack] = get_default_graph().get_collection_ref(_SCOPES)
    if not held:
        held.append(_LocalStack())  # of two threads that come at once, both take the first
    return held[0]


def _scope_stack() -> _ScopeStack:
    return _local_stack().stack


def copied_scopes(reuse: bool) -> _ScopeStack:
    """The variable scopes in force, for another replica of what is built; `reuse` to find variables there."""
    current = _scope_stack()
    new = _ScopeStack()
    new.current, new.opened = copy.copy(current.current), dict(current.opened)
    if reuse:
        new.current.reuse = True
    return new


def use_scopes(scopes: _ScopeStack) -> _ScopeStack:
    """Puts other variable scopes in force in this thread's default graph; returns the old ones."""
    local = _local_stack()
    old, local.stack = local.stack, scopes
    return old


def get_variable_scope() -> VariableScope:
    """The current variable scope of the default graph (`tf.get_variable_scope`)."""
    return _scope_stack().current


def _chained(getter: Any, outer: Any) -> Any:
    """A custom getter whose own getter is the outer scope's."""
    if outer is None:
        return getter

    def chained(getter: Any, *args: Any, **kwargs: Any) -> Any:
        return inner(functools.partial(outer, getter), *args, **kwargs)

    inner = getter
    return chained


class variable_scope:
    """A scope for the names and the defaults of `tf.get_variable` (`tf.variable_scope`).

    Args:
        name_or_scope: a name, which is appended to that of the enclosing scope; a VariableScope, which is
            entered again wherever the call is; or None for a unique name made from `default_name`.
        values: tensors whose graph becomes the default graph.
        reuse: None to inherit, True to find variables, `tf.AUTO_REUSE` to find or make them.
        auxiliary_name_scope: whether to open a name scope as well.

    Raises:
        ValueError, TypeError: wrong or contradictory arguments.

    Example:
        >>> with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        ...     first = tf.get_variable("w", [2])
        ...     second = tf.get_variable("w", [2])
        >>> first is second
        True
    """

    def __init__(
        self,
        name_or_scope: Any,
        default_name: str | None = None,
        values: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        reuse: Any = None,
        dtype: Any = None,
        use_resource: bool | None = None,
        constraint: Any = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if name_or_scope is not None and not isinstance(name_or_scope, (VariableScope, str)):
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        if name_or_scope is None and reuse:
            raise ValueError("reuse=True cannot be used without a name_or_scope")
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(
                f"The auxiliary_name_scope must be `True` or `False`, while get {auxiliary_name_scope}"
            )
        self._name_or_scope = name_or_scope
        self._default_name = default_name
        self._graph: Graph = framework.graph_of(values or ())
        # False means the same as None here: a scope cannot undo the reuse of the scope around it.
        self._reuse = None if reuse is False else reuse
        if not any(self._reuse is allowed for allowed in (None, True, AUTO_REUSE)):
            raise ValueError("The reuse parameter must be True or False or None.")
        self._defaults = {
            "initializer": initializer,
            "regularizer": regularizer,
            "caching_device": caching_device,
            "partitioner": partitioner,
            "dtype": dtype,
            "use_resource": use_resource,
            "constraint": constraint,
        }
        self._custom_getter = custom_getter
        self._auxiliary_name_scope = auxiliary_name_scope
        self._entered: list[contextlib.ExitStack] = []

    def __enter__(self) -> VariableScope:
        with contextlib.ExitStack() as scopes:
            scopes.enter_context(self._graph.as_default())
            scope = scopes.enter_context(self._open())
            self._entered.append(scopes.pop_all())
        return scope

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._entered.pop().__exit__(kind, value, traceback)

    @contextlib.contextmanager
    def _open(self) -> Iterator[VariableScope]:
        stack = _scope_stack()
        old = stack.current
        given = self._name_or_scope
        with self._name_scope(given) as name_scope:
            if isinstance(given, VariableScope):
                stack.open(given.name)
                opened = dict(stack.opened)
                stack.current = self._scope(given, given.name, given.original_name_scope, given.reuse)
            else:
                part = stack.unique(self._default_name or "") if given is None else given
                name = f"{old.name}/{part}" if old.name else part
                stack.open(name)
                stack.current = self._scope(old, name, name_scope, old.reuse)
            try:
                yield stack.current
            finally:
                if isinstance(given, VariableScope):
                    stack.opened = opened
                else:
                    stack.close_below(stack.current.name)
                stack.current = old

    def _name_scope(self, given: Any) -> Any:
        graph = self._graph
        if not self._auxiliary_name_scope:
            current = graph.get_name_scope()
            return graph.name_scope(f"{current}/" if current else "")
        if given is None:
            return graph.name_scope(self._default_name)
        part = given if isinstance(given, str) else given.name.split("/")[-1]
        return graph.name_scope(part) if part else contextlib.nullcontext("")

    def _scope(self, base: VariableScope, name: str, name_scope: str, reuse: Any) -> VariableScope:
        scope = VariableScope(
            self._reuse or reuse,
            name=name,
            initializer=base.initializer,
            regularizer=base.regularizer,
            caching_device=base.caching_device,
            partitioner=base.partitioner,
            custom_getter=base.custom_getter,
            name_scope=name_scope,
            dtype=base.dtype,
            use_resource=base.use_resource,
            constraint=base.constraint,
        )
        for attribute, value in self._defaults.items():
            if value is not None:
                setattr(scope, attribute, value)
        if self._custom_getter is not None:
            scope.custom_getter = _chained(self._custom_getter, base.custom_getter)
        return scope


@contextlib.contextmanager
def variable_op_scope(
    values: Any,
    name_or_scope: Any,
    default_name: str | None = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: bool | None = None,
    constraint: Any = None,
) -> Iterator[VariableScope]:
    """`variable_scope` with its arguments in another order (`tf.variable_op_scope`, deprecated)."""
    with variable_scope(
        name_or_scope,
        default_name=default_name,
        values=values,
        initializer=initializer,
        regularizer=regularizer,
        caching_device=caching_device,
        partitioner=partitioner,
        custom_getter=custom_getter,
        reuse=reuse,
        dtype=dtype,
        use_resource=use_resource,
        constraint=constraint,
    ) as scope:
        yield scope


@contextlib.contextmanager
def variable_creator_scope(variable_creator: Callable[..., Any]) -> Iterator[None]:
    """A scope in which `variable_creator` makes variables (`tf.variable_creator_scope`).

    Args:
        variable_creator: called as (next_creator, **arguments of tf.Variable); returns a variable.
    """
    stack = creators(get_default_graph())
    stack.append(variable_creator)
    try:
        yield
    finally:
        stack.pop()
