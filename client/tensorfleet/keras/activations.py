"""`tf.keras.activations`: functions that layers apply to their outputs."""

import typing as _typing

from tensorfleet.keras.activation_functions import (
    deserialize as deserialize,
    elu as elu,
    exponential as exponential,
    get as get,
    hard_sigmoid as hard_sigmoid,
    linear as linear,
    relu as relu,
    selu as selu,
    serialize as serialize,
    sigmoid as sigmoid,
    softmax as softmax,
    softplus as softplus,
    softsign as softsign,
    tanh as tanh,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
