"""`tf.keras.optimizers`: how models are trained."""

import typing as _typing

from tensorfleet.keras.optimizer_kinds.adaptive import (
    Adam as Adam,
    Adamax as Adamax,
    Nadam as Nadam,
)
from tensorfleet.keras.optimizer_kinds.base import (
    Optimizer as Optimizer,
)
from tensorfleet.keras.optimizer_kinds.names import (
    deserialize as deserialize,
    get as get,
    serialize as serialize,
)
from tensorfleet.keras.optimizer_kinds.plain import (
    SGD as SGD,
    Adadelta as Adadelta,
    Adagrad as Adagrad,
    Ftrl as Ftrl,
    RMSprop as RMSprop,
)

if _typing.TYPE_CHECKING:
    from tensorfleet.keras.optimizers import (
        schedules as schedules,
    )
else:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(
        __name__,
        modules=("schedules",),
    )
