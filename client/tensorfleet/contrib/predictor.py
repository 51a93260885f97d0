"""`tf.contrib.predictor`: models of SavedModels as functions."""

from tensorfleet.contrib.predictors import from_saved_model as from_saved_model

__all__ = ["from_saved_model"]
