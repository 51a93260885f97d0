"""`tf.contrib.all_reduce`: tensors combined over the devices of one graph."""

import typing as _typing

from tensorfleet.contrib.towers import (
    build_recursive_hd_all_reduce as build_recursive_hd_all_reduce,
    build_ring_all_reduce as build_ring_all_reduce,
    build_shuffle_all_reduce as build_shuffle_all_reduce,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["build_recursive_hd_all_reduce", "build_ring_all_reduce", "build_shuffle_all_reduce"]
