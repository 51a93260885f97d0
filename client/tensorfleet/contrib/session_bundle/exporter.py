"""`tf.contrib.session_bundle.exporter`: models in the form that was served before there were SavedModels."""

import typing as _typing

from tensorfleet.contrib.bundle_exporter import (
    Exporter as Exporter,
    classification_signature as classification_signature,
    generic_signature as generic_signature,
    gfile_copy_callback as gfile_copy_callback,
    regression_signature as regression_signature,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
