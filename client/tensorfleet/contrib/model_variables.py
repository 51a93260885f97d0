"""Creation, look-up and assignment of a model's variables (`tf.contrib.framework`)."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.contrib.arg_scopes import add_arg_scope
from tensorfleet.core.logging import warning
from tensorfleet.graph import framework
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.array.identity import placeholder
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.variable_ops import assign
from tensorfleet.ops.state.variable_options import VariableAggregation, VariableSynchronization
from tensorfleet.ops.state.variable_scope import VariableScope, get_variable_scope
from tensorfleet.ops.state.variables import Variable
from tensorfleet.train.checkpoint_reader import load_checkpoint
from tensorfleet.train.saver import Saver


@add_arg_scope
def variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Any = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    use_resource: bool | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """`tf.get_variable` with a device, as a string or a function (`tf.contrib.framework.variable`).

    Args:
        collections: by default GLOBAL_VARIABLES.
        custom_getter: a function to call instead of `tf.get_variable`, with its arguments and `reuse`.
    """
    getter = get_variable
    if custom_getter is not None:
        getter = functools.partial(custom_getter, reuse=get_variable_scope().reuse)
    with framework.device(device if device is not None else ""):
        return getter(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=list(dict.fromkeys(collections or [GraphKeys.GLOBAL_VARIABLES])),
            caching_device=caching_device,
            partitioner=partitioner,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )


@add_arg_scope
def model_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Any = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    use_resource: bool | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """A `variable` in the collections GLOBAL_VARIABLES and MODEL_VARIABLES
    (`tf.contrib.framework.model_variable`)."""
    return variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=[*(collections or ()), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES],
        caching_device=caching_device,
        device=device,
        partitioner=partitioner,
        custom_getter=custom_getter,
        use_resource=use_resource,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def local_variable(
    initial_value: Any, validate_shape: bool = True, name: str | None = None, use_resource: bool | None = None
) -> Any:
    """A variable of one process that is not trainable (`tf.contrib.framework.local_variable`)."""
    return Variable(
        initial_value,
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES],
        validate_shape=validate_shape,
        name=name,
        use_resource=use_resource,
    )


def global_variable(
    initial_value: Any, validate_shape: bool = True, name: str | None = None, use_resource: bool | None = None
) -> Any:
    """A global variable that is not trainable (`tf.contrib.framework.global_variable`)."""
    return Variable(
        initial_value,
        trainable=False,
        collections=[GraphKeys.GLOBAL_VARIABLES],
        validate_shape=validate_shape,
        name=name,
        use_resource=use_resource,
    )


def add_model_variable(var: Any) -> None:
    """Adds a variable to the collection MODEL_VARIABLES, once."""
    held = framework.get_collection_ref(GraphKeys.MODEL_VARIABLES)
    if all(var is not other for other in held):
        held.append(var)


def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """The variables of a collection in a scope and with a suffix (`tf.contrib.framework.get_variables`).

    Args:
        scope: a VariableScope, or a regular expression for the start of names.
        suffix: the end of names, without `:0`.
    """
    if isinstance(scope, VariableScope):
        scope = scope.name
    if suffix is not None:
        if ":" not in suffix:
            suffix += ":"
        scope = f"{scope or ''}.*{suffix}"
    return framework.get_collection(collection, scope)


def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """`get_variables` of the collection MODEL_VARIABLES."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """`get_variables` of the collection LOCAL_VARIABLES."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """`get_variables` of the collection TRAINABLE_VARIABLES."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    """The variables whose names end with `suffix`."""
    return get_variables(scope=scope, suffix=suffix)


def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """The variables whose last name, after the scopes, is `given_name`."""
    return get_variables(scope=scope, suffix=f"/{given_name}:|^{given_name}:")


def get_unique_variable(var_op_name: str) -> Any:
    """The only variable of that full name, without `:0`.

    Raises:
        ValueError: there is none, or several have names that start with it.
    """
    found = get_variables(scope=var_op_name)
    exact = [v for v in found if v.op.name == var_op_name]
    if not found:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    if len(exact) == 1:
        return exact[0]
    raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable")


def get_variable_full_name(var: Any) -> str:
    """The name of a variable in checkpoints; for a part of a partitioned variable that of the whole."""
    info = getattr(var, "_save_slice_info", None)
    return str(info.full_name if info is not None else var.op.name)


def filter_variables(
    var_list: Sequence[Any],
    include_patterns: Sequence[str] | None = None,
    exclude_patterns: Sequence[str] | None = None,
    reg_search: bool = True,
) -> list[Any]:
    """The variables whose names match an included pattern and no excluded one.

    Args:
        reg_search: whether a pattern may match anywhere in the name, instead of at its start.
    """
    fits = re.search if reg_search else re.match

    def any_fits(patterns: Sequence[str], var: Any) -> bool:
        return any(fits(pattern, var.op.name) for pattern in patterns)

    included = [v for v in var_list if not include_patterns or any_fits(include_patterns, v)]
    return [v for v in included if not exclude_patterns or not any_fits(exclude_patterns, v)]


def get_variables_to_restore(include: Any = None, exclude: Any = None) -> list[Any]:
    """The global variables in the scopes `include` and not in the scopes `exclude`.

    Args:
        include, exclude: lists of scopes, or single scopes.

    Raises:
        TypeError: they are of another type.
    """
    scopes = []
    for given, name in ((include, "include"), (exclude, "exclude")):
        if given is not None and not isinstance(given, (list, tuple)):
            raise TypeError(f"{name} is provided but is not a list or a tuple.")
        scopes.append(given)
    wanted = (
        get_variables() if scopes[0] is None else [v for scope in scopes[0] for v in get_variables(scope)]
    )
    left_out = {id(v) for scope in scopes[1] or () for v in get_variables(scope)}
    return [v for v in wanted if id(v) not in left_out]


def assign_from_values(var_names_to_values: dict[str, Any]) -> tuple[Any, dict[Any, Any]]:
    """An operation that assigns values to variables, by their names, and its feeds."""
    feeds: dict[Any, Any] = {}
    operations = []
    for name, value in var_names_to_values.items():
        var = get_unique_variable(name)
        given = placeholder(var.dtype.base, shape=var.shape, name="assign_from_values")
        operations.append(assign(var, given))
        feeds[given] = value.reshape(var.shape.as_list())
    return group(*operations), feeds


def assign_from_values_fn(var_names_to_values: dict[str, Any]) -> Callable[[Any], None]:
    """A function of a session that assigns values to variables, by their names."""
    operation, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(operation, feeds)


def _by_name(var_list: Any) -> dict[str, Any]:
    """Variables by their names in checkpoints; a list has the parts of a partitioned variable."""
    if isinstance(var_list, dict):
        return var_list
    found: dict[str, Any] = {}
    for var in var_list:
        name = get_variable_full_name(var)
        found.setdefault(name, []).append(var)
    return {name: parts[0] if len(parts) == 1 else parts for name, parts in found.items()}


def assign_from_checkpoint(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False
) -> tuple[Any, dict[Any, Any]]:
    """An operation that assigns the values in a checkpoint to variables, and its feeds.

    Args:
        model_path: the checkpoint's path.
        var_list: variables; or a dict of them by their names in the checkpoint.
        ignore_missing_vars: whether to leave out variables that are not in the checkpoint.

    Raises:
        ValueError: a variable is not in the checkpoint, or has another number of elements there.
    """
    reader = load_checkpoint(model_path)
    feeds: dict[Any, Any] = {}
    operations = []
    for name, found in _by_name(var_list).items():
        if not reader.has_tensor(name):
            text = f"Checkpoint is missing variable [{name}]"
            if not ignore_missing_vars:
                raise ValueError(text)
            warning(text)
            continue
        value = reader.get_tensor(name)
        for var in found if isinstance(found, list) else [found]:
            info = getattr(var, "_save_slice_info", None)
            part = value
            if info is not None:
                part = value[
                    tuple(
                        slice(start, start + size)
                        for start, size in zip(info.var_offset, info.var_shape, strict=True)
                    )
                ]
            if part.size != var.shape.num_elements():
                raise ValueError(
                    f"Total size of new array must be unchanged for {name} lh_shape: [{part.shape}], "
                    f"rh_shape: [{var.shape}]"
                )
            given = placeholder(var.dtype.base, shape=var.shape, name=f"{var.op.name}/assign_value")
            operations.append(assign(var, given))
            feeds[given] = part.reshape(var.shape.as_list())
    return group(*operations), feeds


def assign_from_checkpoint_fn(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False, reshape_variables: bool = False
) -> Callable[[Any], None] | None:
    """A function of a session that restores variables from a checkpoint; None if there are none.

    Args:
        ignore_missing_vars: whether to leave out variables that are not in the checkpoint.
        reshape_variables: whether a variable may have another shape in the checkpoint.

    Raises:
        ValueError: there is nothing to restore.
    """
    if not var_list:
        raise ValueError("var_list cannot be empty")
    if ignore_missing_vars:
        reader = load_checkpoint(model_path)
        given = _by_name(var_list)
        var_list = {name: var for name, var in given.items() if reader.has_tensor(name)}
        for name in given.keys() - var_list.keys():
            warning("Variable %s missing in checkpoint %s", name, model_path)
    if not var_list:
        warning("No Variables to restore")
        return None
    saver = Saver(var_list, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)
