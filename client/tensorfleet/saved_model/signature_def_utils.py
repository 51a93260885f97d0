"""`tf.saved_model.signature_def_utils`: signatures, the named inputs and outputs of a model."""

import typing as _typing

from tensorfleet.saved_model.method_names import MethodNameUpdater as MethodNameUpdater
from tensorfleet.saved_model.signatures import (
    build_signature_def as build_signature_def,
    classification_signature_def as classification_signature_def,
    is_valid_signature as is_valid_signature,
    predict_signature_def as predict_signature_def,
    regression_signature_def as regression_signature_def,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
