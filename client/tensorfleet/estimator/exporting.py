"""Estimators as SavedModels."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tensorfleet.core.logging import info, warning
from tensorfleet.estimator.export_outputs import EvalOutput, ExportOutput, TrainOutput
from tensorfleet.estimator.mode_keys import ModeKeys
from tensorfleet.estimator.receivers import (
    ServingInputReceiver,
    SupervisedInputReceiver,
    TensorServingInputReceiver,
)
from tensorfleet.estimator.spec import EstimatorSpec
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.control_flow.control import group
from tensorfleet.proto.meta_graph_pb2 import SignatureDef
from tensorfleet.saved_model import tag_constants
from tensorfleet.saved_model.saving import SavedModelBuilder
from tensorfleet.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from tensorfleet.saved_model.signatures import is_valid_signature
from tensorfleet.session.session import Session
from tensorfleet.train.saver import Saver
from tensorfleet.train.scaffold import Scaffold

if TYPE_CHECKING:
    from tensorfleet.estimator.estimator import Estimator

# The first graph comes with the variables: the one that trains has all that the others have.
_ORDER = (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT)
_TAGS = {
    ModeKeys.TRAIN: tag_constants.TRAINING,
    ModeKeys.EVAL: "eval",
    ModeKeys.PREDICT: tag_constants.SERVING,
}
_EXTRA_ASSETS = "assets.extra"


def export(
    estimator: Estimator,
    export_dir_base: Any,
    receiver_fns: Mapping[str, Callable[[], Any]],
    assets_extra: Mapping[str, Any] | None,
    as_text: bool,
    checkpoint_path: str | None,
    strip_default_attrs: bool,
) -> bytes:
    """Writes a SavedModel with a graph for each mode, and returns its directory.

    Raises:
        ValueError: there is no checkpoint, a mode is unknown, or a function is missing or returns nothing
            that fits its mode.
    """
    path = checkpoint_path or estimator.latest_checkpoint()
    if not path:
        raise ValueError(f"Couldn't find trained model at {estimator.model_dir}.")
    for mode, function in receiver_fns.items():
        if mode not in _ORDER:
            raise ValueError(f"Unsupported export mode {mode!r}: it is one of tf.estimator.ModeKeys")
        if function is None:
            raise ValueError("An input_receiver_fn must be defined.")
    if not receiver_fns:
        raise ValueError("No valid modes for exporting found: input_receiver_fn_map is empty.")
    final = _new_directory(os.fsdecode(export_dir_base))
    # Whoever looks for models sees only what is complete.
    temporary = os.path.join(os.path.dirname(final), f"temp-{os.path.basename(final)}")
    builder = SavedModelBuilder(temporary)
    with_variables = True
    for mode in (mode for mode in _ORDER if mode in receiver_fns):
        _add_graph(estimator, builder, mode, receiver_fns[mode], path, with_variables, strip_default_attrs)
        with_variables = False
    builder.save(as_text)
    for target, source in (assets_extra or {}).items():
        copied = os.path.join(temporary, _EXTRA_ASSETS, target)
        os.makedirs(os.path.dirname(copied), exist_ok=True)
        shutil.copyfile(os.fsdecode(source), copied)
    os.rename(temporary, final)
    return os.fsencode(final)


def _new_directory(base: str) -> str:
    """A name below `base` that is the time, in seconds, or the next one that is free."""
    stamp = int(time.time())
    while os.path.exists(os.path.join(base, str(stamp))) or os.path.exists(
        os.path.join(base, f"temp-{stamp}")
    ):
        stamp += 1
    return os.path.join(base, str(stamp))


def _add_graph(
    estimator: Estimator,
    builder: SavedModelBuilder,
    mode: str,
    receiver_fn: Callable[[], Any],
    checkpoint_path: str,
    with_variables: bool,
    strip_default_attrs: bool,
) -> None:
    with Graph().as_default() as graph:
        estimator._start_graph(graph)
        receiver = receiver_fn()
        labels = _labels(receiver, mode)
        spec = estimator._call_model_fn(receiver.features, labels, mode, estimator.config)
        signatures = signature_defs(
            receiver.receiver_tensors,
            _outputs(spec, mode),
            receiver.receiver_tensors_alternatives,
            mode == ModeKeys.PREDICT,
        )
        main_op = spec.scaffold.local_init_op
        if main_op is None:
            main_op = Scaffold.default_local_init_op()
        saver = spec.scaffold.saver or Saver(allow_empty=True)
        saver.build()
        arguments: dict[str, Any] = {
            "signature_def_map": signatures,
            "assets_collection": graph.get_collection(GraphKeys.ASSET_FILEPATHS),
            "main_op": group(main_op),
            "strip_default_attrs": strip_default_attrs,
            "clear_devices": True,
            "saver": saver,
        }
        if not with_variables:
            builder.add_meta_graph([_TAGS[mode]], **arguments)
            return
        with Session(config=estimator.config.session_config) as session:
            saver.restore(session, checkpoint_path)
            builder.add_meta_graph_and_variables(session, [_TAGS[mode]], **arguments)


def _labels(receiver: Any, mode: str) -> Any:
    if mode == ModeKeys.PREDICT:
        if not isinstance(receiver, (ServingInputReceiver, TensorServingInputReceiver)):
            raise ValueError(
                "serving_input_receiver_fn should return a tf.estimator.export.ServingInputReceiver, or a "
                f"TensorServingInputReceiver; it returned {receiver!r}."
            )
        return None
    if not isinstance(receiver, SupervisedInputReceiver):
        raise ValueError(
            f"The receiver function of mode {mode!r} should be that of "
            f"build_raw_supervised_input_receiver_fn; it returned {receiver!r}."
        )
    return receiver.labels


def _outputs(spec: EstimatorSpec, mode: str) -> Mapping[str, ExportOutput]:
    if mode == ModeKeys.PREDICT:
        return spec.export_outputs or {}
    kind = EvalOutput if mode == ModeKeys.EVAL else TrainOutput
    return {mode: kind(spec.loss, spec.predictions, spec.eval_metric_ops)}


def signature_defs(
    receiver_tensors: Any,
    export_outputs: Mapping[str, ExportOutput],
    alternatives: Mapping[str, Any] | None = None,
    serving_only: bool = True,
) -> dict[str, SignatureDef]:
    """The signatures of a graph by name; those that do not fit what is fed are left out, and logged.

    Args:
        receiver_tensors: a tensor or tensors by name.
        export_outputs: what the model gives, by the names of the signatures.
        alternatives: other tensors that may be fed; their names stand before those of the signatures.
        serving_only: leave out what no server calls.
    """
    receivers: dict[str | None, Any] = {None: receiver_tensors}
    receivers.update(alternatives or {})
    found: dict[str, SignatureDef] = {}
    for receiver, tensors in receivers.items():
        named = tensors if isinstance(tensors, Mapping) else {"input": tensors}
        for key, output in export_outputs.items():
            name = key or "None"
            if receiver is not None:
                name = f"{receiver}:{name}"
            try:
                signature = output.as_signature_def(named)
            except ValueError as error:
                info("The signature %s is left out: %s", name, error)
                continue
            if not serving_only or is_valid_signature(signature):
                found[name] = signature
    if serving_only and DEFAULT_SERVING_SIGNATURE_DEF_KEY not in found:
        warning("Export includes no default signature!")
    for name, signature in found.items():
        info("Signature %s is included in export: %s", name, signature.method_name)
    return found
