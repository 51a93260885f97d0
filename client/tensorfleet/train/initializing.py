"""Variables that begin with what a checkpoint has: `tf.train.init_from_checkpoint`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from tensorfleet.core import logging
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.ops.io.checkpoint import restore_v2
from tensorfleet.ops.state.partitioned_variables import PartitionedVariable
from tensorfleet.ops.state.variable_ops import assign
from tensorfleet.ops.state.variable_store import variable_store
from tensorfleet.ops.state.variables import Variable
from tensorfleet.train.checkpoint_management import latest_checkpoint
from tensorfleet.train.checkpoint_reader import CheckpointReader, load_checkpoint


def checkpoint_path(ckpt_dir_or_file: Any) -> str:
    """The checkpoint of that name, or the newest one of that directory.

    Raises:
        ValueError: the directory has none.
    """
    path = os.fsdecode(ckpt_dir_or_file)
    if not os.path.isdir(path):
        return path
    if (found := latest_checkpoint(path)) is None:
        raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}")
    return found


def init_from_checkpoint(ckpt_dir_or_file: Any, assignment_map: Mapping[str, Any]) -> None:
    """Has initializers give variables what a checkpoint has (`tf.train.init_from_checkpoint`).

    Nothing is restored at once: the variables' initializers do it when they run. The checkpoint is read here
    for the shapes, and where the variables are when they are initialized.

    Args:
        ckpt_dir_or_file: the checkpoint, or a directory, whose newest one is taken.
        assignment_map: from names in the checkpoint to variables: the name of one that `tf.get_variable`
            made, a variable, or the parts of a partitioned one. Names that end with "/" are scopes: all
            variables of the scope are initialized from those of the scope in the checkpoint; "/" is all.

    Raises:
        ValueError: a tensor is not in the checkpoint, or has another shape; or there is no such variable.

    Example:
        >>> import tempfile
        >>> old = tf.Variable([1.0, 2.0], name="old")
        >>> with tf.Session() as session, tempfile.TemporaryDirectory() as folder:
        ...     session.run(old.initializer)
        ...     path = tf.train.Saver().save(session, f"{folder}/model")
        ...     new = tf.get_variable("new", [2])
        ...     tf.train.init_from_checkpoint(path, {"old": "new"})
        ...     session.run(new.initializer)
        ...     session.run(new)
        array([1., 2.], dtype=float32)
    """
    path = checkpoint_path(ckpt_dir_or_file)
    source = _Source(ckpt_dir_or_file, path, load_checkpoint(path))
    for name, target in sorted(assignment_map.items(), key=lambda item: str(item[0])):
        if _is_variable(target):
            source.give(name, target)
        elif isinstance(target, PartitionedVariable):
            source.give(name, list(target))
        elif name.endswith("/"):
            source.give_scope(name, target)
        elif (found := _variables_by_name(target)) is None:
            raise ValueError(f"Assignment map with {name} refers to no variable: {target}")
        else:
            source.give(name, found)


class _Source:
    """A checkpoint that variables are initialized from."""

    def __init__(self, given: Any, path: str, reader: CheckpointReader) -> None:
        self._given = given
        self._path = path
        self._shapes = reader.get_variable_to_shape_map()

    def give(self, name: str, target: Any) -> None:
        """Has a variable, or the parts of one, initialized with a tensor of the checkpoint."""
        if name not in self._shapes:
            raise ValueError(f"Tensor {name} is not found in {self._given} checkpoint {self._shapes}")
        parts = target if isinstance(target, list) else [target]
        whole = _whole_shape(parts)
        stored = TensorShape(self._shapes[name])
        if not whole.is_compatible_with(stored):
            raise ValueError(
                f"Shape of variable {parts[0].name} ({whole}) doesn't match with shape of tensor {name} "
                f"({stored.as_list()}) from checkpoint reader."
            )
        for part in parts:
            set_checkpoint_initializer(part, self._path, name)
        logging.info("Initialize variable %s from checkpoint %s with %s", parts[0].name, self._given, name)

    def give_scope(self, scope: str, target: Any) -> None:
        if not isinstance(target, str) or not target.endswith("/"):
            raise ValueError(
                f"Assignment map with scope only name {scope} should map to scope only {target}. "
                "Should be 'scope/': 'other_scope/'."
            )
        prefix = "" if target == "/" else target
        for full_name in _names_in_scope(prefix):
            inner = full_name.removeprefix(prefix)
            name = inner if scope == "/" else scope + inner
            if name not in self._shapes:
                raise ValueError(
                    f"Tensor {name} ({inner} in {scope}) is not found in {self._given} checkpoint"
                )
            self.give(name, _variables_by_name(full_name))


def _is_variable(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, Variable) for each in value)
    return isinstance(value, Variable)


def _variables_by_name(name: Any) -> Any:
    """The variable of that name, or the parts of it, that `tf.get_variable` made; None if there is none."""
    store = variable_store()
    if name in store.variables:
        return store.variables[name]
    return list(store.partitioned[name]) if name in store.partitioned else None


def _names_in_scope(prefix: str) -> list[str]:
    """The names of variables in a scope; of a partitioned one, that of the whole."""
    store = variable_store()
    parts = {part for whole in store.partitioned.values() for part in map(_store_name, whole)}
    names = {name for name in store.variables if name not in parts} | set(store.partitioned)
    return sorted(name for name in names if name.startswith(prefix))


def _store_name(variable: Any) -> str:
    return str(variable.op.name)


def _whole_shape(parts: list[Any]) -> TensorShape:
    info = parts[0]._get_save_slice_info()
    return parts[0].shape if info is None else TensorShape(info.full_shape)


def set_checkpoint_initializer(variable: Any, path: str, tensor_name: str) -> None:
    """Makes a variable's initializer restore it, where the variable is."""
    info = variable._get_save_slice_info()
    graph = get_default_graph()
    with graph.device(variable.device), graph.device("/cpu:0"), graph.control_dependencies(None):
        spec = "" if info is None else info.spec
        (restored,) = restore_v2(path, [tensor_name], [spec], [variable.dtype.base])
        restored.set_shape(variable.shape)
        set_initializer(variable, restored)


def set_initializer(variable: Any, value: Any) -> None:
    """Gives a variable another initial value than the one that it was made with."""
    made = assign(variable, value)
    variable._initializer_op = getattr(made, "op", made)
    variable._initial_value = value
