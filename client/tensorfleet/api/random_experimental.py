"""`tf.random.experimental`: generators, and functions of seeds."""

import typing as _typing

from tensorfleet.api.random_generator import (
    Algorithm as Algorithm,
    Generator as Generator,
    create_rng_state as create_rng_state,
    get_global_generator as get_global_generator,
    set_global_generator as set_global_generator,
)
from tensorfleet.ops.random.bounded import index_shuffle as index_shuffle
from tensorfleet.ops.random.stateless import (
    fold_in as stateless_fold_in,
    split as stateless_split,
    stateless_shuffle as stateless_shuffle,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "Algorithm",
    "Generator",
    "create_rng_state",
    "get_global_generator",
    "index_shuffle",
    "set_global_generator",
    "stateless_fold_in",
    "stateless_shuffle",
    "stateless_split",
]
