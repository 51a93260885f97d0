"""`tf.contrib.learn`: experiments with estimators, small data sets, texts as numbers."""

import typing as _typing

from tensorfleet.contrib.experiments import Experiment as Experiment, ModeKeys as ModeKeys
from tensorfleet.contrib.learn import (
    datasets as datasets,
    learn_runner as learn_runner,
    preprocessing as preprocessing,
)
from tensorfleet.contrib.old_estimators import (
    DNNClassifier as DNNClassifier,
    DNNLinearCombinedClassifier as DNNLinearCombinedClassifier,
    DNNRegressor as DNNRegressor,
    LinearClassifier as LinearClassifier,
    LinearRegressor as LinearRegressor,
    SKCompat as SKCompat,
    infer_real_valued_columns_from_input as infer_real_valued_columns_from_input,
    infer_real_valued_columns_from_input_fn as infer_real_valued_columns_from_input_fn,
)
from tensorfleet.estimator.run_config import RunConfig as RunConfig
from tensorfleet.estimator.task_environment import TaskType as TaskType

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(
        __name__,
        modules=(
            "datasets",
            "learn_runner",
            "preprocessing",
        ),
    )

__all__ = [
    "DNNClassifier",
    "DNNLinearCombinedClassifier",
    "DNNRegressor",
    "Experiment",
    "LinearClassifier",
    "LinearRegressor",
    "ModeKeys",
    "RunConfig",
    "SKCompat",
    "TaskType",
    "datasets",
    "infer_real_valued_columns_from_input",
    "infer_real_valued_columns_from_input_fn",
    "learn_runner",
    "preprocessing",
]
