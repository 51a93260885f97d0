"""Kernels of `tensorfleet.ops.state.session_tensors`."""

from __future__ import annotations

import itertools
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dtypes import from_numpy
from tensorfleet_service.kernels.functions.function_ops import library_of
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import array_kernel, boxed, invalid, own

_numbers = itertools.count()


@array_kernel("GetSessionHandle")
def get_session_handle(node: KernelNode) -> Kernel:
    library, dtype = library_of(node), node.attrs["T"]
    if dtype is dtypes.resource:
        raise invalid("A resource has no session handle")

    def run(value: Any) -> bytes:
        # In TensorFlow's form: clients read the device, on which they place the op that takes the handle.
        handle = f"{node.name};{next(_numbers)};{node.device}".encode()
        library.tensors[handle] = own(boxed(value))
        return handle

    return run


def _text(handle: Any) -> bytes:
    if handle.ndim:
        raise invalid(f"A handle must be a scalar, got shape {list(handle.shape)}")
    found: bytes = handle[()]
    return found


@array_kernel("GetSessionTensor")
def get_session_tensor(node: KernelNode) -> Kernel:
    library, wanted = library_of(node), node.attrs["dtype"]

    def run(handle: Any) -> Any:
        name = _text(handle)
        value = library.tensors.get(name)
        if value is None:
            text = f"The tensor with handle '{name.decode(errors='replace')}' is not in the session store."
            raise invalid(text)
        if wanted is not dtypes.variant and from_numpy(value.dtype) is not wanted:
            raise invalid(f"The tensor is of type {from_numpy(value.dtype).name}, not {wanted.name}")
        return value if value.ndim or value.dtype == object else value[()]

    return run


@array_kernel("DeleteSessionTensor")
def delete_session_tensor(node: KernelNode) -> Kernel:
    library = library_of(node)

    def run(handle: Any) -> None:
        name = _text(handle)
        if library.tensors.pop(name, None) is None:
            text = f"Cannot find a tensor with handle '{name.decode(errors='replace')}' in the session store"
            raise invalid(text)

    return run
