"""`tf.contrib.nccl`: sums over the devices of one graph."""

import typing as _typing

from tensorfleet.contrib.towers import (
    all_max as all_max,
    all_min as all_min,
    all_prod as all_prod,
    all_sum as all_sum,
    broadcast as broadcast,
    reduce_sum_of as reduce_sum,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["all_max", "all_min", "all_prod", "all_sum", "broadcast", "reduce_sum"]
