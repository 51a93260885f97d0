"""`tf.keras.regularizers`: losses of weights and outputs."""

import typing as _typing

from tensorfleet.keras.regularizer_classes import (
    L1L2 as L1L2,
    Regularizer as Regularizer,
    deserialize as deserialize,
    get as get,
    l1 as l1,
    l1_l2 as l1_l2,
    l2 as l2,
    serialize as serialize,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
