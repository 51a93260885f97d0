"""The variables that `tf.get_variable` made in a graph, by name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.core import dtypes, shapes
from tensorfleet.core.dtypes import DType
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.state import initializers
from tensorfleet.ops.state.partitioned_variables import (
    PartitionedVariable,
    PartitionInfo,
    partitions_of,
    slices,
)
from tensorfleet.ops.state.save_slice import SaveSliceInfo
from tensorfleet.ops.state.variable_options import resource_variables_enabled
from tensorfleet.ops.state.variables import Variable


class VariableStore:
    """The variables of a graph that `tf.get_variable` can reuse."""

    def __init__(self) -> None:
        self.variables: dict[str, Any] = {}
        self.partitioned: dict[str, PartitionedVariable] = {}

    def get(self, name: str, getter: Callable[..., Any] | None, **arguments: Any) -> Any:
        """The variable of that full name, found or made; a custom getter is called first."""
        arguments["dtype"] = dtypes.as_dtype(arguments["dtype"] or dtypes.float32).base
        if getter is not None:
            return getter(getter=self._get, name=name, **arguments)
        return self._get(name, **arguments)

    def get_variable(
        self, name: str, shape: Any = None, dtype: Any = None, initializer: Any = None, **arguments: Any
    ) -> Any:
        """The variable of that full name, as `tf.get_variable` makes it without a scope.

        Raises:
            ValueError: as by `tf.get_variable`.
        """
        getter = arguments.pop("custom_getter", None)
        return self.get(name, getter, shape=shape, dtype=dtype, initializer=initializer, **arguments)

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
        partition_info: PartitionInfo | None = None,
        **arguments: Any,
    ) -> Any:
        found_again = partitioner is None and reuse is True and name in self.partitioned
        if found_again or (partitioner is not None and not _is_scalar(shape)):
            arguments.update(regularizer=regularizer, use_resource=use_resource)
            return self._get_partitioned(
                name, shape, dtypes.as_dtype(dtype), initializer, reuse, partitioner, arguments
            )
        if name not in self.variables and f"{name}/part_0" in self.variables:
            raise ValueError(
                "No partitioner was provided, but a partitioned version of the variable was found: "
                f"{name}/part_0. "
                "Perhaps a variable of the same name was already created with partitioning?"
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
        initial_value, wanted = (
            (initializer, None) if given_value else _called(initializer, shape, dtype, partition_info)
        )
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

    def _get_partitioned(
        self,
        name: str,
        shape: Any,
        dtype: DType,
        initializer: Any,
        reuse: Any,
        partitioner: Any,
        arguments: dict[str, Any],
    ) -> PartitionedVariable:
        name = name.rstrip("/")  # an empty name stands for the scope's
        given_value = None
        if initializer is not None and not callable(initializer):
            given_value = convert_to_tensor(initializer)
        shape = shapes.as_shape(shape if given_value is None else given_value.shape.merge_with(shape))
        if name in self.variables:
            raise ValueError(
                "A partitioner was provided, but an unpartitioned version of the variable was found: "
                f"{name}. Perhaps a variable of the same name was already created without partitioning?"
            )
        found = self.partitioned.get(name)
        if found is not None:
            return self._found_partitioned(found, shape, dtype, reuse, partitioner)
        if reuse is True:
            raise ValueError(
                f"PartitionedVariable {name} does not exist, or was not created with tf.get_variable(). Did "
                "you "
                "mean to set reuse=False or reuse=tf.AUTO_REUSE in VarScope?"
            )
        partitions = partitions_of(partitioner, shape, dtype)
        if initializer is None:
            initializer = default_initializer(name, dtype)
        full_shape, parts = shape.as_list(), []
        for index, (offset, extent) in enumerate(slices(full_shape, partitions)):
            part_name = f"{name}/part_{index}"
            value: Any = initializer
            part_shape: list[int] | None = extent
            if given_value is not None:
                with framework.name_scope(f"{part_name}/PartitionedInitializer/"):
                    value, part_shape = apply_one("Slice", given_value, offset, extent), None
            with framework.name_scope(None):
                part = self._get(
                    part_name,
                    shape=part_shape,
                    dtype=dtype,
                    initializer=value,
                    reuse=reuse,
                    partition_info=PartitionInfo(full_shape, offset),
                    **arguments,
                )
            part._set_save_slice_info(SaveSliceInfo(name, full_shape, offset, extent))
            parts.append(part)
        made = PartitionedVariable(name, full_shape, dtype, parts, partitions)
        self.partitioned[name] = made
        return made

    def _found_partitioned(
        self, found: PartitionedVariable, shape: Any, dtype: DType, reuse: Any, partitioner: Any
    ) -> PartitionedVariable:
        name = found.name
        if reuse is False:
            raise ValueError(
                f"Partitioned variable with name {name} already exists. Did you mean to set reuse=True or "
                "reuse=tf.AUTO_REUSE in VarScope?"
            )
        if not shape.is_compatible_with(found.shape):
            raise ValueError(
                f"Trying to reuse partitioned variable {name}, but specified shape {shape} and found shape "
                f"{found.shape}."
            )
        if not dtype.is_compatible_with(found.dtype):
            raise ValueError(
                f"Trying to reuse partitioned variable {name}, but specified dtype {dtype.name} and found "
                "dtype "
                f"{found.dtype.name}."
            )
        if partitioner is None:
            return found
        partitions = partitions_of(partitioner, found.shape, dtype)
        if partitions != found._get_partitions():
            raise ValueError(
                f"Trying to reuse partitioned variable {name}, but specified partitions {partitions} and "
                "found "
                f"partitions {found._get_partitions()}."
            )
        return found

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


def _is_scalar(shape: Any) -> bool:
    return isinstance(shape, Sequence) and len(shape) == 0


def _called(
    initializer: Any, shape: Any, dtype: DType, partition_info: PartitionInfo | None
) -> tuple[Callable[[], Any], DType | None]:
    """The function that makes the initial value, and the dtype for the variable."""
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape is not None and shape.is_fully_defined():
        # A user's function takes the shape as a list, and may have no argument `partition_info`.
        more: dict[str, Any] = {}
        if "partition_info" in inspect.signature(initializer).parameters:
            more["partition_info"] = partition_info
        return functools.partial(initializer, shape.as_list(), dtype=dtype, **more), dtype.base
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
    """The initializer for a variable without one.

    Raises:
        ValueError: there is no default for the dtype.
    """
    if dtype.is_floating:
        return initializers.glorot_uniform_initializer()
    if dtype.is_integer or dtype.is_unsigned or dtype.is_bool or dtype is dtypes.string:
        return initializers.zeros_initializer()
    raise ValueError(f"An initializer for variable {name} of {dtype} is required")


def explicit_dtype_matches(initializer: Any, dtype: Any) -> None:
    """Raises ValueError if a value given as initializer has another dtype than the requested one."""
    if dtype is None or initializer is None or callable(initializer):
        return
    found = convert_to_tensor(initializer).dtype.base
    if found is not dtypes.as_dtype(dtype).base:
        raise ValueError(
            f"Initializer type '{found}' and explicit dtype '{dtypes.as_dtype(dtype)}' don't match."
        )


_STORE = ("__variable_store",)
"""The key of the collection with a graph's store; no string, so that it is not exported."""


def variable_store() -> VariableStore:
    """The store of the default graph."""
    held: list[VariableStore] = get_default_graph().get_collection_ref(_STORE)
    if not held:
        held.append(VariableStore())
    return held[0]
