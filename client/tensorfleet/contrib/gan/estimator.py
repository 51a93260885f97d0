"""`tf.contrib.gan.estimator`: adversarial models as estimators."""

import typing as _typing

from tensorfleet.contrib.adversarial.estimators import (
    GANEstimator as GANEstimator,
    GANHead as GANHead,
    StarGANEstimator as StarGANEstimator,
    SummaryType as SummaryType,
    gan_head as gan_head,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
