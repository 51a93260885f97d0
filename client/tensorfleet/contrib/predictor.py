"""`tf.contrib.predictor`: models of SavedModels, and of estimators, as functions."""

from tensorfleet.contrib.predictors import (
    from_contrib_estimator as from_contrib_estimator,
    from_estimator as from_estimator,
    from_saved_model as from_saved_model,
)

__all__ = ["from_contrib_estimator", "from_estimator", "from_saved_model"]
