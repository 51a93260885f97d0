"""`tf.saved_model.builder`: writing SavedModels."""

import typing as _typing

from tensorfleet.saved_model.saving import SavedModelBuilder as SavedModelBuilder

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
