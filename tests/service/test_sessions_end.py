"""Sessions whose client or master is lost at the same moment as they are made or used again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import tensorfleet_service.kernels  # noqa: F401 - registers the kernels
from tensorfleet.core import errors
from tensorfleet.proto import worker_pb2
from tensorfleet.proto.config_pb2 import ConfigProto
from tensorfleet.proto.graph_pb2 import GraphDef
from tensorfleet_service.devices.task_devices import task_devices
from tensorfleet_service.master.master import Master
from tensorfleet_service.master.members import LocalMember
from tensorfleet_service.net.peer import Peer
from tensorfleet_service.rpc.clients import Clients
from tensorfleet_service.rpc.tasks import Tasks
from tensorfleet_service.worker.worker import Worker

TASK = "/job:worker/replica:0/task:0"


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker(TASK, task_devices(TASK, 1, cpus=1, gpus=0), 1)
    yield made
    made.close()


class Timers:
    """Deadlines that expire when the test says so."""

    def __init__(self) -> None:
        self.functions: list[Callable[[], None]] = []

    def after(self, seconds: float, function: Callable[[], None]) -> None:
        self.functions.append(function)


def test_the_timer_of_an_earlier_detach_leaves_the_session_alone(worker: Worker) -> None:
    timers: Any = Timers()
    master = Master(lambda handle, _: [LocalMember(worker, handle, False)], lambda _: None)
    clients = Clients(master, timers)
    handle = master.create_session(GraphDef(), ConfigProto()).handle
    clients.attach(handle)
    clients.detach(handle)
    clients.attach(handle)
    clients.detach(handle)
    first, second = timers.functions
    first()  # its minute is over; that of the second has only begun
    assert not master.session(handle).closed
    second()
    assert not master.sessions()
    assert not clients._orphans


def lost_peer() -> Any:
    peer = Peer.__new__(Peer)
    peer.task = "/job:worker/replica:0/task:1"
    peer.incarnation = 2
    peer.lost = errors.UnavailableError(None, None, "Lost the connection")
    return peer


def test_a_session_of_a_master_that_was_lost_meanwhile_is_not_made(worker: Worker) -> None:
    peers: Any = SimpleNamespace(
        serve=lambda _: None, push=None, forget=lambda _: None, existing=lambda _: None
    )
    tasks = Tasks(worker, peers)
    peer = lost_peer()
    tasks.peer_lost(peer)
    request = worker_pb2.CreateWorkerSessionRequest(session_handle="one", isolate_session_state=True)
    with pytest.raises(errors.UnavailableError, match="Lost the connection"):
        tasks.create_session(request, peer)
    assert not tasks._sessions
    assert not worker._isolated
