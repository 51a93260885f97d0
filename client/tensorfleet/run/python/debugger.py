"""`tensorflow.python.debug`: its names can be imported, and say when they are used what there is instead."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from tensorfleet.core import errors


class _Debugger:
    """A session or hook of TensorFlow's debugger; to make one is refused."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse(type(self).__name__)


def _refuse(name: str) -> NoReturn:
    raise errors.UnimplementedError(
        None,
        None,
        f"TensorFleet has no tfdbg, so no {name}: use tf.print, tf.debugging.check_numerics or "
        "tf.add_check_numerics_ops(), or fetch the tensors",
    )


class LocalCLIDebugWrapperSession(_Debugger):
    """The session with a debugger on the terminal."""


class DumpingDebugWrapperSession(_Debugger):
    """The session that writes all tensors to files."""


class TensorBoardDebugWrapperSession(_Debugger):
    """The session with a debugger in TensorBoard."""


class LocalCLIDebugHook(_Debugger):
    """The hook with a debugger on the terminal."""


class DumpingDebugHook(_Debugger):
    """The hook that writes all tensors to files."""


class TensorBoardDebugHook(_Debugger):
    """The hook with a debugger in TensorBoard."""


def has_inf_or_nan(datum: Any, tensor: Any) -> bool:
    """Whether an array has an infinite element or one that is not a number."""
    values = np.asarray(tensor)
    return values.dtype.kind in "fc" and not bool(np.isfinite(values).all())
