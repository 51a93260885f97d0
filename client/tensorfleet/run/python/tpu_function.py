"""`tensorflow.python.tpu.tpu_function`: in how many shards a computation is built."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class TpuContext:
    """What is known of the shards of a computation: their number, None outside of `tpu_shard_context`."""

    def __init__(self) -> None:
        self._shards: int | None = None

    @property
    def number_of_shards(self) -> int | None:
        """The number of shards."""
        return self._shards

    def set_number_of_shards(self, number_of_shards: int | None) -> None:
        """Sets the number of shards."""
        self._shards = number_of_shards


_CONTEXT = TpuContext()


def get_tpu_context() -> TpuContext:
    """The context, one for all threads."""
    return _CONTEXT


@contextmanager
def tpu_shard_context(number_of_shards: int) -> Iterator[None]:
    """A scope in which computations are built for so many shards.

    Raises:
        NotImplementedError: such a scope is open.
    """
    if _CONTEXT.number_of_shards is not None:
        raise NotImplementedError("tpu_shard_context cannot be nested.")
    _CONTEXT.set_number_of_shards(number_of_shards)
    try:
        yield
    finally:
        _CONTEXT.set_number_of_shards(None)
