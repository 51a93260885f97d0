"""FleetService: the calls for a task's stream endpoint, its steps, and pushed tensors."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from tensorfleet.core import shapes
from tensorfleet.proto import cluster_pb2, fleet_pb2
from tensorfleet_service.devices import cudnn, native
from tensorfleet_service.rpc.grpc_calls import Call, Methods, Prompt, at_once
from tensorfleet_service.worker.progress import stacks

if TYPE_CHECKING:
    from tensorfleet_service.master.master import Master
    from tensorfleet_service.master.session import MasterSession
    from tensorfleet_service.rpc.tasks import Tasks
    from tensorfleet_service.worker.worker import Worker

PREFIX = "/tensorfleet.FleetService/"


class FleetService:
    """The calls of FleetService on one task."""

    def __init__(
        self,
        endpoint: fleet_pb2.Endpoint,
        cluster: cluster_pb2.ClusterDef,
        master: Master,
        worker: Worker,
        tasks: Tasks,
    ) -> None:
        self._endpoint = endpoint
        self._cluster = cluster
        self._master = master
        self._worker = worker
        self._tasks = tasks
        self._started = time.time()

    def methods(self) -> Methods:
        """The calls that may wait, by their gRPC names."""
        return {
            PREFIX + "GetStatus": (fleet_pb2.StatusRequest, self.get_status),
            PREFIX + "GetSteps": (fleet_pb2.StepsRequest, self.get_steps),
            PREFIX + "GetStacks": (fleet_pb2.StacksRequest, self.get_stacks),
        }

    def prompt(self) -> Prompt:
        """The calls that do not wait."""
        return {
            PREFIX + "GetEndpoint": (fleet_pb2.GetEndpointRequest, at_once(lambda _: self._endpoint)),
        }

    def running(self) -> Prompt:
        return {}

    def _kernels(self) -> str:
        """What this task computes with, for people."""
        has_gpu = any(device.type == "GPU" for device in self._worker.devices.values())
        return native.description() + (f", {cudnn.description()}" if has_gpu else "")

    def get_status(self, request: fleet_pb2.StatusRequest, call: Call) -> fleet_pb2.StatusReply:
        reply = fleet_pb2.StatusReply(
            task=self._endpoint.task,
            incarnation=self._endpoint.incarnation,
            version=self._endpoint.version,
            pid=os.getpid(),
            start_time_secs=self._started,
            cluster=self._cluster,
            device=[device.attributes() for device in self._worker.devices.values()],
            resident_bytes=resident_bytes(),
            steps_total=self._worker.steps_total,
            kernels=self._kernels(),
        )
        now = time.time()
        for session in self._sessions(call):
            reply.session.add(
                handle=session.handle,
                nodes=len(session.graph.nodes),
                steps=session.steps,
                age_secs=now - session.created,
                callables=session.signatures,
            )
        for variable in self._worker.resources.variables():
            reply.variable.add(
                name=variable.name,
                container=variable.container,
                dtype=variable.dtype.enum,
                shape=shapes.to_proto(variable.value_dims),
                bytes=variable.nbytes,
                initialized=variable.is_initialized,
                kind=variable.kind,
            )
        return reply

    def _sessions(self, call: Call) -> list[MasterSession]:
        """The sessions that the caller may see; without the right to read, only its own."""
        principal = call.principal
        found = self._master.sessions()
        return found if principal.may("read") else [s for s in found if s.owner == principal.id]

    def get_steps(self, request: fleet_pb2.StepsRequest, call: Call) -> fleet_pb2.StepsReply:
        """The running steps, and what they wait for; without the right to read, only the caller's own."""
        may_read = call.principal.may("read")
        own = fleet_pb2.StepsReply()
        if request.master:
            for session in self._sessions(call):
                for step_id, age, texts in session.running_steps():
                    own.step.add(step_id=step_id, session=session.handle, age_secs=age, activity=texts)
        if not may_read and (0 in request.step_id or not request.step_id):
            # Nobody else knows a step's number; those without one have 0.
            own.task, own.withheld = self._endpoint.task, True
            return own
        reply = self._tasks.steps(request)
        reply.MergeFrom(own)
        return reply

    def get_stacks(self, request: fleet_pb2.StacksRequest, call: Call) -> fleet_pb2.StacksReply:
        return fleet_pb2.StacksReply(task=self._endpoint.task, pid=os.getpid(), text=stacks())


def resident_bytes() -> int:
    """The resident memory of this process in bytes, 0 if the system does not tell."""
    try:
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
