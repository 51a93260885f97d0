"""`tf.data.experimental`: transformations in the form that `Dataset.apply` takes."""

import typing as _typing

from tensorfleet.data.dataset import AUTOTUNE as AUTOTUNE
from tensorfleet.data.transformations import (
    map_and_batch as map_and_batch,
    parallel_interleave as parallel_interleave,
    shuffle_and_repeat as shuffle_and_repeat,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
