"""`tf.contrib.learn.monitors`: callbacks of `fit`, which came before `tf.train.SessionRunHook`."""

import typing as _typing

from tensorfleet.contrib.monitoring.base import (
    BaseMonitor as BaseMonitor,
    EveryN as EveryN,
    StopAtStep as StopAtStep,
)
from tensorfleet.contrib.monitoring.files import (
    CheckpointSaver as CheckpointSaver,
    StepCounter as StepCounter,
    SummarySaver as SummarySaver,
)
from tensorfleet.contrib.monitoring.hooks import (
    RunHookAdapterForMonitors as RunHookAdapterForMonitors,
    replace_monitors_with_hooks as replace_monitors_with_hooks,
)
from tensorfleet.contrib.monitoring.validation import ValidationMonitor as ValidationMonitor
from tensorfleet.contrib.monitoring.values import (
    CaptureVariable as CaptureVariable,
    GraphDump as GraphDump,
    LoggingTrainable as LoggingTrainable,
    NanLoss as NanLoss,
    PrintTensor as PrintTensor,
    get_default_monitors as get_default_monitors,
)
from tensorfleet.train.hooks import NanLossDuringTrainingError as NanLossDuringTrainingError

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
