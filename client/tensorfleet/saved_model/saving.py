"""`tf.saved_model.Builder`, which writes SavedModels, and `simple_save`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.any_pb2 import Any as AnyProto

from tensorfleet.checkpoint import files as checkpoint_files
from tensorfleet.core import dtypes, logging
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.proto.meta_graph_pb2 import AssetFileDef, MetaGraphDef, SignatureDef, TensorInfo
from tensorfleet.proto.saved_model_pb2 import SavedModel
from tensorfleet.saved_model import constants, files, signature_constants, tag_constants
from tensorfleet.saved_model.signatures import predict_signature_def
from tensorfleet.saved_model.tensor_infos import INIT_OP_KEY
from tensorfleet.saved_model.writing import write
from tensorfleet.train.saveables import all_saveable_objects
from tensorfleet.train.saver import Saver

TRAIN_OP_KEY = "__saved_model_train_op"
_RESERVED = {INIT_OP_KEY: "initialization", TRAIN_OP_KEY: "the train op"}
_ASSET_TYPE = "type.googleapis.com/tensorflow.AssetFileDef"


class SavedModelBuilder:
    """Writes a model for servers and for other programs (`tf.saved_model.Builder`).

    The first graph is added with the values of its variables; further graphs share them. The session's tasks
    write the variables (docs/checkpoints.md), this process all other files.

    Args:
    export_dir: the directory, which is made; it may exist if it is empty.

    Raises:
    AssertionError: the directory is not empty.

    Example:
        >>> import os, tempfile
        >>> x = tf.placeholder(tf.float32, [None], name="x")
        >>> w = tf.Variable(3.0, name="w")
        >>> with tf.Session() as session, tempfile.TemporaryDirectory() as folder:
        ...     session.run(w.initializer)
        ...     builder = tf.saved_model.Builder(os.path.join(folder, "model"))
        ...     builder.add_meta_graph_and_variables(
        ...         session,
        ...         [tf.saved_model.SERVING],
        ...         {"serving_default": tf.saved_model.predict_signature_def({"x": x}, {"y": x * w})},
        ...     )
        ...     os.path.basename(builder.save())
        b'saved_model.pb'
    """

    def __init__(self, export_dir: Any) -> None:
        self._export_dir = os.fsdecode(export_dir)
        self._saved_model = SavedModel(saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION)
        self._has_saved_variables = False
        with checkpoint_files.reported(self._export_dir):
            if os.path.isdir(self._export_dir) and os.listdir(self._export_dir):
                raise AssertionError(
                    f"Export directory {self._export_dir} already exists, and isn't empty. Please choose a "
                    "different export directory, or delete all the contents of the specified directory."
                )
            os.makedirs(self._export_dir, exist_ok=True)

    def add_meta_graph_and_variables(
        self,
        sess: Any,
        tags: Any,
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_collection: Iterable[Any] | None = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Adds the session's graph, and writes its variables and assets.

        Args:
            sess: the session with the variables.
            tags: the tags of the graph, by which it is loaded.
            signature_def_map: the signatures by name.
            assets_collection: tensors of paths, such as those of `tf.GraphKeys.ASSET_FILEPATHS`. The files
                are copied; a loader feeds the tensors with the paths of the copies.
            legacy_init_op: the older name of `main_op`.
            clear_devices: remove the nodes' devices.
            main_op: the operation that a loader runs first.
            strip_default_attrs: leave out attributes with their default value.
            saver: the Saver of the variables, by default a new one of all variables.

        Raises:
            AssertionError: variables have already been written, or a signature's tensor has no name or dtype.
            KeyError: a signature has a reserved name.
            TypeError: `main_op` is not an operation.
            ValueError: the graph has a main operation already.
            OpError: a file could not be written or copied.
        """
        if self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke "
                "`add_meta_graph()` instead."
            )
        _check(signature_def_map)
        with sess.graph.as_default():
            self._add_collections(assets_collection, main_op if main_op is not None else legacy_init_op)
            saver = saver or _default_saver()
            prefix = files.variables_prefix(self._export_dir)
            with checkpoint_files.reported(prefix):
                os.makedirs(os.path.dirname(prefix), exist_ok=True)
            saver.save(sess, prefix, write_meta_graph=False, write_state=False)
            self._add(saver, tags, signature_def_map, clear_devices, strip_default_attrs)
        self._has_saved_variables = True

    def add_meta_graph(
        self,
        tags: Any,
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_collection: Iterable[Any] | None = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Adds the default graph, whose variables must be among those that have been written.

        The arguments are those of `add_meta_graph_and_variables`.

        Raises:
            AssertionError: no variables have been written yet, or a signature's tensor has no name or dtype.
            TypeError: `main_op` is not an operation.
            ValueError: the graph has a main operation already.
        """
        if not self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Please invoke "
                "`add_meta_graph_and_variables()` first."
            )
        _check(signature_def_map)
        self._add_collections(assets_collection, main_op if main_op is not None else legacy_init_op)
        self._add(saver or _default_saver(), tags, signature_def_map, clear_devices, strip_default_attrs)

    def save(
        self,
        as_text: bool = False,
        experimental_image_format: bool = False,
        experimental_image_writer_options: Any = None,
    ) -> bytes:
        """Writes the added graphs and returns the file's path.

        Args:
            as_text: write text, `saved_model.pbtxt`.
            experimental_image_format, experimental_image_writer_options: not supported.

        Raises:
            NotImplementedError: `experimental_image_format` is set.
            OpError: the file cannot be written.
        """
        if experimental_image_format:
            raise NotImplementedError("experimental_image_format is not supported: leave it out")
        path = write(self._saved_model, self._export_dir, as_text)
        logging.info("SavedModel written to: %s", path)
        return os.fsencode(path)

    def _add(
        self,
        saver: Saver,
        tags: Any,
        signatures: Mapping[str, SignatureDef] | None,
        clear_devices: bool,
        strip_default_attrs: bool,
    ) -> None:
        definition: MetaGraphDef = saver.export_meta_graph(
            clear_devices=clear_devices, clear_extraneous_savers=True, strip_default_attrs=strip_default_attrs
        )
        definition.meta_info_def.tags.extend(tags)
        for key, signature in (signatures or {}).items():
            definition.signature_def[key].CopyFrom(signature)
        self._saved_model.meta_graphs.add().CopyFrom(definition)

    def _add_collections(self, assets: Iterable[Any] | None, main_op: Any) -> None:
        graph = get_default_graph()
        listed = _assets(assets or ())
        for info, source, name in listed:
            graph.add_to_collection(
                constants.ASSETS_KEY,
                AnyProto(
                    type_url=_ASSET_TYPE,
                    value=AssetFileDef(tensor_info=info, filename=name).SerializeToString(),
                ),
            )
            self._copy(source, name)
        if main_op is not None:
            if not isinstance(main_op, Operation):
                raise TypeError(
                    f"Expected {main_op} to be an Operation but got type {type(main_op)} instead."
                )
            for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
                if graph.get_collection(key):
                    raise ValueError(
                        f"Graph already contains one or more main ops under the collection {key}."
                    )
            graph.add_to_collection(constants.MAIN_OP_KEY, main_op)

    def _copy(self, source: str, name: str) -> None:
        target = files.asset_path(self._export_dir, name)
        with checkpoint_files.reported(source):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if not os.path.exists(target):
                shutil.copyfile(source, target)


def _assets(tensors: Iterable[Any]) -> list[tuple[TensorInfo, str, str]]:
    """(tensor, path, name of the copy) of each asset; files of the same name get numbers."""
    taken: dict[str, str] = {}
    found = []
    for tensor in tensors:
        if not isinstance(tensor, Tensor) or tensor.dtype.base is not dtypes.string:
            raise ValueError(f"An asset must be a string tensor with the file's path; got {tensor!r}")
        value = static_value(tensor)
        if value is None or value.shape:
            raise ValueError(f"The path of the asset {tensor.name} has to be one constant string")
        path = os.fsdecode(value.item())
        if not path:
            raise ValueError(f"The path of the asset {tensor.name} is empty")
        base = os.path.basename(path)
        name, number = base, 0
        while taken.setdefault(name, path) != path:
            number += 1
            name = f"{base}_{number}"
        info = TensorInfo(name=tensor.name)
        found.append((info, path, name))
    return found


def _check(signatures: Mapping[str, SignatureDef] | None) -> None:
    for key, signature in (signatures or {}).items():
        if key in _RESERVED:
            raise KeyError(
                f'SignatureDef map key "{key}" is reserved for {_RESERVED[key]}. Please use a different key.'
            )
        for info in (*signature.inputs.values(), *signature.outputs.values()):
            if info.WhichOneof("encoding") is None:
                lacks = "one of the 'encoding' fields (e.g., name or coo_sparse)"
            elif info.dtype == 0:
                lacks = "the dtype field"
            else:
                continue
            raise AssertionError(
                f"Invalid `tensor_info`: {info}. All TensorInfo protos used in the SignatureDefs must have "
                f"{lacks} set."
            )


def _default_saver() -> Saver:
    return Saver(all_saveable_objects(), sharded=True, allow_empty=True)


def simple_save(
    session: Any,
    export_dir: Any,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    legacy_init_op: Any = None,
) -> None:
    """Writes the session's graph for serving (`tf.saved_model.simple_save`).

    Args:
        session: the session with the variables.
        export_dir: the directory, which is made.
        inputs, outputs: tensors by the names that callers use.
        legacy_init_op: the operation that a loader runs first.

    Raises:
        AssertionError: the directory is not empty.
        OpError: a file could not be written.

    Example:
        >>> import os, tempfile
        >>> x = tf.placeholder(tf.float32, name="x")
        >>> w = tf.Variable(3.0, name="w")
        >>> with tf.Session() as session, tempfile.TemporaryDirectory() as folder:
        ...     session.run(w.initializer)
        ...     tf.saved_model.simple_save(session, os.path.join(folder, "1"), {"x": x}, {"y": x * w})
        ...     tf.saved_model.contains_saved_model(os.path.join(folder, "1"))
        True
    """
    signature = predict_signature_def(inputs, outputs)
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session,
        [tag_constants.SERVING],
        {signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
        assets_collection=session.graph.get_collection(GraphKeys.ASSET_FILEPATHS),
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()
