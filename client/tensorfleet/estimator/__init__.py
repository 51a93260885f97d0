"""`tf.estimator`: models that are trained, evaluated, asked and exported, here or on a cluster."""

import typing as _typing

from tensorfleet.estimator import (
    experimental as experimental,
    export as export,
    inputs as inputs,
    tpu as tpu,
)
from tensorfleet.estimator.baseline import (
    BaselineClassifier as BaselineClassifier,
    BaselineEstimator as BaselineEstimator,
    BaselineRegressor as BaselineRegressor,
)
from tensorfleet.estimator.class_heads import (
    BinaryClassHead as BinaryClassHead,
    MultiClassHead as MultiClassHead,
    MultiLabelHead as MultiLabelHead,
)
from tensorfleet.estimator.distributed import train_and_evaluate as train_and_evaluate
from tensorfleet.estimator.dnn import (
    DNNClassifier as DNNClassifier,
    DNNEstimator as DNNEstimator,
    DNNRegressor as DNNRegressor,
)
from tensorfleet.estimator.dnn_linear_combined import (
    DNNLinearCombinedClassifier as DNNLinearCombinedClassifier,
    DNNLinearCombinedEstimator as DNNLinearCombinedEstimator,
    DNNLinearCombinedRegressor as DNNLinearCombinedRegressor,
)
from tensorfleet.estimator.estimator import Estimator as Estimator
from tensorfleet.estimator.exporters import (
    BestExporter as BestExporter,
    Exporter as Exporter,
    FinalExporter as FinalExporter,
    LatestExporter as LatestExporter,
)
from tensorfleet.estimator.extending import add_metrics as add_metrics
from tensorfleet.estimator.head import Head as Head
from tensorfleet.estimator.linear import (
    LinearClassifier as LinearClassifier,
    LinearEstimator as LinearEstimator,
    LinearRegressor as LinearRegressor,
)
from tensorfleet.estimator.mode_keys import ModeKeys as ModeKeys
from tensorfleet.estimator.multi_head import MultiHead as MultiHead
from tensorfleet.estimator.parse_specs import (
    classifier_parse_example_spec as classifier_parse_example_spec,
    regressor_parse_example_spec as regressor_parse_example_spec,
)
from tensorfleet.estimator.regression_heads import (
    LogisticRegressionHead as LogisticRegressionHead,
    PoissonRegressionHead as PoissonRegressionHead,
    RegressionHead as RegressionHead,
)
from tensorfleet.estimator.run_config import RunConfig as RunConfig
from tensorfleet.estimator.spec import EstimatorSpec as EstimatorSpec
from tensorfleet.estimator.train_specs import EvalSpec as EvalSpec, TrainSpec as TrainSpec
from tensorfleet.estimator.warm_starting import WarmStartSettings as WarmStartSettings
from tensorfleet.train.hooks import (
    FeedFnHook as FeedFnHook,
    FinalOpsHook as FinalOpsHook,
    GlobalStepWaiterHook as GlobalStepWaiterHook,
    LoggingTensorHook as LoggingTensorHook,
    NanLossDuringTrainingError as NanLossDuringTrainingError,
    NanTensorHook as NanTensorHook,
    StopAtStepHook as StopAtStepHook,
)
from tensorfleet.train.saving_hooks import (
    CheckpointSaverHook as CheckpointSaverHook,
    CheckpointSaverListener as CheckpointSaverListener,
    ProfilerHook as ProfilerHook,
    StepCounterHook as StepCounterHook,
    SummarySaverHook as SummarySaverHook,
)
from tensorfleet.train.session_run_hook import (
    SessionRunArgs as SessionRunArgs,
    SessionRunContext as SessionRunContext,
    SessionRunHook as SessionRunHook,
    SessionRunValues as SessionRunValues,
)
from tensorfleet.train.timers import SecondOrStepTimer as SecondOrStepTimer
from tensorfleet.train.warm_starting import VocabInfo as VocabInfo

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__, modules=("experimental", "export", "inputs", "tpu"))
