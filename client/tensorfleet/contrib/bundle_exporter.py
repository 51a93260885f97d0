"""Models in the form that was served before there were SavedModels.

An export is a checkpoint `export` with its meta graph, in a directory that is called by the global step.
Collections of the graph say which tensors are to be fed and fetched, and which files it reads.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message

from tensorfleet.contrib import export_choices
from tensorfleet.contrib.session_bundle import constants
from tensorfleet.core import dtypes, file_io
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.proto.graph_pb2 import GraphDef
from tensorfleet.proto.session_bundle_pb2 import AssetFile, Signature, Signatures
from tensorfleet.train.saver import Saver
from tensorfleet.train.step_count import global_step

AssetsCallback = Callable[[Mapping[str, str], str], Any]


def gfile_copy_callback(files_to_copy: Mapping[str, str], export_dir_path: str | bytes) -> None:
    """Copies files into a directory, by the names that the mapping gives them."""
    directory = os.fsdecode(export_dir_path)
    file_io.makedirs(directory)
    for source, name in files_to_copy.items():
        file_io.copy(source, os.path.join(directory, name), overwrite=True)


def regression_signature(input_tensor: Tensor, output_tensor: Tensor) -> Signature:
    """The Signature of a model of one number."""
    signature = Signature()
    signature.regression_signature.input.tensor_name = input_tensor.name
    signature.regression_signature.output.tensor_name = output_tensor.name
    return signature


def classification_signature(
    input_tensor: Tensor, classes_tensor: Tensor | None = None, scores_tensor: Tensor | None = None
) -> Signature:
    """The Signature of a model of classes, their scores, or both."""
    signature = Signature()
    signature.classification_signature.input.tensor_name = input_tensor.name
    if classes_tensor is not None:
        signature.classification_signature.classes.tensor_name = classes_tensor.name
    if scores_tensor is not None:
        signature.classification_signature.scores.tensor_name = scores_tensor.name
    return signature


def generic_signature(name_tensor_map: Mapping[str, Tensor]) -> Signature:
    """The Signature that gives tensors names."""
    signature = Signature()
    for name, tensor in name_tensor_map.items():
        signature.generic_signature.map[name].tensor_name = tensor.name
    return signature


class Exporter:
    """Writes a model with its signatures: `init` once, then `export` as often as it is to be served anew.

    Args:
        saver: a Saver of the model's variables; the number of checkpoints that it keeps does not count here.
    """

    def __init__(self, saver: Saver) -> None:
        saver_def = saver.as_saver_def()
        if saver_def is None:
            raise ValueError("The Saver of an Exporter must be built: it has deferred that.")
        saver_def.ClearField("max_to_keep")
        self._saver = Saver(saver_def=saver_def)
        self._has_init = False
        self._assets: dict[str, str] = {}
        self._assets_callback: AssetsCallback | None = None

    def init(
        self,
        graph_def: GraphDef | None = None,
        init_op: Operation | None = None,
        clear_devices: bool = False,
        default_graph_signature: Signature | None = None,
        named_graph_signatures: Mapping[str, Signature] | None = None,
        assets_collection: Sequence[Tensor] | None = None,
        assets_callback: AssetsCallback | None = gfile_copy_callback,
    ) -> None:
        """Puts what an export says of the graph into the default graph's collections.

        Args:
            graph_def: the graph to serve; that which is exported, if None.
            init_op: what a server runs after it has restored the variables.
            clear_devices: whether the graph to serve has no devices.
            default_graph_signature: the signature without a name.
            named_graph_signatures: the others.
            assets_collection: string constants, each the path of a file that belongs to the export.
            assets_callback: gets these paths with their names in the export, and its directory for them.

        Raises:
            RuntimeError: it was called before.
            TypeError: `init_op` is no Operation, or an asset no constant string.
            ValueError: an asset is empty or no scalar.
        """
        graph = get_default_graph()
        assets = []
        for tensor in assets_collection or ():
            path = _path_of(tensor)
            name = os.path.basename(path)
            assets.append(AssetFile(filename=name))
            assets[-1].tensor_binding.tensor_name = tensor.name
            self._assets[path] = name
        if self._has_init:
            raise RuntimeError("init should be called only once")
        self._has_init = True
        if graph_def or clear_devices:
            served = GraphDef()
            served.CopyFrom(graph_def or graph.as_graph_def())
            if clear_devices:
                for node in served.node:
                    node.device = ""
            graph.add_to_collection(constants.GRAPH_KEY, _packed(served, "tensorflow.GraphDef"))
        if init_op:
            if not isinstance(init_op, Operation):
                raise TypeError(f"init_op needs to be an Operation: {init_op}")
            graph.add_to_collection(constants.INIT_OP_KEY, init_op)
        signatures = Signatures()
        if default_graph_signature:
            signatures.default_signature.CopyFrom(default_graph_signature)
        for name, signature in (named_graph_signatures or {}).items():
            signatures.named_signatures[name].CopyFrom(signature)
        graph.add_to_collection(
            constants.SIGNATURES_KEY, _packed(signatures, "tensorflow.serving.Signatures")
        )
        for asset in assets:
            graph.add_to_collection(constants.ASSETS_KEY, _packed(asset, "tensorflow.serving.AssetFile"))
        self._assets_callback = assets_callback

    def export(
        self,
        export_dir_base: str,
        global_step_tensor: Any,
        sess: Any = None,
        exports_to_keep: export_choices.Choice | None = None,
    ) -> bytes:
        """Writes the model, and returns its directory: `export_dir_base` / the global step in 8 digits.

        Args:
            export_dir_base: the directory of all exports.
            global_step_tensor: the tensor with the number of this one.
            sess: the session with the variables.
            exports_to_keep: a function of `gc` that chooses which ones stay; None keeps all.

        Raises:
            RuntimeError: `init` has not been called, or there is such an export.
        """
        if not self._has_init:
            raise RuntimeError("init must be called first")
        base = export_dir_base.removesuffix("/")
        directory = os.path.join(
            base, constants.VERSION_FORMAT_SPECIFIER % global_step(sess, global_step_tensor)
        )
        if file_io.exists(directory):
            raise RuntimeError(
                "Overwriting exports can cause corruption and are not allowed. "
                f"Duplicate export dir: {os.fsencode(directory)!r}"
            )
        # Servers look for directories of digits, so it gets its name when it is complete.
        unfinished = directory + "-tmp"
        file_io.makedirs(unfinished)
        self._saver.save(
            sess,
            os.path.join(unfinished, constants.EXPORT_BASE_NAME),
            meta_graph_suffix=constants.EXPORT_SUFFIX_NAME,
        )
        if self._assets_callback and self._assets:
            assets = os.path.join(unfinished, constants.ASSETS_DIRECTORY)
            file_io.makedirs(assets)
            self._assets_callback(self._assets, assets)
        file_io.rename(unfinished, directory)
        if exports_to_keep:
            for path in export_choices.negation(exports_to_keep)(
                export_choices.get_paths(base, _with_version)
            ):
                file_io.rmtree(path.path)
        return os.fsencode(directory)


def _packed(message: Message, name: str) -> AnyMessage:
    # By the name that the message has in TensorFlow, which is not its name in this library.
    return AnyMessage(type_url=f"type.googleapis.com/{name}", value=message.SerializeToString())


def _with_version(path: export_choices.Path) -> export_choices.Path | None:
    found = re.fullmatch(r"\d{8}", os.path.basename(path.path))
    return path._replace(export_version=int(found[0])) if found else None


def _path_of(tensor: Tensor) -> str:
    if not isinstance(tensor, Tensor):
        raise TypeError("tensor is not a Tensor")
    if tensor.op.type != "Const":
        raise TypeError("Only constants tensor are supported")
    if tensor.dtype != dtypes.string:
        raise TypeError("File paths should be string")
    values = tensor.op.get_attr("value")
    if values.size != 1:
        raise TypeError("Only scalar tensors are supported")
    path = os.fsdecode(values.item())
    if not path:
        raise ValueError(f"invalid asset filepath tensor {tensor}")
    return path
