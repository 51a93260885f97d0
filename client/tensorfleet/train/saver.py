"""`tf.train.Saver`: checkpoints of the variables of a graph."""

from __future__ import annotations

import itertools
import math
import numbers
import os
import threading
import time
from collections.abc import Iterator, ValuesView
from typing import Any

from tensorfleet.core import errors, logging
from tensorfleet.export import meta_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.scopes import prepend_scope, strip_scope
from tensorfleet.proto.meta_graph_pb2 import MetaGraphDef
from tensorfleet.proto.saver_pb2 import SaverDef
from tensorfleet.session.session import BaseSession
from tensorfleet.train import checkpoint_management, restore_errors
from tensorfleet.train.saveables import all_saveable_objects
from tensorfleet.train.saver_builder import BaseSaverBuilder, BulkSaverBuilder


class Saver:
    """Saves and restores variables (`tf.train.Saver`). For the location of the files see docs/checkpoints.md.

    Args:
        var_list: the variables, or a dict from names in the checkpoint to variables; by default all global
            variables and saveable objects.
        reshape: restore variables that were saved in another shape.
        sharded: let each task write its own variables; all tasks must share a file system.
        max_to_keep: the number of checkpoints to keep; None or 0 for all.
        keep_checkpoint_every_n_hours: the interval, in hours, at which a checkpoint is kept for good.
        name: the prefix of the nodes, "save" by default.
        restore_sequentially: ignored, as in TensorFlow.
        saver_def: a message that names existing nodes to use, instead of adding nodes.
        builder: the builder of the nodes, a BulkSaverBuilder by default.
        defer_build: add the nodes only when `build` is called.
        allow_empty: do nothing, instead of failing, if there are no variables.
        write_version: the format, V2 or V1; V1 needs `sharded=False`.
        pad_step_number: pad the step in the names of checkpoints to eight digits.
        save_relative_paths: write relative paths to the `checkpoint` file.
        filename: the default value of the node with the checkpoint's name.

    Raises:
        TypeError: an item of `var_list` is not a variable.
        ValueError: there are no variables, two have the same name, or `saver_def` does not name nodes.

    Example:
        >>> import tempfile
        >>> v = tf.Variable([1.0, 2.0], name="v")
        >>> with tf.Session() as session, tempfile.TemporaryDirectory() as folder:
        ...     session.run(v.initializer)
        ...     path = tf.train.Saver().save(session, f"{folder}/model")
        ...     tf.train.load_variable(path, "v")
        array([1., 2.], dtype=float32)
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: SaverDef | None = None,
        builder: BaseSaverBuilder | None = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = SaverDef.V2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if defer_build and _is_filled(var_list):
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set defer_build=False or "
                "var_list=None."
            )
        # An iterator, which can be consumed only once, is needed twice.
        self._var_list = list(var_list) if isinstance(var_list, (Iterator, ValuesView)) else var_list
        self._reshape = reshape
        self._sharded = sharded
        self._max_to_keep = max_to_keep
        self._keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self._name = name
        self._restore_sequentially = restore_sequentially
        self.saver_def = saver_def
        self._builder = builder
        self._allow_empty = allow_empty
        self._write_version = write_version
        self._pad_step_number = pad_step_number
        self._save_relative_paths = save_relative_paths
        self._filename = filename
        self._is_built = False
        self._is_empty = False
        self._last_checkpoints: list[tuple[str, float]] = []
        self._turns = itertools.count()
        self._turn_of: dict[str, int] = {}
        """When each checkpoint of this Saver's own was begun, by path."""
        self._newest: dict[tuple[str, str], str] = {}
        """The checkpoint of those begun last, by directory and name of the file that says so."""
        self._records = threading.Lock()
        self._next_checkpoint_time = math.inf
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Adds the nodes, if they have not been added yet."""
        if self._is_built:
            return
        self._is_built = True
        if self.saver_def is None:
            if self._var_list is None:
                self._var_list = all_saveable_objects()
            if not _is_filled(self._var_list):
                if not self._allow_empty:
                    raise ValueError("No variables to save")
                self._is_empty = True
                return
            builder = self._builder or BulkSaverBuilder(self._write_version)
            self.saver_def = builder.build(
                self._var_list,
                reshape=self._reshape,
                sharded=self._sharded,
                max_to_keep=self._max_to_keep,
                keep_checkpoint_every_n_hours=self._keep_checkpoint_every_n_hours,
                name=self._name,
                restore_sequentially=self._restore_sequentially,
                filename=self._filename,
            )
        else:
            self.saver_def = _checked(self.saver_def, self._name)
        self._next_checkpoint_time = time.time() + self._keep_interval_secs()

    def _keep_interval_secs(self) -> float:
        """The interval at which a checkpoint is kept for good, in seconds."""
        assert self.saver_def is not None
        return self.saver_def.keep_checkpoint_every_n_hours * 3600

    def as_saver_def(self) -> SaverDef | None:
        """The message that describes the Saver; None if it is empty."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> SaverDef | None:
        """The message with names relative to a name scope; None if the Saver is not in it."""
        if export_scope is None or self.saver_def is None:
            return self.saver_def
        names = [getattr(self.saver_def, field) for field in _NAME_FIELDS]
        if not all(name.startswith(export_scope) for name in names):
            return None
        result = SaverDef()
        result.CopyFrom(self.saver_def)
        for field, name in zip(_NAME_FIELDS, names, strict=True):
            setattr(result, field, strip_scope(name, export_scope))
        return result

    @staticmethod
    def from_proto(saver_def: SaverDef, import_scope: str | None = None) -> Saver:
        """The Saver that a message describes, with nodes in `import_scope`."""
        return Saver(saver_def=saver_def, name=import_scope)

    # The existing checkpoints

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that are kept, oldest first."""
        return [path for path, _ in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints: list[str]) -> None:
        """Sets what `last_checkpoints` returns. Raises AssertionError if it is no list."""
        if not isinstance(last_checkpoints, list):
            raise AssertionError(f"last_checkpoints must be a list, got {last_checkpoints!r}")
        self._last_checkpoints = [(path, math.inf) for path in last_checkpoints]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: list[tuple[str, float]]) -> None:
        """Sets the checkpoints and the times of their writing, in seconds since 1970.

        Raises:
            AssertionError: it is no list.
        """
        if not isinstance(last_checkpoints_with_time, list):
            raise AssertionError(f"last_checkpoints must be a list, got {last_checkpoints_with_time!r}")
        self._last_checkpoints = list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: list[str]) -> None:
        """Sets the checkpoints to those of `checkpoint_paths` that exist, for use after a restart."""
        times = ((path, checkpoint_management.get_checkpoint_mtimes([path])) for path in checkpoint_paths)
        self._last_checkpoints = [(path, found[0]) for path, found in times if found]

    # Saving

    def save(
        self,
        sess: Any,
        save_path: Any,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Saves the variables and returns the name of the checkpoint (None if there are no variables).

        Args:
            sess: the session with the variables.
            save_path: the name; with `global_step`, "-" and the number are appended.
            global_step: a number, or a tensor or variable with it.
            latest_filename: the name of the `checkpoint` file.
            meta_graph_suffix: the suffix of the file with the graph.
            write_meta_graph: whether to write the file with the graph.
            write_state: whether to write the `checkpoint` file and delete checkpoints beyond `max_to_keep`.
            strip_default_attrs: leave attributes with their default value out of the graph.
            save_debug_info: ignored.

        Raises:
            TypeError: `sess` is not a session.
            ValueError: names collide, or the directory does not exist.
            RuntimeError: the Saver has not been built.
            OpError: the files could not be written; an older checkpoint of that name is unchanged.
        """
        if not self._is_built:
            raise RuntimeError("`build()` should be called before save if defer_build==True")
        latest_filename = latest_filename or "checkpoint"
        if os.path.dirname(latest_filename):
            raise ValueError("'latest_filename' must not contain path components")
        path = os.fsdecode(save_path)
        turn = next(self._turns)
        if global_step is not None:
            number = global_step if isinstance(global_step, numbers.Integral) else sess.run(global_step)
            name = f"{path}-{int(number):08d}" if self._pad_step_number else f"{path}-{int(number)}"
        elif os.path.basename(path) == latest_filename and not self._sharded:
            raise ValueError(f"'latest_filename' collides with 'save_path': '{latest_filename}' and '{path}'")
        else:
            name = path
        if not isinstance(sess, BaseSession):
            raise TypeError(f"'sess' must be a Session; {sess}")
        saved = None
        if not self._is_empty:
            saved = self._run_save(sess, name)
            if write_state and _is_here(saved):
                self._record(saved, turn, os.path.dirname(path), latest_filename, meta_graph_suffix)
        if write_meta_graph:
            with sess.graph.as_default():
                self.export_meta_graph(
                    checkpoint_management.meta_graph_filename(name, meta_graph_suffix),
                    strip_default_attrs=strip_default_attrs,
                )
        return saved

    def _run_save(self, sess: BaseSession, name: str) -> str:
        assert self.saver_def is not None
        try:
            saved = sess.run(self.saver_def.save_tensor_name, {self.saver_def.filename_tensor_name: name})
        except (errors.FailedPreconditionError, errors.NotFoundError) as e:
            if not os.path.isdir(os.path.dirname(name) or "."):
                raise ValueError(f"Parent directory of {name} doesn't exist, can't save.") from e
            raise
        return os.fsdecode(saved)

    def _record(
        self, path: str, turn: int, directory: str, latest_filename: str, meta_graph_suffix: str
    ) -> None:
        """Writes the `checkpoint` file, then deletes the oldest checkpoint if there are too many.

        A save that was begun before another one and ends after it, in a thread that saves from time to time,
        does not become the latest checkpoint: what it holds is older.
        """
        assert self.saver_def is not None
        too_old = None
        file = directory, latest_filename
        with self._records:
            self._turn_of[path] = turn
            if turn >= self._turn_of.get(self._newest.get(file, ""), -1):
                self._newest[file] = path
            if self.saver_def.max_to_keep:
                kept = [known for known in self._last_checkpoints if known[0] != path]
                kept.append((path, time.time()))
                kept.sort(key=lambda known: self._turn_of.get(known[0], -1))
                if len(kept) > self.saver_def.max_to_keep:
                    too_old = kept.pop(0)
                self._last_checkpoints = kept
            known_paths = {*self._newest.values(), *self.last_checkpoints}
            self._turn_of = {known: begun for known, begun in self._turn_of.items() if known in known_paths}
        newest = ""
        while newest != self._newest[file]:  # another thread may have recorded its own while this one wrote
            newest = self._newest[file]
            checkpoint_management.update_state(
                directory, newest, self.last_checkpoints, latest_filename, self._save_relative_paths
            )
        if too_old is None:
            return
        if too_old[1] > self._next_checkpoint_time:
            self._next_checkpoint_time += self._keep_interval_secs()
            return
        try:
            checkpoint_management.remove_checkpoint(too_old[0], self.saver_def.version, meta_graph_suffix)
        except OSError as e:
            # The new checkpoint is complete; failing to delete an old one must not end training.
            logging.warning("Ignoring: %s", e)

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: list[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> MetaGraphDef:
        """A MetaGraphDef of the default graph, its collections and this Saver; `filename` to write it to.

        The arguments are those of `tf.train.export_meta_graph`.
        """
        return meta_graph.export_meta_graph(
            filename=filename,
            saver_def=self.saver_def,
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
            save_debug_info=save_debug_info,
        )

    # Restoring

    def restore(self, sess: Any, save_path: Any) -> None:
        """Sets the variables to the saved values; they need not be initialized.

        Raises:
            ValueError: there is no such checkpoint.
            NotFoundError: variables are missing in the checkpoint.
            InvalidArgumentError: variables have another shape or dtype in the checkpoint.
            DataLossError: the files are damaged.
        """
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        path = os.fsdecode(save_path)
        if not checkpoint_management.checkpoint_exists(path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {path}")
        assert self.saver_def is not None
        logging.info("Restoring parameters from %s", path)
        restore_errors.check(self._var_list, path, self._reshape)
        try:
            sess.run(self.saver_def.restore_op_name, {self.saver_def.filename_tensor_name: path})
        except errors.NotFoundError as e:
            raise restore_errors.not_found(e, path) from e
        except errors.InvalidArgumentError as e:
            raise restore_errors.mismatch(e) from e


def _is_filled(var_list: Any) -> bool:
    # A tensor or variable, which is an error here, has no truth value.
    return bool(var_list) if isinstance(var_list, (list, tuple, set, dict)) else var_list is not None


_NAME_FIELDS = ("filename_tensor_name", "save_tensor_name", "restore_op_name")


def _checked(saver_def: SaverDef, scope: str | None) -> SaverDef:
    """A copy of the message, with its names in `scope`."""
    if not isinstance(saver_def, SaverDef):
        raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {saver_def}")
    for field in ("save_tensor_name", "restore_op_name"):
        if not getattr(saver_def, field):
            raise ValueError(f"saver_def must specify the {field}: {saver_def}")
    result = SaverDef()
    result.CopyFrom(saver_def)
    for field in _NAME_FIELDS:
        setattr(result, field, prepend_scope(getattr(result, field), scope))
    return result


def _is_here(path: str) -> bool:
    """Whether this process can read the checkpoint that a task has written; logs a warning if not."""
    if checkpoint_management.checkpoint_exists(path):
        return True
    logging.warning(
        "The session's task has written checkpoint %s to its own file system, which this process cannot "
        "read: no `checkpoint` file is written, old checkpoints are not deleted, and this process cannot "
        "restore. Use a shared directory, or a session on a tf.train.Server of this machine.",
        path,
    )
    return False


meta_graph.register_from_proto(
    GraphKeys.SAVERS, lambda value, scope: Saver.from_proto(SaverDef.FromString(value), scope)
)


def import_meta_graph(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, **kwargs: Any
) -> Saver | None:
    """Adds an exported graph to the default graph (`tf.train.import_meta_graph`).

    Args:
        meta_graph_or_file: a MetaGraphDef, or the name of a file with one.
        clear_devices: remove the nodes' devices.
        import_scope: the prefix of the names of its nodes.
        kwargs: arguments of `tf.import_graph_def`.

    Returns:
        The Saver in the graph; without one, a Saver of its variables; None if it has none.

    Raises:
        OSError: the file cannot be read.
        ValueError: the graph cannot be imported: see `tf.import_graph_def`.
    """
    definition, scope, _ = meta_graph.import_scoped(meta_graph_or_file, clear_devices, import_scope, **kwargs)
    if definition.HasField("saver_def"):
        return Saver(saver_def=definition.saver_def, name=scope or None)
    if all_saveable_objects(scope):
        return Saver()
    logging.info("Saver not created because there are no variables in the graph to restore")
    return None
