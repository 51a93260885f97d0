"""A task in a process of its own, which notes for how long its threads could not run: for `request_sweep`."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
import time
import traceback
from typing import Any

import grpc

from tensorfleet.core.frames import current_frames
from tensorfleet.proto import config_pb2, graph_pb2, master_pb2

SECONDS = 300.0
IDLE = ("wait", "select", "acquire", "poll", "stdin", "accept", "recv", "sleep", "_bootstrap", "callers.py")
UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class Pauses(threading.Thread):
    """Notes for how long it could not run, at most, while other threads of the process computed.

    The process's processor time tells this from waiting for a core, which other programs have.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.longest = 0.0
        self.stack = ""
        self.collecting = 0.0
        self._began = 0.0
        gc.callbacks.append(self._collected)

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        now = time.thread_time()
        if phase == "start":
            self._began = now
        else:
            self.collecting = max(self.collecting, now - self._began)

    def run(self) -> None:
        before = time.monotonic(), time.process_time()
        while True:
            time.sleep(1e-3)
            now = time.monotonic(), time.process_time()
            pause = min(now[0] - before[0], now[1] - before[1])
            if pause > self.longest:
                self.longest = pause
                if pause > 0.03:
                    self.stack = self._others()
            before = time.monotonic(), time.process_time()

    def _others(self) -> str:
        """Where other threads are: that which had the interpreter is at the call, or just after it."""
        found = []
        for number, frame in current_frames().items():
            if number == self.ident:
                continue
            lines = [
                f"{os.path.basename(each.filename)}:{each.lineno} {each.name}: {each.line}"
                for each in traceback.extract_stack(frame)[-3:]
            ]
            if not any(idle in lines[-1] for idle in IDLE):
                found.append("\n      ".join(lines))
        return "\n    | ".join(found)


def serve() -> None:
    """A task: prints its address, and then for each line that it reads what was noted since the last one."""
    from tensorfleet.cluster.cluster import ClusterSpec
    from tensorfleet.core import gc_pause
    from tensorfleet.security.settings import Security
    from tensorfleet_service.server import TaskServer
    from tests.ports import free_ports

    (port,) = free_ports(1)
    address = f"127.0.0.1:{port}"
    cluster = ClusterSpec({"worker": [address]})
    task = TaskServer(cluster, "worker", 0, "grpc+stream", None, security=Security())
    task.start()
    gc_pause.leave_out()
    pauses = Pauses()
    pauses.start()
    print(address, flush=True)
    for _ in sys.stdin:
        with open("/proc/self/statm") as file:
            size = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
        found = {
            "longest": pauses.longest,
            "stack": pauses.stack,
            "collecting": pauses.collecting,
            "megabytes": size,
        }
        pauses.longest, pauses.stack, pauses.collecting = 0.0, "", 0.0
        print(json.dumps(found), flush=True)
    task.stop(1)


class Task:
    """A task in a process of its own, as its client sees it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.security.watched_task"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        self.channel = grpc.insecure_channel(self.address, UNLIMITED)

    def pauses(self) -> dict[str, Any]:
        """What was noted since the last time."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return dict(json.loads(self.process.stdout.readline()))

    def call(self, method: str, request: Any) -> bytes:
        made = self.channel.unary_unary(f"/tensorflow.MasterService/{method}")
        return bytes(made(request.SerializeToString(), timeout=SECONDS))

    def create(self, graph: graph_pb2.GraphDef, **config: Any) -> str:
        request = master_pb2.CreateSessionRequest(config=config_pb2.ConfigProto(**config))
        request.graph_def.CopyFrom(graph)
        answer = self.call("CreateSession", request)
        return str(master_pb2.CreateSessionResponse.FromString(answer).session_handle)

    def close(self, handle: str) -> None:
        self.call("CloseSession", master_pb2.CloseSessionRequest(session_handle=handle))

    def run(self, handle: str, fetches: Any = (), targets: Any = (), feeds: Any = (), **options: Any) -> Any:
        request = master_pb2.RunStepRequest(session_handle=handle, fetch=fetches, target=targets)
        for name, tensor in feeds:
            request.feed.add(name=name).tensor.CopyFrom(tensor)
        for name, value in options.items():
            setattr(request.options, name, value)
        return master_pb2.RunStepResponse.FromString(self.call("RunStep", request))

    def stop(self) -> None:
        self.channel.close()
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)


if __name__ == "__main__":
    serve()
