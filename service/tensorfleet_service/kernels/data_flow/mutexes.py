"""MutexV2, MutexLock, ConsumeMutexLock: locks that steps hold."""

from __future__ import annotations

from typing import Any

from tensorfleet_service.kernels.registry import AsyncKernel, Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import invalid
from tensorfleet_service.state.mutexes import Held, Mutex


@kernel("MutexV2")
def mutex(node: KernelNode) -> Kernel:
    container = node.attrs["container"].decode()
    name = node.attrs["shared_name"].decode() or node.name
    resources = node.resources
    return lambda: resources.get_or_create(container, "mutex", name, lambda: Mutex(name))


@kernel("MutexLock", blocking=True)
def mutex_lock(node: KernelNode) -> AsyncKernel:
    def run(mutex: Any) -> Any:
        if not isinstance(mutex, Mutex):
            raise invalid(f"{node.name} takes the handle of a mutex, not of a {type(mutex).__name__}")
        return mutex.acquire()

    return AsyncKernel(run)


@kernel("ConsumeMutexLock")
def consume_mutex_lock(node: KernelNode) -> Kernel:
    def run(lock: Any) -> None:
        if not isinstance(lock, Held):
            raise invalid(f"{node.name} takes a lock of MutexLock")
        lock.release()

    return run
