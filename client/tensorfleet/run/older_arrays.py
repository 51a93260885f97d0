"""Arrays of one element that become numbers as they did in TensorFlow 1's time, for what a program fetches.

NumPy up to 2.3 made `float`, `int` and `"%f" %` of any array of one element; since then it does so only at
rank 0. Programs of that time print fetched variables of shape [1] that way, and rows of predictions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.session import fetches


class FetchedArray(np.ndarray[Any, Any]):
    """An array as a session returns it, whose one element is its number; of views and results as well.

    It is pickled, copied into files and printed as an array of NumPy's own class.
    """

    __slots__ = ()

    def __float__(self) -> float:
        return float(self._scalar())

    def __int__(self) -> int:
        return int(self._scalar())

    def __complex__(self) -> complex:
        return complex(self._scalar())

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.view(np.ndarray).__reduce_ex__(protocol)

    def _scalar(self) -> Any:
        if self.size != 1:
            raise TypeError("only size-1 arrays can be converted to Python scalars")
        return self.item()


def _fetched(value: Any) -> Any:
    return value.view(FetchedArray) if type(value) is np.ndarray and value.dtype.kind in "biufc" else value


def put_back() -> None:
    """Has sessions return such arrays from now on, in this process."""
    fetches.present_by(_fetched)
