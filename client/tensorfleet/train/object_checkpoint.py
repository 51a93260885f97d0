"""Checkpoints of objects, by the names under which they hold their variables: `tf.train.Checkpoint`."""

from __future__ import annotations

import os
from typing import Any

from tensorfleet.core import dtypes, errors
from tensorfleet.graph.default_session import get_default_session
from tensorfleet.graph.framework import control_dependencies, device
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.ops.array.identity import placeholder
from tensorfleet.ops.control_flow.control import group, no_op
from tensorfleet.ops.state.variables import Variable
from tensorfleet.proto.saver_pb2 import SaverDef
from tensorfleet.proto.trackable_object_graph_pb2 import TrackableObjectGraph
from tensorfleet.train import checkpoint_management
from tensorfleet.train.checkpoint_reader import load_checkpoint
from tensorfleet.train.object_graph import OBJECT_GRAPH_KEY, Match, ObjectGraph, Tracked, is_trackable
from tensorfleet.train.saveables import SaveableObject, SaveSpec
from tensorfleet.train.saver_builder import BulkSaverBuilder

_KEY = ("__checkpoint_savers",)


class CheckpointOptions:
    """How a checkpoint is written (`tf.train.CheckpointOptions`).

    Args:
        experimental_io_device: the device that reads and writes files.
        experimental_write_callbacks: functions that are called with the path of each checkpoint that was
            written.
        experimental_enable_async_checkpoint, enable_async, experimental_skip_slot_variables,
            experimental_sharding_callback: ignored.
    """

    def __init__(
        self,
        experimental_io_device: str | None = None,
        experimental_enable_async_checkpoint: bool = False,
        experimental_write_callbacks: Any = None,
        enable_async: bool = False,
        experimental_skip_slot_variables: bool = False,
        experimental_sharding_callback: Any = None,
    ) -> None:
        self.experimental_io_device = experimental_io_device
        self.experimental_enable_async_checkpoint = experimental_enable_async_checkpoint
        self.experimental_write_callbacks = experimental_write_callbacks
        self.enable_async = enable_async
        self.experimental_skip_slot_variables = experimental_skip_slot_variables
        self.experimental_sharding_callback = experimental_sharding_callback


class _Text(SaveableObject):
    """The object graph, which is fed as a text and restored by nobody."""

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
        return no_op()


class Checkpoint(Tracked):
    """Saves and restores objects that hold variables, by the names of their attributes
    (`tf.train.Checkpoint`), in TensorFlow's format.

    It keeps variables, optimizers with their slots, layers, modules, and lists, tuples and dicts of these; it
    does not depend on the names of variables in the graph.

    Args:
        kwargs: the objects, by their names in the checkpoint.

    Raises:
        ValueError: a value that checkpoints cannot keep.

    Example:
        >>> import tempfile
        >>> v = tf.Variable([1.0, 2.0])
        >>> checkpoint = tf.train.Checkpoint(weights=v)
        >>> with tempfile.TemporaryDirectory() as directory, tf.Session() as session:
        ...     session.run(v.initializer)
        ...     path = checkpoint.save(directory + "/model")
        ...     session.run(v.assign([0.0, 0.0]))
        ...     checkpoint.restore(path).assert_consumed().run_restore_ops()
        ...     session.run(v)
        array([0., 0.], dtype=float32)
        array([1., 2.], dtype=float32)
    """

    def __init__(self, **kwargs: Any) -> None:
        for name, value in sorted(kwargs.items()):
            if not is_trackable(value):
                raise ValueError(
                    f"`Checkpoint` was expecting a trackable object as {name}, got {value}: variables, "
                    "optimizers, layers and tf.Modules, or lists, tuples and dicts of these."
                )
            setattr(self, name, value)
        self._counting: dict[int, Any] = {}

    @property
    def save_counter(self) -> Any:
        """The number of checkpoints that `save` has written, a variable."""
        counter = vars(self).get("_save_counter")
        if counter is None or counter.graph is not get_default_graph():
            with control_dependencies(None), device("/cpu:0"):
                counter = Variable(0, trainable=False, name="save_counter", dtype=dtypes.int64)
            self._save_counter = counter
        return counter

    def _graph_of_objects(self, with_counter: bool) -> ObjectGraph:
        return ObjectGraph(_Root(self, with_counter))

    def write(self, file_prefix: str, session: Any = None, options: CheckpointOptions | None = None) -> str:
        """Writes a checkpoint with this name, without counting it or naming it the newest.

        Returns:
            The name.

        Raises:
            RuntimeError: there is no session.
            OpError: it cannot be written.
        """
        session = _session(session)
        with session.graph.as_default():
            objects = self._graph_of_objects("_save_counter" in vars(self))
            saver, text = self._saver(objects.variables, options)
        feeds = {
            saver.filename_tensor_name: os.fspath(file_prefix),
            text: objects.message.SerializeToString(),
        }
        path = os.fsdecode(session.run(saver.save_tensor_name, feeds))
        for callback in (options and options.experimental_write_callbacks) or ():
            callback(path)
        return path

    def save(self, file_prefix: str, session: Any = None, options: CheckpointOptions | None = None) -> str:
        """Writes the checkpoint "<file_prefix>-<number>", and names it the newest of its directory.

        Returns:
            Its name.

        Raises:
            RuntimeError: there is no session.
            OpError: it cannot be written.
        """
        session = _session(session)
        number = self._count(session)
        path = self.write(f"{os.fspath(file_prefix)}-{number}", session, options)
        directory = os.path.dirname(path) or "."
        checkpoint_management.update_state(directory, path, [path], "checkpoint", True)
        return path

    def _count(self, session: Any) -> int:
        """Counts one more checkpoint; a new counter begins at 0."""
        with session.graph.as_default():
            is_new = vars(self).get("_save_counter") is None or self._save_counter.graph is not session.graph
            counter = self.save_counter
            if is_new:
                session.run(counter.initializer)
            if id(counter) not in self._counting:
                self._counting = {id(counter): counter.assign_add(1)}
        return int(session.run(self._counting[id(counter)]))

    def restore(self, save_path: str | None) -> CheckpointStatus:
        """Has variables take their values from a checkpoint, when the status is run.

        Args:
            save_path: the name of a checkpoint, of this class or of a `tf.train.Saver`; None for none, where
                `initialize_or_restore` initializes the variables.

        Raises:
            NotFoundError: there is no such checkpoint.
        """
        with control_dependencies(None):
            _ = self.save_counter
        return CheckpointStatus(self, None if save_path is None else os.fspath(save_path))

    def _saver(
        self, variables: dict[str, Any], options: CheckpointOptions | None, has_objects: bool = True
    ) -> tuple[SaverDef, Any]:
        """The nodes that save these variables and a text, made once for each set of variables.

        Args:
            has_objects: whether the file holds the text, the object graph; a `tf.train.Saver` writes none.
        """
        place = options.experimental_io_device if options else None
        savers = _savers(get_default_graph())
        key = (place, has_objects, *((name, id(v)) for name, v in variables.items()))
        if key not in savers:
            with device(place or "/cpu:0"), control_dependencies(None):
                text = placeholder(dtypes.string, (), name="object_graph")
                everything: dict[str, Any] = dict(variables)
                if has_objects:
                    everything[OBJECT_GRAPH_KEY] = _Text(
                        text, [SaveSpec(text, "", OBJECT_GRAPH_KEY)], OBJECT_GRAPH_KEY
                    )
                saver = BulkSaverBuilder().build(everything, name="save")
                savers[key] = saver, text, list(variables.values())
        return savers[key][:2]


def _savers(graph: Graph) -> dict[Any, tuple[SaverDef, Any, list[Any]]]:
    """What saves sets of variables of a graph. The graph has it, since it keeps nodes of the graph alive.

    The variables are in it so that no later one gets an identity that is in a key.
    """
    held = graph.get_collection_ref(_KEY)
    if not held:
        held.append({})
    found: dict[Any, tuple[SaverDef, Any, list[Any]]] = held[0]
    return found


def names_of(checkpoint: Checkpoint) -> list[str]:
    """The names of the objects that a checkpoint was given."""
    return [name for name in vars(checkpoint) if name not in ("_counting", "_save_counter")]


class _Root(Tracked):
    """The root of a checkpoint: its objects, and the counter behind them."""

    def __init__(self, checkpoint: Checkpoint, with_counter: bool) -> None:
        for name in names_of(checkpoint):
            setattr(self, name, getattr(checkpoint, name))
        if with_counter:
            self.save_counter = checkpoint._save_counter


class CheckpointStatus:
    """What a checkpoint has of the objects, and the operations that restore it; objects may still be made."""

    def __init__(self, checkpoint: Checkpoint, path: str | None) -> None:
        self._checkpoint, self._path = checkpoint, path
        self._message: TrackableObjectGraph | None = None
        self._keys: set[str] = set()
        self._op: tuple[Any, Any] | None = None
        if path is not None:
            reader = load_checkpoint(path)
            self._keys = set(reader.get_variable_to_shape_map())
            if OBJECT_GRAPH_KEY in self._keys:
                self._message = TrackableObjectGraph.FromString(reader.get_tensor(OBJECT_GRAPH_KEY))

    def _match(self) -> tuple[dict[str, Any], list[str], dict[str, Any]]:
        """(variables by their keys in the checkpoint, keys without a variable, all variables)."""
        root = _Root(self._checkpoint, True)
        everything = ObjectGraph(root).variables
        if self._message is None:  # of a Saver: by the names in the graph
            named = {v.op.name: v for v in everything.values() if v.op.name in self._keys}
            return named, sorted(self._keys - named.keys()), everything
        found = Match(root, self._message)
        unused = [key for key in found.unused if not key.startswith("save_counter/")]
        return found.variables, unused, everything

    def _missing(self) -> list[str]:
        """The keys of variables that the checkpoint lacks."""
        found, _, everything = self._match()
        known = {id(v) for v in found.values()}
        return [
            key for key, v in everything.items() if id(v) not in known and not key.startswith("save_counter/")
        ]

    def assert_consumed(self) -> CheckpointStatus:
        """Asserts that all of the checkpoint is used, and all variables are in it.

        Raises:
            AssertionError: they are not.
        """
        self.assert_existing_objects_matched()
        if unused := self._match()[1]:
            raise AssertionError(f"Unresolved values in checkpoint {self._path}: {', '.join(unused)}")
        return self

    def assert_existing_objects_matched(self) -> CheckpointStatus:
        """Asserts that all variables are in the checkpoint.

        Raises:
            AssertionError: they are not.
        """
        if self._path is None:
            raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")
        if missing := self._missing():
            raise AssertionError(f"No values in checkpoint {self._path} for: {', '.join(missing)}")
        return self

    def assert_nontrivial_match(self) -> CheckpointStatus:
        """Asserts that at least one variable, the counter of checkpoints among them, is in the checkpoint.

        Raises:
            AssertionError: there is none.
        """
        if not self._match()[0]:
            raise AssertionError(f"Nothing in checkpoint {self._path} is part of this program.")
        return self

    def expect_partial(self) -> CheckpointStatus:
        """Says that it is meant that not all is used; there are no warnings here in any case."""
        return self

    def run_restore_ops(self, session: Any = None) -> None:
        """Sets the variables to the values in the checkpoint.

        Raises:
            RuntimeError: there is no session.
            InvalidArgumentError: a variable has another shape or dtype there.
            NotFoundError: a Saver wrote it, and a variable's name is not in it.
        """
        if self._path is None:
            raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")
        session = _session(session)
        with session.graph.as_default():
            found, _, everything = self._match()
            if self._message is None and (missing := self._missing()):
                names = ", ".join(sorted(everything[key].op.name for key in missing))
                raise errors.NotFoundError(
                    None,
                    None,
                    f"Checkpoint {self._path} was written by a Saver, which restores by names, and lacks "
                    f"{names}. Restore it by a tf.train.Saver whose var_list maps its names to variables.",
                )
            if not found:
                return
            saver, _ = self._checkpoint._saver(found, None, has_objects=self._message is not None)
        session.run(saver.restore_op_name, {saver.filename_tensor_name: self._path})

    def initialize_or_restore(self, session: Any = None) -> None:
        """Initializes the variables that the checkpoint lacks, and restores the others.

        Raises:
            RuntimeError: there is no session.
            InvalidArgumentError: a variable has another shape or dtype in the checkpoint.
        """
        session = _session(session)
        with session.graph.as_default():
            found, _, everything = ({}, [], self._match()[2]) if self._path is None else self._match()
            known = {id(v) for v in found.values()}
            initializers = [v.initializer for v in everything.values() if id(v) not in known]
            initialize = group(*initializers)
        session.run(initialize)
        if found:
            self.run_restore_ops(session)


def _session(session: Any) -> Any:
    found = session or get_default_session()
    if found is None:
        raise RuntimeError(
            "A checkpoint is written and restored by a session: give one, or use a `with tf.Session()` block."
        )
    return found
