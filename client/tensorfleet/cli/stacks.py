"""`tensorfleet stacks`: the stacks of all threads of a task, without stopping it."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence

from tensorfleet.cli import status
from tensorfleet.cli.local_process import dump_stacks, listener
from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet.core import errors
from tensorfleet.core.printable import printable
from tensorfleet.proto import fleet_pb2
from tensorfleet.proto.config_pb2 import ConfigProto

GET_STACKS = "/tensorfleet.FleetService/GetStacks"


def parser() -> argparse.ArgumentParser:
    """The flags of `tensorfleet stacks`."""
    p = argparse.ArgumentParser(
        prog="tensorfleet stacks",
        description="Print the stacks of all threads of a task, which goes on meanwhile.",
        epilog="A task whose interpreter is busy for long cannot answer. One of this machine (or pod) and "
        "user is then asked by a signal, which needs no interpreter. Exit code: 1 if the task does not tell.",
        allow_abbrev=False,
    )
    p.add_argument(
        "task",
        nargs="?",
        default="",
        metavar="TASK",
        help="/job:ps/task:0 or ps:0 of the cluster of --address (default: the task at that address)",
    )
    p.add_argument(
        "--address",
        default=os.environ.get("TENSORFLEET_ADDRESS"),
        metavar="ADDRESS",
        help="of any task: host:port or grpc://host:port (default: TENSORFLEET_ADDRESS)",
    )
    p.add_argument("--timeout", type=float, default=5.0, metavar="S", help="for each answer (default: 5)")
    return p


def main(argv: Sequence[str]) -> int:
    """Prints a task's stacks; returns 0, or 1 if the task does not answer."""
    p = parser()
    flags = p.parse_args(argv)
    if not flags.address:
        p.error("which cluster? Give the --address of one of its tasks, or set TENSORFLEET_ADDRESS")
    address = flags.address.rpartition("://")[2]
    try:
        if flags.task:
            address = address_of(flags.task, address, flags.timeout)
        print(printable(ask(address, flags.timeout)))
    except (errors.OpError, ValueError) as error:
        message = error.message if isinstance(error, errors.OpError) else str(error)
        print(f"tensorfleet stacks: {message}", file=sys.stderr)
        return 1
    return 0


def address_of(task: str, address: str, timeout: float) -> str:
    """The address of a task of the cluster that `address` belongs to.

    Raises:
        ValueError: the cluster has no such task.
        OpError: the task at `address` does not answer.
    """
    spec = ClusterSpec(status.ask(address, timeout).cluster)
    found = re.fullmatch(r"(?:/job:)?([\w-]+)(?:/replica:0)?(?:/task)?:(\d+)", task)
    if found is None or found[1] not in spec.jobs or int(found[2]) not in spec.task_indices(found[1]):
        names = [f"{job}:{index}" for job in spec.jobs for index in spec.task_indices(job)]
        raise ValueError(f"the cluster has no task {task!r}, only {', '.join(names)}")
    return spec.task_address(found[1], int(found[2]))


def ask(address: str, timeout: float) -> str:
    """The stacks of the task at an address (`host:port`).

    Raises:
        OpError: the task does not answer, and cannot be asked by a signal.
    """
    from tensorfleet.session import transport_grpc

    channel = transport_grpc.Channel(address, ConfigProto())
    try:
        reply = channel.call(GET_STACKS, fleet_pb2.StacksRequest(), fleet_pb2.StacksReply, timeout)
        return f"{reply.task} (process {reply.pid})\n\n{reply.text}"
    except errors.OpError as error:
        pid = listener(address)
        text = dump_stacks(pid) if pid else ""
        if not text:
            raise
        return f"process {pid} at {address} does not answer ({error.message}); asked by a signal\n\n{text}"
    finally:
        channel.close()
