"""GetSessionHandle, GetSessionTensor, DeleteSessionTensor: tensors that stay in the session."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes, errors
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import own
from tensorfleet_service.state.session_tensors import SessionTensors


def _kept(node: KernelNode) -> SessionTensors:
    if node.library is None:
        raise errors.UnimplementedError(None, None, f"{node.op} {node.name} runs in no session.")
    return node.library.tensors


def _text(handle: Any) -> bytes:
    text: bytes = handle if isinstance(handle, bytes) else handle.item()
    return text


@kernel("GetSessionHandle")
def get_session_handle(node: KernelNode) -> Kernel:
    tensors, name, device = _kept(node), f"{node.name}:0", node.device
    return lambda value: tensors.keep(name, device, own(value))


@kernel("GetSessionTensor")
def get_session_tensor(node: KernelNode) -> Kernel:
    tensors, dtype = _kept(node), node.attrs["dtype"]

    def run(handle: Any) -> Any:
        value = tensors.get(_text(handle))
        found = dtypes.string if isinstance(value, bytes) else dtypes.from_numpy(value.dtype)
        if found is not dtype:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{node.name} expects a tensor of {dtype.name}, but the session keeps one of {found.name}.",
            )
        return value

    return run


@kernel("DeleteSessionTensor")
def delete_session_tensor(node: KernelNode) -> Kernel:
    tensors = _kept(node)

    def run(handle: Any) -> None:
        tensors.forget(_text(handle))

    return run
