"""LocalCluster: a cluster of real processes on this machine."""

from __future__ import annotations

import json
import os
import queue
import random
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from types import TracebackType
from typing import NamedTuple

import grpc

from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet.proto import fleet_pb2
from tensorfleet.security import local, settings, tokens
from tensorfleet.security.calls import ENDPOINT, NO_PROXY, metadata
from tensorfleet.security.settings import OPEN, Security
from tensorfleet_service.rpc.fleet_service import PREFIX

# Below the ports of outgoing connections, so that none of these takes a chosen port.
PORTS = range(20_000, 32_768)
LAST_LINES = 20
KILL_SECONDS = 5.0  # after the drain's own limit

Log = Callable[[str, str], None]


class ClusterError(RuntimeError):
    """The cluster could not be started."""


class Cancelled(RuntimeError):
    """The cluster was cancelled while it was starting."""


class Exit(NamedTuple):
    """The end of a task's process: the task's short name and the exit code, negative for a signal."""

    task: str
    code: int


class _Ready(NamedTuple):
    task: str


class _Task:
    def __init__(self, name: str, address: str, process: subprocess.Popen[bytes]) -> None:
        self.name = name
        self.address = address
        self.process = process
        self.last_lines: deque[str] = deque(maxlen=LAST_LINES)
        self.reader: threading.Thread | None = None


class _Credentials:
    """A token for the user's clients and a secret for the tasks, in files that nobody else can read.

    Attributes:
        of_clients: the credentials of the user's clients.
        environ: the environment variables of the tasks.
    """

    def __init__(self, spec: ClusterSpec) -> None:
        token, kept = tokens.create("up", "admin")
        secret = secrets.token_hex(32)
        addresses = [spec.task_address(job, index) for job in spec.jobs for index in spec.task_indices(job)]
        self._folder = tempfile.TemporaryDirectory(prefix="tensorfleet-")  # of mode 0700
        book, key = (os.path.join(self._folder.name, name) for name in ("tokens.json", "secret"))
        tokens.write(book, [kept])
        tokens.write_private(key, secret)
        self._found_by_clients = local.write(addresses, token, secret)
        self.of_clients = Security(token=token, secret=secret.encode())
        self.environ = {settings.TOKENS: book, settings.SECRET_FILE: key}

    def remove(self) -> None:
        self._found_by_clients.unlink(missing_ok=True)
        self._folder.cleanup()


class LocalCluster:
    """Tasks as child processes, each running `tensorfleet serve` on its own port.

    A context manager: entering starts the cluster and returns when every task answers; leaving drains it. No
    task outlives this process, however it ends, because each one drains when its standard input does.

        with LocalCluster({"ps": 1, "worker": 2}) as cluster:
            session = tf.Session(cluster.target)

    Args:
        jobs: the number of tasks of each job.
        host: the address to bind, by which the tasks are reached.
        base_port: the first task's port; the others get the following ones. None: any free ports.
        log: called with a task's name and a line of its log, from several threads.
        ready_seconds: time for all tasks together to start.
        drain_seconds: time for which running steps may go on when the cluster is stopped.
        metrics: whether each task serves its metrics on its own port; see `metrics_urls`.
        secured: whether the tasks require a token, and know each other by a secret, made for this cluster.
            Clients of this user find the token by themselves.
    """

    def __init__(
        self,
        jobs: Mapping[str, int],
        host: str = "127.0.0.1",
        base_port: int | None = None,
        log: Log | None = None,
        ready_seconds: float = 60.0,
        drain_seconds: float = 5.0,
        metrics: bool = False,
        secured: bool = False,
    ) -> None:
        count = sum(jobs.values())
        if count < 1 or min(jobs.values()) < 0:
            raise ValueError(
                f"a cluster needs at least one task, and no job a negative number; got {dict(jobs)}"
            )
        fixed = [] if base_port is None else list(range(base_port, base_port + count))
        free = iter(free_ports(host, 2 * count, fixed))
        ports = iter(fixed) if fixed else free
        literal = f"[{host}]" if ":" in host else host
        self.spec = ClusterSpec(
            {job: [f"{literal}:{next(ports)}" for _ in range(n)] for job, n in jobs.items() if n}
        )
        self.metrics_urls: dict[str, str] = {}
        """The address of each task's metrics, by its short name, if `metrics` is set."""
        if metrics:
            for job in self.spec.jobs:
                for index in self.spec.task_indices(job):
                    url = f"http://{literal}:{next(free)}/metrics"
                    self.metrics_urls[f"/job:{job}/task:{index}"] = url
        self._host = host
        self._environ = dict(os.environ)
        self._secured = secured
        self._credentials: _Credentials | None = None
        self._log = log
        self._ready_seconds = ready_seconds
        self._drain_seconds = drain_seconds
        self._tasks: list[_Task] = []
        self._events: queue.SimpleQueue[Exit | _Ready | None] = queue.SimpleQueue()

    @property
    def target(self) -> str:
        """The target for `tf.Session`: the first worker, or the first task if there are no workers."""
        return "grpc://" + self.spec.task_address(
            "worker" if "worker" in self.spec.jobs else self.spec.jobs[0], 0
        )

    @property
    def pids(self) -> dict[str, int]:
        """The process of each task, by the task's short name."""
        return {task.name: task.process.pid for task in self._tasks}

    def start(self) -> None:
        """Starts the tasks, and returns when all of them answer.

        Raises:
            ClusterError: a task ended, or did not answer in time; all others are stopped again.
            Cancelled: `cancel` was called.
        """
        deadline = time.monotonic() + self._ready_seconds
        channels = []
        try:
            if self._secured:
                self._credentials = _Credentials(self.spec)
                self._environ |= self._credentials.environ
            for job in self.spec.jobs:
                for index in self.spec.task_indices(job):
                    task = self._spawn(job, index)
                    channels.append(self._ask_when_ready(task))
            waiting = {task.name for task in self._tasks}
            while waiting:
                waiting.discard(self._next_ready(deadline, waiting))
        except BaseException:
            self.stop()
            raise
        finally:
            for channel in channels:
                channel.close()

    def wait(self) -> Exit | None:
        """Returns when the first task has ended, or None when `cancel` was called."""
        while isinstance(event := self._events.get(), _Ready):
            pass
        return event

    def cancel(self) -> None:
        """Lets `start` or `wait` return. May be called from any thread."""
        self._events.put(None)

    def kill(self) -> None:
        """Ends all tasks at once, without a drain. May be called from any thread."""
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        """Drains all tasks and waits for their ends; kills those that take too long."""
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + self._drain_seconds + KILL_SECONDS
        for task in self._tasks:
            try:
                task.process.wait(max(deadline - time.monotonic(), 0))
            except subprocess.TimeoutExpired:
                task.process.kill()
                task.process.wait()
            if task.reader is not None:
                task.reader.join()
            for stream in (task.process.stdin, task.process.stdout):
                if stream is not None:
                    stream.close()
        self._tasks.clear()
        if self._credentials is not None:
            self._credentials.remove()

    def __enter__(self) -> LocalCluster:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _signal(self, signum: int) -> None:
        for task in self._tasks:
            if task.process.returncode is None:
                task.process.send_signal(signum)

    def _spawn(self, job: str, index: int) -> _Task:
        flags = {
            "--cluster-spec": json.dumps(self.spec.as_dict()),
            "--job-name": job,
            "--task-index": str(index),
            "--bind-host": f"[{self._host}]" if ":" in self._host else self._host,
            "--drain-seconds": str(self._drain_seconds),
        }
        url = self.metrics_urls.get(f"/job:{job}/task:{index}")
        if url is not None:
            flags["--metrics-port"] = url.rpartition(":")[2].partition("/")[0]
        process = subprocess.Popen(
            # -P keeps the current folder out of the import path.
            [
                sys.executable,
                "-P",
                "-m",
                "tensorfleet_service.main",
                "--stop-with-stdin",
                *sum(flags.items(), ()),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._environ,
            # The terminal's Ctrl-C goes only to this process, which then drains the tasks.
            start_new_session=True,
        )
        task = _Task(f"/job:{job}/task:{index}", self.spec.task_address(job, index), process)
        self._tasks.append(task)
        task.reader = threading.Thread(
            target=self._read, args=(task,), name=f"log of {task.name}", daemon=True
        )
        task.reader.start()
        return task

    def _read(self, task: _Task) -> None:
        """Passes a task's log on, and reports the task's end."""
        assert task.process.stdout is not None
        for data in task.process.stdout:
            line = data.decode(errors="replace").rstrip("\n")
            task.last_lines.append(line)
            if self._log is not None:
                self._log(task.name, line)
        self._events.put(Exit(task.name, task.process.wait()))

    def _ask_when_ready(self, task: _Task) -> grpc.Channel:
        """Puts an event when the task's own process answers, not another one with its port."""
        options = (
            ("grpc.initial_reconnect_backoff_ms", 50),
            ("grpc.min_reconnect_backoff_ms", 50),
            ("grpc.max_reconnect_backoff_ms", 200),
            ("grpc.use_local_subchannel_pool", 1),
        )
        channel = grpc.insecure_channel(task.address, options=(*options, *NO_PROXY))
        where = channel.unary_unary(ENDPOINT, response_deserializer=fleet_pb2.Endpoint.FromString)
        ask = channel.unary_unary(
            PREFIX + "GetStatus", response_deserializer=fleet_pb2.StatusReply.FromString
        )
        security = OPEN if self._credentials is None else self._credentials.of_clients

        def found(answer: grpc.Future) -> None:
            if answer.cancelled() or answer.exception() is not None:
                return
            # Another process that listens there must not get the token, so this is a proof for the task.
            said = metadata(security, task.address, PREFIX + "GetStatus", b"", answer.result().incarnation)
            ask.future(b"", timeout=self._ready_seconds, metadata=said).add_done_callback(done)

        def done(answer: grpc.Future) -> None:
            answered = not answer.cancelled() and answer.exception() is None
            if answered and answer.result().pid == task.process.pid:
                self._events.put(_Ready(task.name))

        where.future(b"", timeout=self._ready_seconds, wait_for_ready=True).add_done_callback(found)
        return channel

    def _next_ready(self, deadline: float, waiting: set[str]) -> str:
        try:
            event = self._events.get(timeout=max(deadline - time.monotonic(), 0))
        except queue.Empty:
            missing = ", ".join(sorted(waiting))
            raise ClusterError(f"no answer within {self._ready_seconds:g} s from {missing}") from None
        if event is None:
            raise Cancelled("the cluster was stopped while it was starting")
        if isinstance(event, Exit):
            task = next(task for task in self._tasks if task.name == event.task)
            said = "\n".join(f"  {line}" for line in task.last_lines)
            raise ClusterError(
                f"{task.name} ended with {describe(event.code)} while it was starting:\n{said}"
            )
        return event.task


def free_ports(host: str, count: int, without: Collection[int] = ()) -> list[int]:
    """`count` different free TCP ports on `host`, without those in `without`."""
    chosen: list[int] = []
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in random.Random().sample(PORTS, len(PORTS)):
        if len(chosen) == count:
            break
        if port in without:
            continue
        with socket.socket(family) as sock:
            try:
                sock.bind((host, port))
            except OSError:
                continue
            chosen.append(port)
    if len(chosen) < count:
        raise ClusterError(f"{host} has fewer than {count} free ports from {PORTS.start} to {PORTS.stop - 1}")
    return chosen


def describe(code: int) -> str:
    """The exit code of a process in words."""
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
