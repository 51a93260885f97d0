"""`tf.contrib.learn`: experiments with estimators, small data sets, texts as numbers."""

import typing as _typing

from tensorfleet.contrib.experiments import Experiment as Experiment, ModeKeys as ModeKeys
from tensorfleet.contrib.fitted_estimator import NotFittedError as NotFittedError
from tensorfleet.contrib.fitted_models import Estimator as Estimator
from tensorfleet.contrib.learn import (
    datasets as datasets,
    io as io,
    learn_runner as learn_runner,
    models as models,
    monitors as monitors,
    preprocessing as preprocessing,
    utils as utils,
)
from tensorfleet.contrib.metric_spec import MetricSpec as MetricSpec
from tensorfleet.contrib.model_functions import (
    MetricKey as MetricKey,
    ModelFnOps as ModelFnOps,
    PredictionKey as PredictionKey,
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
from tensorfleet.contrib.old_run_config import RunConfig as RunConfig
from tensorfleet.contrib.serving_inputs import (
    InputFnOps as InputFnOps,
    build_default_serving_input_fn as build_default_serving_input_fn,
    build_parsing_serving_input_fn as build_parsing_serving_input_fn,
)
from tensorfleet.estimator.task_environment import TaskType as TaskType

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(
        __name__,
        modules=(
            "datasets",
            "io",
            "learn_runner",
            "models",
            "monitors",
            "preprocessing",
            "utils",
        ),
    )

__all__ = [
    "DNNClassifier",
    "DNNLinearCombinedClassifier",
    "DNNRegressor",
    "Estimator",
    "Experiment",
    "InputFnOps",
    "LinearClassifier",
    "LinearRegressor",
    "MetricKey",
    "MetricSpec",
    "ModeKeys",
    "ModelFnOps",
    "NotFittedError",
    "PredictionKey",
    "RunConfig",
    "SKCompat",
    "TaskType",
    "build_default_serving_input_fn",
    "build_parsing_serving_input_fn",
    "datasets",
    "infer_real_valued_columns_from_input",
    "infer_real_valued_columns_from_input_fn",
    "io",
    "learn_runner",
    "models",
    "monitors",
    "preprocessing",
    "utils",
]
