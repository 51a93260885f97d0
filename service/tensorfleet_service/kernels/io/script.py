"""PyFunc: calls a Python function of the client, where client and task are one process."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, errors, tensor_util
from tensorfleet.core.dtypes import DType
from tensorfleet.ops.io.script import function_of
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel

# Kernels run without NumPy's warnings; the user's own code gets the usual ones.
_NUMPY_DEFAULTS: Any = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


@kernel("PyFunc", "PyFuncStateless")
def py_func(node: KernelNode) -> Kernel:
    token = node.attrs["token"].decode()
    xp, types = node.xp, node.output_types

    def run(*inputs: Any) -> Any:
        function = function_of(token)
        if function is None:
            raise errors.UnimplementedError(
                None,
                None,
                f"{node.op} {node.name} ({token}) calls a Python function of the client's process, and "
                f"{node.device} runs in another. Only a session without a target can run it.",
            )
        try:
            with np.errstate(**_NUMPY_DEFAULTS):
                results = function(*map(_argument, inputs))
        except Exception as e:
            raise _error(e) from e
        if len(types) == 0:
            return None
        listed = list(results) if isinstance(results, (list, tuple)) else [results]
        if len(listed) != len(types):
            raise errors.InvalidArgumentError(
                None, None, f"{token} returns {len(listed)} values, but expects to see {len(types)} values."
            )
        values = [
            _checked(value, dtype, i, token)
            for i, (value, dtype) in enumerate(zip(listed, types, strict=True))
        ]
        values = [
            value if dtype.np is None or value.dtype.hasobject else xp.asarray(value)[()]
            for value, dtype in zip(values, types, strict=True)
        ]
        return values[0] if len(values) == 1 else tuple(values)

    return run


def _argument(value: Any) -> Any:
    """An input as the function gets it: an array, a NumPy scalar, or bytes for a string."""
    if hasattr(value, "get"):
        return value.get()
    return value[()] if getattr(value, "shape", None) == () and value.dtype == object else value


def _checked(value: Any, dtype: DType, index: int, token: str) -> Any:
    """A result as an array, of exactly the dtype that was promised."""
    try:
        array = tensor_util.convert_value(value, None)
    except (TypeError, ValueError) as e:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"The {index}-th value returned by {token} is no tensor: {e} It is a {type(value).__name__}, and "
            f"should be {_cname(dtype)}"
            + (": does the function lack a return? Tout=[] is for one without results." * (value is None)),
        ) from e
    found = dtypes.from_numpy(array.dtype)
    if isinstance(value, (bool, int, float)) and found is not dtype:
        # Python's numbers are int64 and float64 to NumPy.
        array = array.astype(
            "float64" if isinstance(value, float) else "bool" if isinstance(value, bool) else "int64"
        )
        found = dtypes.from_numpy(array.dtype)
    if found is not dtype:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{index}-th value returned by {token} is {_cname(found)}, but expects {_cname(dtype)}",
        )
    return array


def _cname(dtype: DType) -> str:
    return {"float32": "float", "float64": "double", "float16": "half"}.get(dtype.name, dtype.name)


def _error(e: Exception) -> errors.OpError:
    """The error of a step whose function failed: of its own class where TensorFlow has one for it."""
    text = f"{type(e).__name__}: {e}\n" + "".join(traceback.format_exception(e))
    if isinstance(e, errors.OpError):
        return type(e)(None, None, text)
    kinds: list[tuple[Any, Callable[..., errors.OpError]]] = [
        ((ValueError, TypeError), errors.InvalidArgumentError),
        (StopIteration, errors.OutOfRangeError),
        (MemoryError, errors.ResourceExhaustedError),
        (NotImplementedError, errors.UnimplementedError),
    ]
    for kind, made in kinds:
        if isinstance(e, kind):
            return made(None, None, text)
    return errors.UnknownError(None, None, text)
