"""TaskServer: one task of a cluster, with its worker, its master, and its endpoints."""

from __future__ import annotations

import logging
import os
import secrets
import sys
import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import tensorfleet_service.kernels  # noqa: F401  the kernels register themselves
from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet.core import errors
from tensorfleet.core.addresses import without_spaces
from tensorfleet.core.device import parse
from tensorfleet.core.environment import SettingsError
from tensorfleet.core.files import Files
from tensorfleet.core.similar import did_you_mean
from tensorfleet.proto import fleet_pb2, worker_pb2
from tensorfleet.proto.cluster_pb2 import ClusterDef
from tensorfleet.proto.config_pb2 import ConfigProto
from tensorfleet.security.settings import Security, SecurityError, check_server, exposure, is_loopback, load
from tensorfleet.wire import heartbeat
from tensorfleet.wire.frames import Method
from tensorfleet.wire.grpc_socket import MESSAGE_BYTES
from tensorfleet.wire.heartbeat import Heart
from tensorfleet_service import inprocess
from tensorfleet_service.devices.device import Device
from tensorfleet_service.devices.task_devices import task_devices
from tensorfleet_service.master.master import Master
from tensorfleet_service.master.members import LocalMember, Member
from tensorfleet_service.master.remote import remote_member
from tensorfleet_service.net import timeouts
from tensorfleet_service.net.admission import Admission, client_of, connections_that_fit, limit_stalls
from tensorfleet_service.net.discovery import discover
from tensorfleet_service.net.peers import SHARES_GPUS, AnyPeer, Peers
from tensorfleet_service.net.refusals import Refusals
from tensorfleet_service.net.timeouts import ORPHAN_SECONDS
from tensorfleet_service.observe.health import Health
from tensorfleet_service.observe.watchdog import Watchdog
from tensorfleet_service.rpc.clients import Clients
from tensorfleet_service.rpc.door import Door, Visitor
from tensorfleet_service.rpc.fleet_service import FleetService
from tensorfleet_service.rpc.grpc_server import GrpcServer
from tensorfleet_service.rpc.grpc_sockets import ServedSocket
from tensorfleet_service.rpc.health_service import HealthService
from tensorfleet_service.rpc.listener import Listener
from tensorfleet_service.rpc.master_service import MasterService
from tensorfleet_service.rpc.session_members import gather, is_final
from tensorfleet_service.rpc.shedding import Shedding
from tensorfleet_service.rpc.tasks import Tasks
from tensorfleet_service.rpc.worker_service import WorkerService
from tensorfleet_service.security import quotas
from tensorfleet_service.security.guard import Guard
from tensorfleet_service.state.files import from_environment
from tensorfleet_service.threads.deadlines import Deadlines
from tensorfleet_service.tracing.meter import MasterMeter, OpSampler
from tensorfleet_service.worker.collectives.leader import choose as choose_leader
from tensorfleet_service.worker.worker import Worker

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

log = logging.getLogger(__name__)

VERSION = "0.1.0"
DRAIN_SECONDS = 20.0
SWITCH_SECONDS = (
    0.0005  # a computing thread lets the threads that read connections have the interpreter this often
)


class TaskServer:
    """One task, serving from `start` to `stop`.

    Args:
        cluster: all tasks and their addresses.
        job_name, task_index: this task.
        protocol: "grpc+stream" (default) or "grpc": without a stream endpoint. Others of gRPC that programs
            name, such as "grpc+verbs", are the default.
        config: the default configuration of the task: device_count, operation_timeout_in_ms.
        bind_host: the interface to listen on; by default the loopback if the address in the cluster is on it,
            else all.
        stream_port: the TCP port of the stream endpoint, 0 for any free one.
        orphan_seconds: time for which a session outlives the last stream connection of its client.
        gpus: the number of GPUs that the task uses, and must have; None: all GPUs of the machine. With fewer,
            the task serves but is not ready.
        health: answers probes, if there are any.
        heartbeat_seconds: time for which another task may be silent; by default as in the environment.
        max_grpc_message: size in bytes of the largest message by gRPC; -1: protobuf's limit.
        files: the files that ops may use; by default as in the environment.
        security: authentication of others and of this task; by default as in the environment.

    Raises:
        FailedPreconditionError: settings are invalid or contradict each other, or anybody could use the task.
        InternalError: the cluster has no such job.
        InvalidArgumentError: the job has no such task.
        NotFoundError: the protocol is none of gRPC's.
        UnknownError: the address cannot be bound.
    """

    def __init__(
        self,
        cluster: ClusterSpec,
        job_name: str,
        task_index: int,
        protocol: str = "grpc+stream",
        config: ConfigProto | None = None,
        bind_host: str | None = None,
        stream_port: int = 0,
        orphan_seconds: float = ORPHAN_SECONDS,
        gpus: int | None = None,
        health: Health | None = None,
        heartbeat_seconds: float | None = None,
        max_grpc_message: int = -1,
        files: Files | None = None,
        security: Security | None = None,
    ) -> None:
        config = config or ConfigProto()
        if protocol.partition("+")[0] != "grpc":
            raise errors.NotFoundError(
                None,
                None,
                f"No server factory registered for the protocol {protocol!r}; take grpc or grpc+stream.",
            )
        if job_name not in cluster.jobs:
            raise errors.InternalError(
                None,
                None,
                f'Job "{job_name}" was not defined in cluster, which has {", ".join(cluster.jobs)}.'
                + did_you_mean(job_name, cluster.jobs),
            )
        if task_index not in cluster.task_indices(job_name):
            indices = ", ".join(map(str, cluster.task_indices(job_name)))
            raise errors.InvalidArgumentError(
                None,
                None,
                f'Task {task_index} was not defined in job "{job_name}", whose tasks are {indices}',
            )
        sys.setswitchinterval(SWITCH_SECONDS)
        self.task = task_name(job_name, task_index)
        self._config = config
        self._incarnation = secrets.randbits(63) | 1
        host, _, port = without_spaces(cluster.task_address(job_name, task_index)).rpartition(":")
        loopback = host in ("localhost", "127.0.0.1", "::1")
        bind = bind_host or os.environ.get("TENSORFLEET_BIND_HOST") or ("127.0.0.1" if loopback else "[::]")
        addresses = {
            task_name(job, index): without_spaces(cluster.task_address(job, index))
            for job in cluster.jobs
            for index in cluster.task_indices(job)
        }
        try:
            security = load(os.environ) if security is None else security
            # Without a port there is an error below.
            self._warning = check_server(security, bind, len(addresses)) if port.isdecimal() else ""
            limits = quotas.from_environment(os.environ)
            self._guard = Guard(security, self.task, self._incarnation, addresses, limits)
            self._guard.exposure = exposure(security, bind)
        except (SecurityError, SettingsError) as e:
            raise errors.FailedPreconditionError(None, None, str(e)) from None
        cpus = config.device_count.get("CPU", 1)
        self.health = health or Health()
        self._gpus_required = gpus or 0
        if gpus is None:
            gpus = 0 if job_name == "ps" else dict(config.device_count).get("GPU")
        devices = task_devices(self.task, self._incarnation, cpus, gpus, config.gpu_options)
        self._check_gpus(devices)
        sampler = OpSampler()
        self._meter = MasterMeter(sampler)
        if files is None:
            files = from_environment(os.environ, local=is_loopback(bind))
        files.prepare()
        self._worker = Worker(self.task, devices, self._incarnation, sampler, files)
        self._heart = Heart(
            heartbeat.limit() if heartbeat_seconds is None else heartbeat_seconds,
            partial(heartbeat.ask, security=security),
        )
        self._peers = Peers(
            self.task,
            self._incarnation,
            addresses,
            partial(discover, security=security),
            protocol != "grpc",
            self._heart,
            security,
        )
        self._tasks = Tasks(self._worker, self._peers)
        self._worker.collectives.connect(
            self._peers,
            choose_leader(addresses, config.experimental.collective_group_leader),
            config.operation_timeout_in_ms / 1000,
        )
        self._deadlines = Deadlines()
        master = self._master = Master(self._join, self._reset, meter=self._meter, defaults=config)
        self._watchdog = Watchdog(
            self._worker, is_busy=lambda: any(session.running for session in master.sessions())
        )
        self._clients = Clients(self._master, self._deadlines, orphan_seconds, self._guard)
        self._admission = Admission(connections_that_fit())
        endpoint = fleet_pb2.Endpoint(
            task=self.task,
            incarnation=self._incarnation,
            version=VERSION,
            connects=not 0 <= max_grpc_message < MESSAGE_BYTES,
        )
        hello = {"task": self.task, "incarnation": self._incarnation, SHARES_GPUS: True}
        refusals = self._refusals = Refusals()
        self._door = Door(self._guard, hello, self._admission, refusals)
        self._listener: Listener | None = None
        if protocol != "grpc":
            self._listener = Listener(
                bind.strip("[]"),
                stream_port,
                "127.0.0.1" if loopback else host,
                hello,
                self._accept,
                self._admission,
                self._guard,
                refusals,
            )
            endpoint.stream_address.extend(self._listener.addresses)
        self._health_service = HealthService(self.health)
        services = (
            MasterService(self._master, self._deadlines, self._guard),
            FleetService(endpoint, cluster.as_cluster_def(), self._master, self._worker, self._tasks),
            WorkerService(self._worker, self._tasks),
        )
        try:
            self._grpc = GrpcServer(
                f"{bind}:{port}",
                {name: method for service in services for name, method in service.methods().items()},
                {
                    name: method
                    for service in (*services, self._health_service)
                    for name, method in service.prompt().items()
                },
                {name: method for service in services for name, method in service.running().items()},
                self._health_service.streams(),
                max_grpc_message,
                self._guard,
                self._greet,
                refusals,
            )
        except errors.OpError:
            if self._listener is not None:
                self._listener.close()
            raise
        ports = [self._grpc.port] if self._listener is None else [self._grpc.port, self._listener.port]
        self._shedding = Shedding(ports, refusals)
        self.address = f"{host}:{self._grpc.port}"
        self._lock = threading.Lock()
        self._started = False
        self._stopped = threading.Event()

    @property
    def target(self) -> str:
        """The target for `tf.Session`."""
        return f"grpc://{self.address}"

    def start(self) -> None:
        """Begins to answer. Has no effect on a started server."""
        with self._lock:
            if self._started:
                return
            self._started = True
        if self._listener is not None:
            self._listener.start()
        self._grpc.start()
        self._watchdog.start()
        if self._listener is not None:
            inprocess.serves(self.address, self._master)
        if self._warning:
            log.warning("%s", self._warning)
        if self._guard.security.tokens:
            self._check_tokens()
        self._check_callers()
        self.health.serves()
        log.info("%s serves at %s", self.task, self.address)

    def join(self, timeout: float | None = None) -> bool:
        """Waits until the server was stopped; False if it was not within `timeout` seconds."""
        return self._stopped.wait(timeout)

    def stop(self, grace: float | None = None) -> None:
        """Drains and stops: running steps may end within `grace` seconds (20), new ones are refused."""
        if self._stopped.is_set():
            return
        inprocess.serves_no_more(self.address)
        grace = DRAIN_SECONDS if grace is None else grace
        end = time.monotonic() + grace
        self.health.drains()
        drained = [self._master.drain(grace), self._clients.drain(end), self._worker.drain(end)]
        if not all(drained):
            log.warning("%s: steps still ran after %g s and were cancelled", self.task, grace)
        # The last answers may be too large for the sockets to take them at once.
        self._clients.flush(end)
        self._peers.flush(end)
        if self._listener is not None:
            self._listener.close()
        self._health_service.close()
        self._grpc.stop(max(end - time.monotonic(), 0.1))
        self._heart.close()
        self._master.close_sessions(errors.AbortedError(None, None, f"{self.task} was shut down"))
        self._peers.close()
        self._watchdog.close()
        self._worker.close()
        self._deadlines.close()
        self._guard.close()
        self._stopped.set()
        log.info("%s has stopped", self.task)

    def registry(self) -> CollectorRegistry:
        """The metrics of this task and its process, for prometheus-client's exposition."""
        from tensorfleet_service.observe import metrics

        return metrics.registry(
            metrics.Task(
                version=VERSION,
                cluster_tasks=len(self._peers.addresses),
                gpus_required=self._gpus_required,
                worker=self._worker,
                master=self._master,
                meter=self._meter,
                clients=self._clients,
                peers=self._peers,
                grpc_traffic=self._grpc.traffic,
                health=self.health,
                watchdog=self._watchdog,
                guard=self._guard,
                refusals=self._refusals,
            )
        )

    def authorize(self, authorization: str) -> str:
        """The reason why an Authorization header does not give access to the task's pages; "" if it does."""
        try:
            principal = self._guard.of_authorization(authorization)
            if not principal.may("status"):
                raise self._guard.forbidden(principal, "status", "the page")
        except errors.OpError as e:
            return e.message
        return ""

    def _check_gpus(self, devices: Sequence[Device]) -> None:
        """Makes the task not ready if it has fewer GPUs than it must have."""
        found = sum(device.type == "GPU" for device in devices)
        if found < self._gpus_required:
            from tensorfleet_service.devices.gpu import visible

            reason = f"the task must have {self._gpus_required} GPUs and has {found}"
            why = visible()[1]
            self.health.lacks(f"{reason}: {why}" if why else reason)
            log.error("%s", self.health.reasons()[-1])

    def _greet(self, sock: ServedSocket) -> None:
        """Serves a call that is a connection of the stream."""
        visitor = self._door.open(sock)
        if visitor is not None:
            sock.let_in()
            self._accept(visitor)

    def _accept(self, visitor: Visitor) -> None:
        connection = visitor.connection
        if "task" in visitor.hello:
            self._peers.accept(connection, visitor.hello)
            return
        try:
            place = self._admission.admit(visitor.principal.own_name or client_of(connection.sock))
        except errors.ResourceExhaustedError as e:
            log.warning("a connection was refused: %s", e.message)
            connection.refuse(e)
            return
        if self._guard.enabled:
            self._guard.audit.write("connect", visitor.principal.id, peer=visitor.place)
        try:
            limit_stalls(connection.sock)
            connection.reader.account = place
            self._clients.accept(connection, visitor.principal)
        finally:
            place.leave()

    def _check_tokens(self) -> None:
        """Checks, now and then, whether connected clients may still be connected."""
        self._clients.check_principals()
        self._grpc.check_principals()
        if not self._stopped.is_set():
            self._deadlines.after(timeouts.TOKEN_CHECK_SECONDS, self._check_tokens)

    def _check_callers(self) -> None:
        """Looks, now and then, at how many are connected by gRPC whom nobody knows."""
        if self._guard.enabled:  # else there are no strangers
            self._shedding.look()
            self._guard.audit.write_rest()
        seconds = self._grpc.check_callers()
        if not self._stopped.is_set():
            self._deadlines.after(seconds, self._check_callers)

    def _join(self, session: str, config: ConfigProto) -> Sequence[Member]:
        """The members of a new session: this task first, then the others, which are connected all at once."""
        self._check_cluster(config.cluster_def)
        timeout = (config.operation_timeout_in_ms or self._config.operation_timeout_in_ms) / 1000
        own_limit = timeout > 0
        timeout = timeout or timeouts.CREATE_SESSION_SECONDS
        isolate = config.isolate_session_state
        members: list[Member] = [LocalMember(self._worker, session, isolate)]
        others = [task for task in self._peers.addresses if task != self.task and _wanted(task, config)]

        def join(peer: AnyPeer) -> Member:
            return remote_member(self._peers, peer, self._worker.pool, session, isolate, timeout)

        if others:
            found = gather(self._peers, session, others, timeout, join)
            members += [member for member in found if isinstance(member, Member)]
            failures = [e for e in found if isinstance(e, errors.OpError)]
            if failures:
                for member in members:
                    member.delete_session(session)
                raise self._missing(failures, len(others), timeout, own_limit)
        return members

    def _check_cluster(self, wanted: ClusterDef) -> None:
        """Refuses a session that brings a cluster of its own: tasks are told of theirs when they start."""
        for job in wanted.job:
            for index, address in job.tasks.items():
                task = task_name(job.name, index)
                if self._peers.addresses.get(task) != without_spaces(address):
                    raise errors.UnimplementedError(
                        None,
                        None,
                        f"ConfigProto.cluster_def has {task} at {address}, which is not in the cluster of "
                        f"{self.task}. A session does not change its cluster: start the tasks with this "
                        "ClusterSpec, and leave cluster_def out.",
                    )

    def _missing(
        self, failures: list[errors.OpError], others: int, timeout: float, own_limit: bool
    ) -> errors.OpError:
        """The error for a session without all its tasks: DeadlineExceeded if it has set the limit itself."""
        final = next((e for e in failures if is_final(e)), None)
        if final is not None:
            return errors.from_code(final.error_code, f"{self.task} cannot make the session: {final.message}")
        text = "\n".join(f"  {e.message}" for e in failures)
        message = (
            f"{len(failures)} of {others} other tasks did not answer {self.task} within {timeout:g} s:\n"
            f"{text}\n"
            "Start them, correct the ClusterSpec, or leave them out with ConfigProto.device_filters."
        )
        code = failures[0].error_code
        if code == errors.UNAVAILABLE and own_limit:
            code = errors.DEADLINE_EXCEEDED
        return errors.from_code(code, message)

    def _reset(self, containers: Sequence[str]) -> None:
        self._worker.resources.reset(containers)
        self._guard.quotas.clear(containers)
        for task in self._peers.addresses:
            peer = self._peers.existing(task)
            if peer is not None:
                peer.call(
                    Method.CLEANUP_ALL,
                    worker_pb2.CleanupAllRequest(container=containers),
                    worker_pb2.CleanupAllResponse,
                    timeouts.CREATE_SESSION_SECONDS,
                )


def task_name(job: str, index: int) -> str:
    """The canonical name of a task."""
    return f"/job:{job}/replica:0/task:{index}"


def _wanted(task: str, config: ConfigProto) -> bool:
    """Whether the session's device filters include a task."""
    if not config.device_filters:
        return True
    full = parse(task)
    return any(parse(pattern).matches(full) for pattern in config.device_filters)
