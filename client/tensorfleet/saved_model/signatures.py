"""Signatures: the inputs and outputs of a model by the names that callers use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.tensor_util import make_tensor_proto
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.proto.meta_graph_pb2 import SignatureDef, TensorInfo
from tensorfleet.proto.tensor_pb2 import TensorProto
from tensorfleet.saved_model import signature_constants as names
from tensorfleet.saved_model.tensor_infos import build_tensor_info


def build_signature_def(
    inputs: Mapping[str, TensorInfo] | None = None,
    outputs: Mapping[str, TensorInfo] | None = None,
    method_name: str | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> SignatureDef:
    """A signature (`tf.saved_model.build_signature_def`).

    Args:
        inputs, outputs: TensorInfos by the names that callers use.
        method_name: the kind of call; `tf.saved_model.signature_constants` has those of servers.
        defaults: the values of optional inputs: constants, TensorProtos or arrays.

    Raises:
        ValueError: a default is a tensor that is not constant.
    """
    signature = SignatureDef()
    for target, infos in ((signature.inputs, inputs), (signature.outputs, outputs)):
        for key, info in (infos or {}).items():
            target[key].CopyFrom(info)
    if method_name is not None:
        signature.method_name = method_name
    for key, value in (defaults or {}).items():
        signature.defaults[key].CopyFrom(_constant(key, value))
    return signature


def _constant(key: str, value: Any) -> TensorProto:
    if isinstance(value, TensorProto):
        return value
    if isinstance(value, Tensor):
        known = static_value(value)
        if known is None:
            raise ValueError(f"The default of the input {key!r} has to be a constant, got {value}")
        return make_tensor_proto(known, value.dtype.base)
    return make_tensor_proto(value)


def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> SignatureDef:
    """A signature for the Predict API (`tf.saved_model.predict_signature_def`).

    Args:
        inputs, outputs: tensors by name.

    Raises:
        ValueError: `inputs` or `outputs` is empty.
    """
    for what, tensors in (("inputs", inputs), ("outputs", outputs)):
        if not tensors:
            raise ValueError(f"Prediction `{what}` cannot be None or empty.")
    return build_signature_def(
        {key: build_tensor_info(tensor) for key, tensor in inputs.items()},
        {key: build_tensor_info(tensor) for key, tensor in outputs.items()},
        names.PREDICT_METHOD_NAME,
    )


def _of_examples(kind: str, examples: Any) -> dict[str, TensorInfo]:
    if examples is None:
        raise ValueError(f"{kind} `examples` cannot be None.")
    if not isinstance(examples, Tensor):
        raise ValueError(
            f"{kind} `examples` must be a string Tensor. Found `examples` of type {type(examples)}."
        )
    info = build_tensor_info(examples)
    if info.dtype != dtypes.string.as_datatype_enum:
        raise ValueError(
            f"{kind} input tensors must be of type string. Found tensors with type {info.dtype}."
        )
    return {"inputs": info}


def regression_signature_def(examples: Any, predictions: Any) -> SignatureDef:
    """A signature for the Regress API (`tf.saved_model.regression_signature_def`).

    Args:
        examples: a string tensor of serialized Examples.
        predictions: a float32 tensor.

    Raises:
        ValueError: a tensor is missing or has another dtype.
    """
    inputs = _of_examples("Regression", examples)
    if predictions is None:
        raise ValueError("Regression `predictions` cannot be None.")
    info = build_tensor_info(convert_to_tensor(predictions))
    if info.dtype != dtypes.float32.as_datatype_enum:
        raise ValueError(
            f"Regression output tensors must be of type float. Found tensors with type {info.dtype}."
        )
    return build_signature_def(inputs, {names.REGRESS_OUTPUTS: info}, names.REGRESS_METHOD_NAME)


def classification_signature_def(examples: Any, classes: Any, scores: Any) -> SignatureDef:
    """A signature for the Classify API (`tf.saved_model.classification_signature_def`).

    Args:
        examples: a string tensor of serialized Examples.
        classes: a string tensor, or None.
        scores: a float32 tensor, or None.

    Raises:
        ValueError: the examples or both others are missing, or a tensor has another dtype.
    """
    inputs = _of_examples("Classification", examples)
    if classes is None and scores is None:
        raise ValueError("Classification `classes` and `scores` cannot both be None.")
    outputs = {}
    for key, tensor, dtype, text in (
        (names.CLASSIFY_OUTPUT_CLASSES, classes, dtypes.string, "string Tensor"),
        (names.CLASSIFY_OUTPUT_SCORES, scores, dtypes.float32, "float32 Tensor"),
    ):
        if tensor is None:
            continue
        info = build_tensor_info(convert_to_tensor(tensor))
        if info.dtype != dtype.as_datatype_enum:
            raise ValueError(
                f"Classification {key} must be of type {text}. Found tensors of type {info.dtype}."
            )
        outputs[key] = info
    return build_signature_def(inputs, outputs, names.CLASSIFY_METHOD_NAME)


def is_valid_signature(signature_def: SignatureDef | None) -> bool:
    """Whether the signature is valid for one of a server's methods (`tf.saved_model.is_valid_signature`)."""
    if signature_def is None or not signature_def.inputs or not signature_def.outputs:
        return False
    inputs, outputs = signature_def.inputs, signature_def.outputs
    method = signature_def.method_name
    if method == names.PREDICT_METHOD_NAME:
        return True
    strings, floats = dtypes.string.as_datatype_enum, dtypes.float32.as_datatype_enum
    if set(inputs) != {names.CLASSIFY_INPUTS} or inputs[names.CLASSIFY_INPUTS].dtype != strings:
        return False
    if method == names.REGRESS_METHOD_NAME:
        return set(outputs) == {names.REGRESS_OUTPUTS} and outputs[names.REGRESS_OUTPUTS].dtype == floats
    allowed = {names.CLASSIFY_OUTPUT_CLASSES: strings, names.CLASSIFY_OUTPUT_SCORES: floats}
    return method == names.CLASSIFY_METHOD_NAME and all(
        allowed.get(key) == info.dtype for key, info in outputs.items()
    )
