"""`tf.keras.constraints`: what weights are changed to after each update."""

import typing as _typing

from tensorfleet.keras.constraint_classes import (
    Constraint as Constraint,
    MaxNorm as MaxNorm,
    MinMaxNorm as MinMaxNorm,
    NonNeg as NonNeg,
    UnitNorm as UnitNorm,
    deserialize as deserialize,
    get as get,
    serialize as serialize,
)

max_norm = MaxNorm
min_max_norm = MinMaxNorm
non_neg = NonNeg
unit_norm = UnitNorm

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
