"""`tf.keras.estimator`: models as estimators."""

import typing as _typing

from tensorfleet.keras.model_estimator import (
    model_to_estimator as model_to_estimator,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
