"""`tf.contrib.learn.models`: small models as functions of tensors."""

import typing as _typing

from tensorfleet.contrib.tensor_models import (
    linear_regression as linear_regression,
    linear_regression_zero_init as linear_regression_zero_init,
    logistic_regression as logistic_regression,
    logistic_regression_zero_init as logistic_regression_zero_init,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
