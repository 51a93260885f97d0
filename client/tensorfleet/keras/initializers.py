"""`tf.keras.initializers`: first values of variables."""

import typing as _typing

from tensorfleet.keras.initializer_classes import (
    Constant as Constant,
    Identity as Identity,
    Ones as Ones,
    Orthogonal as Orthogonal,
    RandomNormal as RandomNormal,
    RandomUniform as RandomUniform,
    TruncatedNormal as TruncatedNormal,
    VarianceScaling as VarianceScaling,
    Zeros as Zeros,
    deserialize as deserialize,
    get as get,
    glorot_normal as glorot_normal,
    glorot_uniform as glorot_uniform,
    he_normal as he_normal,
    he_uniform as he_uniform,
    lecun_normal as lecun_normal,
    lecun_uniform as lecun_uniform,
    serialize as serialize,
)
from tensorfleet.ops.state.initializers import Initializer as Initializer

constant = Constant
identity = Identity
normal = random_normal = RandomNormal
ones = Ones
orthogonal = Orthogonal
random_uniform = uniform = RandomUniform
truncated_normal = TruncatedNormal
zeros = Zeros

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
