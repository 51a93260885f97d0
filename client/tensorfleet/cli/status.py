"""`tensorfleet status`: the tasks of a cluster, their devices, sessions and variables."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tensorfleet.cli import steps
from tensorfleet.cli.table import human_bytes, human_seconds, table
from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet.core import dtypes, errors
from tensorfleet.proto import fleet_pb2
from tensorfleet.proto.config_pb2 import ConfigProto

GET_STATUS = "/tensorfleet.FleetService/GetStatus"
MAX_CALLS = 32  # calls to tasks at the same time
DEFAULT_CONTAINER = "localhost"


@dataclass
class TaskStatus:
    """One task of the cluster, with its answer or its error."""

    task: str
    address: str
    reply: fleet_pb2.StatusReply | None
    error: str = ""


def add_address(p: argparse.ArgumentParser) -> None:
    """Adds the address of a task as the argument of a command about its cluster."""
    p.add_argument(
        "address",
        nargs="?",
        default=os.environ.get("TENSORFLEET_ADDRESS"),
        metavar="ADDRESS",
        help="of any task: host:port or grpc://host:port (default: TENSORFLEET_ADDRESS)",
    )


def parser() -> argparse.ArgumentParser:
    """The flags of `tensorfleet status`."""
    p = argparse.ArgumentParser(
        prog="tensorfleet status",
        description="Show the tasks of a cluster, their devices, sessions and variables.",
        epilog="Exit code: 0 if all tasks answer, 1 if one does not.",
        allow_abbrev=False,
    )
    add_address(p)
    p.add_argument(
        "--timeout", type=float, default=5.0, metavar="S", help="for each task's answer (default: 5)"
    )
    p.add_argument(
        "--steps", action="store_true", help="show the steps that run instead, and what they wait for"
    )
    p.add_argument("--json", action="store_true", help="print JSON")
    return p


def main(argv: Sequence[str]) -> int:
    """Prints a cluster's status; returns 0 if all of its tasks answer, else 1."""
    p = parser()
    flags = p.parse_args(argv)
    if not flags.address:
        p.error("which cluster? Give the ADDRESS of one of its tasks, or set TENSORFLEET_ADDRESS")
    address = flags.address.rpartition("://")[2]
    try:
        tasks = cluster_status(address, flags.timeout)
    except errors.UnimplementedError:
        print(
            f"tensorfleet status: the server at {address} is not TensorFleet's: it tells no status",
            file=sys.stderr,
        )
        return 1
    except errors.OpError as error:
        print(f"tensorfleet status: no answer from {address}: {error.message}", file=sys.stderr)
        return 1
    if flags.steps:
        return _print_steps(tasks, flags.timeout, flags.json)
    print(json.dumps([as_dict(task) for task in tasks], indent=2) if flags.json else render(tasks))
    return 0 if all(task.reply for task in tasks) else 1


def _print_steps(tasks: Sequence[TaskStatus], timeout: float, as_json: bool) -> int:
    found = steps.cluster_steps([(task.task, task.address) for task in tasks], timeout)
    print(json.dumps(steps.as_rows(found), indent=2) if as_json else steps.render(found))
    return 0 if all(task.reply for task in found) else 1


def cluster_status(address: str, timeout: float) -> list[TaskStatus]:
    """Asks the task at `address` (`host:port`), then all others of its ClusterSpec in parallel.

    Raises:
        OpError: the first task does not answer within `timeout` seconds.
    """
    first = ask(address, timeout)
    spec = ClusterSpec(first.cluster)

    def status(job: str, index: int) -> TaskStatus:
        task, listed = f"/job:{job}/task:{index}", spec.task_address(job, index)
        if first.task == f"/job:{job}/replica:0/task:{index}":
            return TaskStatus(task, listed, first)
        try:
            return TaskStatus(task, listed, ask(listed, timeout))
        except errors.OpError as error:
            return TaskStatus(task, listed, None, error.message)

    names = [(job, index) for job in spec.jobs for index in spec.task_indices(job)]
    with ThreadPoolExecutor(min(len(names), MAX_CALLS)) as executor:
        return list(executor.map(lambda name: status(*name), names))


def ask(address: str, timeout: float) -> fleet_pb2.StatusReply:
    """One task's answer. Raises OpError if there is none within `timeout` seconds."""
    from tensorfleet.session import transport_grpc

    channel = transport_grpc.Channel(address, ConfigProto())
    try:
        return channel.call(GET_STATUS, fleet_pb2.StatusRequest(), fleet_pb2.StatusReply, timeout)
    finally:
        channel.close()


def as_dict(task: TaskStatus) -> dict[str, Any]:
    """A task's status for JSON. Sizes are in bytes, times in seconds; an unknown dimension is -1."""
    reply = task.reply
    if reply is None:
        return {"task": task.task, "address": task.address, "up": False, "error": task.error}
    return {
        "task": task.task,
        "address": task.address,
        "up": True,
        "version": reply.version,
        "pid": reply.pid,
        "incarnation": reply.incarnation,
        "age_seconds": time.time() - reply.start_time_secs,
        "resident_bytes": reply.resident_bytes,
        "steps": reply.steps_total,
        "kernels": reply.kernels,
        "devices": [
            {"name": d.name, "type": d.device_type, "memory_limit": d.memory_limit} for d in reply.device
        ],
        "sessions": [
            {
                "handle": s.handle,
                "nodes": s.nodes,
                "steps": s.steps,
                "callables": s.callables,
                "age_seconds": s.age_secs,
            }
            for s in reply.session
        ],
        "variables": [
            {
                "name": v.name,
                "container": v.container,
                "dtype": dtypes.as_dtype(v.dtype).name,
                "shape": None if v.shape.unknown_rank else [d.size for d in v.shape.dim],
                "bytes": v.bytes,
                "initialized": v.initialized,
                "kind": v.kind,
            }
            for v in reply.variable
        ],
    }


def render(tasks: Sequence[TaskStatus]) -> str:
    """The status as tables."""
    statuses = [as_dict(task) for task in tasks]
    parts = [_tasks(statuses), _sessions(statuses), _variables(statuses)]
    return "\n\n".join(part for part in parts if part)


def _tasks(statuses: Iterable[dict[str, Any]]) -> str:
    rows = []
    for s in statuses:
        if not s["up"]:
            rows.append([s["task"], s["address"], "down", *[""] * 7, s["error"]])
            continue
        devices = [device["name"].rpartition("device:")[2] for device in s["devices"]]
        rows.append(
            [
                s["task"],
                s["address"],
                "up",
                human_seconds(s["age_seconds"]),
                human_bytes(s["resident_bytes"]),
                str(s["steps"]),
                str(len(s["sessions"])),
                str(len(s["variables"])),
                s["version"],
                s["kernels"],
                " ".join(devices),
            ]
        )
    head = [
        "TASK",
        "ADDRESS",
        "STATE",
        "AGE",
        "MEMORY",
        "STEPS",
        "SESSIONS",
        "VARIABLES",
        "VERSION",
        "KERNELS",
        "DEVICES",
    ]
    return table(head, rows)


def _sessions(statuses: Iterable[dict[str, Any]]) -> str:
    rows = [
        [
            session["handle"],
            s["task"],
            str(session["nodes"]),
            str(session["steps"]),
            str(session["callables"]),
            human_seconds(session["age_seconds"]),
        ]
        for s in statuses
        for session in s.get("sessions", ())
    ]
    return table(["SESSION", "MASTER", "NODES", "STEPS", "CALLABLES", "AGE"], rows) if rows else ""


def _variable_name(variable: dict[str, Any]) -> str:
    """The variable's name, after the container's name unless that is the default one."""
    container, name = variable["container"], variable["name"]
    return name if container in ("", DEFAULT_CONTAINER) else f"{container}/{name}"


def _variables(statuses: Iterable[dict[str, Any]]) -> str:
    rows = [
        [
            _variable_name(variable),
            s["task"],
            variable["dtype"],
            "unknown" if variable["shape"] is None else str(variable["shape"]).replace("-1", "?"),
            human_bytes(variable["bytes"]),
            "yes" if variable["initialized"] else "no",
        ]
        for s in statuses
        for variable in s.get("variables", ())
    ]
    return table(["VARIABLE", "TASK", "DTYPE", "SHAPE", "SIZE", "INITIALIZED"], rows) if rows else ""
