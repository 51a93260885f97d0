"""Ops that only these tests have: one that waits inside a step, and what looks at it and lets it go.

Imported by the tests, for the definitions, and by the servers' processes, for the kernels.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.op_def import op
from tensorfleet.graph.tensor import Tensor
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tests.gpu import strict_ipc, strict_nccl
from tests.gpu.strict_array import machine

LIMIT_SECONDS = 20.0


def _same(operation: Any) -> list[Any]:
    return [operation.inputs[0].dims]


def _scalar(operation: Any) -> list[Any]:
    return [()]


op("TestBlock(x: T) -> (y: T)", "T: type", "gate: string", shape=_same, stateful=True)
op("TestHold(x: T) -> (y: T)", "T: type", "microseconds: int", shape=_same, stateful=True)
op("TestFail(x: T) -> (y: T)", "T: type", "code: int", "message: string", shape=_same, stateful=True)
op("TestEntered() -> (done: bool)", "gate: string", shape=_scalar, stateful=True)
op("TestRelease() -> (done: bool)", "gate: string", shape=_scalar, stateful=True)
op("TestStatus() -> (counts: int64)", shape=lambda operation: [(None,)], stateful=True)
op("TestCollectives() -> (count: int64)", shape=_scalar, stateful=True)
op("TestGpuCollectives() -> (count: int64)", shape=_scalar, stateful=True)
op("TestGpuTraffic() -> (counts: int64)", shape=lambda operation: [(None,)], stateful=True)


class _Gate:
    def __init__(self) -> None:
        self.entered = threading.Event()
        self.released = threading.Event()


_gates: dict[str, _Gate] = {}
_worker: list[Any] = []


def _gate(node: KernelNode) -> _Gate:
    # Two sessions' graphs may be prepared at the same time: `setdefault` gives both the same gate.
    return _gates.setdefault(node.attrs["gate"].decode(), _Gate())


def observe(worker: Any) -> None:
    """Tells TestStatus which worker's counts to give."""
    _worker[:] = [worker]


def _wait(event: threading.Event) -> None:
    if not event.wait(LIMIT_SECONDS):
        raise errors.DeadlineExceededError(None, None, f"the gate did not open within {LIMIT_SECONDS:g} s")


@kernel("TestBlock")
def _block(node: KernelNode) -> Kernel:
    gate = _gate(node)

    def run(x: Any) -> Any:
        gate.entered.set()
        _wait(gate.released)
        return x

    return run


@kernel("TestHold")
def _hold(node: KernelNode) -> Kernel:
    microseconds = node.attrs["microseconds"]
    library = ctypes.PyDLL(None)  # whose calls keep the interpreter's lock

    def run(x: Any) -> Any:
        library.usleep(microseconds)
        return x

    return run


@kernel("TestEntered")
def _entered(node: KernelNode) -> Kernel:
    gate = _gate(node)

    def run() -> Any:
        _wait(gate.entered)
        return np.True_

    return run


@kernel("TestRelease")
def _release(node: KernelNode) -> Kernel:
    gate = _gate(node)

    def run() -> Any:
        gate.released.set()
        return np.True_

    return run


@kernel("TestFail")
def _fail(node: KernelNode) -> Kernel:
    code, message = node.attrs["code"], node.attrs["message"].decode()

    def run(x: Any) -> Any:
        raise errors.from_code(code, message)

    return run


@kernel("TestStatus")
def _status(node: KernelNode) -> Kernel:
    def run() -> Any:
        worker = _worker[0]
        return np.array(
            [worker.steps, worker.graphs, len(worker.rendezvous), threading.active_count()], np.int64
        )

    return run


@kernel("TestCollectives")
def _collectives(node: KernelNode) -> Kernel:
    return lambda: np.int64(len(_worker[0].collectives))


@kernel("TestGpuTraffic")
def _gpu_traffic(node: KernelNode) -> Kernel:
    def run() -> Any:
        found = _worker[0]._peers.gpu_traffic.values()
        sent, received = sum(t.sent_bytes for t in found), sum(t.received_bytes for t in found)
        return np.array([sent, received, strict_ipc.opened(), len(machine.counters.to_host)], np.int64)

    return run


@kernel("TestGpuCollectives")
def _gpu_collectives(node: KernelNode) -> Kernel:
    return lambda: np.int64(strict_nccl.made)


def gpu_collectives() -> Tensor:
    """The number of NCCL communicators that the task has made."""
    return apply_op("TestGpuCollectives")  # type: ignore[no-any-return]


def gpu_traffic() -> Tensor:
    """Bytes sent and received by GPUs' memory, chunks of others that are open, and copies to the host."""
    return apply_op("TestGpuTraffic")  # type: ignore[no-any-return]


def block(x: Tensor, gate: str) -> Tensor:
    """`x`, once the gate of this name on the same task is released."""
    return apply_op("TestBlock", x, gate=gate)  # type: ignore[no-any-return]


def hold(x: Tensor, seconds: float) -> Tensor:
    """`x`, after the task's interpreter has done nothing else for so long."""
    return apply_op("TestHold", x, microseconds=int(seconds * 1e6))  # type: ignore[no-any-return]


def fail(x: Tensor, code: int, message: str, name: str) -> Tensor:
    """Raises an error of this code and text."""
    return apply_op("TestFail", x, code=code, message=message, name=name)  # type: ignore[no-any-return]


def entered(gate: str) -> Tensor:
    """Waits until a step is inside of `block`."""
    return apply_op("TestEntered", gate=gate)  # type: ignore[no-any-return]


def release(gate: str) -> Tensor:
    """Lets all steps through the gate, now and later."""
    return apply_op("TestRelease", gate=gate)  # type: ignore[no-any-return]


def status() -> Tensor:
    """Of the task it runs on: steps known, graphs registered, tensors kept for others, threads."""
    return apply_op("TestStatus")  # type: ignore[no-any-return]


def collectives() -> Tensor:
    """The records of the task it runs on about collectives that have not ended."""
    return apply_op("TestCollectives")  # type: ignore[no-any-return]
