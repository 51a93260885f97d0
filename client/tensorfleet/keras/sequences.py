"""`tf.keras.utils.Sequence`: batches by their number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Sequence:
    """The base class of data by batches (`tf.keras.utils.Sequence`): a subclass gives a batch for its number,
    and says how many there are."""

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def on_epoch_end(self) -> None:
        """Called after each epoch."""

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))
