"""`tf.saved_model.loader`: reading SavedModels."""

import typing as _typing

from tensorfleet.saved_model.files import maybe_saved_model_directory as maybe_saved_model_directory
from tensorfleet.saved_model.loading import load as load

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
