"""`tf.keras.callbacks`: what is called while a model trains."""

import typing as _typing

from tensorfleet.keras.callback_kinds.base import (
    BaseLogger as BaseLogger,
    Callback as Callback,
    CallbackList as CallbackList,
    History as History,
    ProgbarLogger as ProgbarLogger,
)
from tensorfleet.keras.callback_kinds.monitors import (
    CSVLogger as CSVLogger,
    EarlyStopping as EarlyStopping,
    LambdaCallback as LambdaCallback,
    LearningRateScheduler as LearningRateScheduler,
    ModelCheckpoint as ModelCheckpoint,
    ReduceLROnPlateau as ReduceLROnPlateau,
    TerminateOnNaN as TerminateOnNaN,
)
from tensorfleet.keras.callback_kinds.tensorboard import (
    TensorBoard as TensorBoard,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
