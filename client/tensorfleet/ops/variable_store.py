"""The variables that `tf.get_variable` made in a graph, by name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tensorfleet import dtypes, framework, shapes
from tensorfleet.dtypes import DType
from tensorfleet.graph import get_default_graph
from tensorfleet.graph_keys import GraphKeys
from tensorfleet.ops import initializers
from tensorfleet.ops.convert import convert_to_tensor
from tensorfleet.ops.variables import Variable, resource_variables_enabled


class VariableStore:
    """What `tf.get_variable` finds again."""

    def __init__(self) -> None:
        self.variables: dict[str, Any] = {}

    def get(self, name: str, getter: Callable[..., Any] | None, **arguments: Any) -> Any:
        """The variable of that full name, found or made; a custom getter is asked first."""
        arguments["dtype"] = dtypes.as_dtype(arguments["dtype"] or dtypes.float32).base
        if getter is not None:
            return getter(getter=self._get, name=name, **arguments)
        return self._get(name, **arguments)

    def _get(
        self,
        name: str,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        initializer: Any = None,
        regularizer: Any = None,
        reuse: Any = None,
        partitioner: Any = None,
        use_resource: bool | None = None,
        **arguments: Any,
    ) -> Any:
        if partitioner is not None:
            raise NotImplementedError(
                f"Variable {name} has a partitioner: partitioned variables are not part of TensorFleet yet."
            )
        given_value = initializer is not None and not callable(initializer)
        if shape is not None and given_value:
            raise ValueError("If initializer is a constant, do not specify shape.")
        dtype = dtypes.as_dtype(dtype)
        shape = None if shape is None else shapes.as_shape(shape)
        if name in self.variables:
            return self._found(name, shape, dtype, reuse)
        if reuse is True:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you mean "
                "to set "
                "reuse=tf.AUTO_REUSE in VarScope?"
            )
        if initializer is None:
            if shape is None:
                raise ValueError(
                    f"Variable {name} did not get an initializer, so its `shape` argument must be specified."
                )
            initializer = default_initializer(name, dtype)
        initial_value, wanted = (initializer, None) if given_value else _called(initializer, shape, dtype)
        made = Variable(
            initial_value=initial_value,
            name=name,
            dtype=wanted,
            shape=shape,
            use_resource=resource_variables_enabled() if use_resource is None else use_resource,
            **arguments,
        )
        self.variables[name] = made
        if regularizer is not None and regularizer(made) is not None:
            with framework.colocate_with(made.op), framework.name_scope(f"{name}/Regularizer/"):
                framework.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, regularizer(made))
        return made

    def _found(self, name: str, shape: Any, dtype: DType, reuse: Any) -> Any:
        found = self.variables[name]
        if reuse is False:
            defined = found.op.definition
            origin = f" Originally defined at:\n\n{defined}" if defined else ""
            raise ValueError(
                f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
                f"reuse=tf.AUTO_REUSE in VarScope?{origin}"
            )
        if shape is not None and not shape.is_compatible_with(found.shape):
            raise ValueError(
                f"Trying to share variable {name}, but specified shape {shape} and found shape {found.shape}."
            )
        if not dtype.is_compatible_with(found.dtype):
            raise ValueError(
                f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
                f"{found.dtype.name}."
            )
        return found


def _called(initializer: Any, shape: Any, dtype: DType) -> tuple[Callable[[], Any], DType | None]:
    """The function that makes the initial value, and the dtype that the variable takes from it."""
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape is not None and shape.is_fully_defined():
        # An initializer may be a user's function: a shape is for it a list.
        return functools.partial(initializer, shape.as_list(), dtype=dtype), dtype.base
    try:
        inspect.signature(initializer).bind()
    except TypeError:
        raise ValueError(
            "The initializer passed is not valid. It should be a callable with no arguments and the shape "
            "should "
            "not be provided or an instance of `tf.keras.initializers.*' and `shape` should be fully defined."
        ) from None
    return initializer, None


def default_initializer(name: str, dtype: DType) -> Any:
    """The initializer of a variable that was given none.

    Raises:
        ValueError: the dtype has no natural one.
    """
    if dtype.is_floating:
        return initializers.glorot_uniform_initializer()
    if dtype.is_integer or dtype.is_unsigned or dtype.is_bool or dtype is dtypes.string:
        return initializers.zeros_initializer()
    raise ValueError(f"An initializer for variable {name} of {dtype} is required")


def explicit_dtype_matches(initializer: Any, dtype: Any) -> None:
    """Raises ValueError where a value given as initializer has another dtype than the one asked for."""
    if dtype is None or initializer is None or callable(initializer):
        return
    found = convert_to_tensor(initializer).dtype.base
    if found is not dtypes.as_dtype(dtype).base:
        raise ValueError(
            f"Initializer type '{found}' and explicit dtype '{dtypes.as_dtype(dtype)}' don't match."
        )


_STORE = ("__variable_store",)
"""The collection that holds a graph's store; no string names it, so nobody exports it."""


def variable_store() -> VariableStore:
    """The store of the default graph."""
    held = get_default_graph().get_collection_ref(_STORE)
    if not held:
        held.append(VariableStore())
    return held[0]  # type: ignore[no-any-return]
