"""`tensorfleet up`: a cluster of processes on this machine, until Ctrl-C."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from itertools import chain, repeat

from tensorfleet.security import settings
from tensorfleet_service.lifecycle import on_signals
from tensorfleet_service.local_cluster import Cancelled, ClusterError, LocalCluster, describe

_OF_SERVERS = (
    settings.CERT,
    settings.KEY,
    settings.CA,
    settings.TOKENS,
    settings.SECRET,
    settings.SECRET_FILE,
)


def parser() -> argparse.ArgumentParser:
    """The flags of `tensorfleet up`."""
    p = argparse.ArgumentParser(
        prog="tensorfleet up",
        description="Start a cluster on this machine, one process a task; Ctrl-C drains and ends it. It "
        f"has a token, which this user's clients find by themselves; {settings.INSECURE}=yes makes none.",
        allow_abbrev=False,
    )
    p.add_argument("--ps", type=_count, default=1, metavar="N", help="tasks of job ps (default: 1)")
    p.add_argument("--workers", type=_count, default=2, metavar="N", help="tasks of job worker (default: 2)")
    p.add_argument(
        "--job",
        type=_job,
        action="append",
        metavar="NAME=N",
        help="these jobs in place of ps and worker; may be repeated",
    )
    p.add_argument("--host", default="127.0.0.1", help="address to bind (default: 127.0.0.1)")
    p.add_argument(
        "--base-port",
        type=_port,
        metavar="PORT",
        help="the first task's port, the others follow (default: free ones)",
    )
    p.add_argument(
        "--drain-seconds", type=float, default=5.0, metavar="S", help="for running steps at the end"
    )
    p.add_argument(
        "--metrics", action="store_true", help="serve each task's Prometheus metrics and health by HTTP"
    )
    return p


def main(argv: Sequence[str]) -> int:
    """Runs a cluster until a signal comes or one of its tasks ends.

    Returns 0 after a signal, else the exit code of that task; 1 if the cluster did not come up.
    """
    p = parser()
    flags = p.parse_args(argv)
    jobs = dict(flags.job) if flags.job else {"ps": flags.ps, "worker": flags.workers}
    if not sum(jobs.values()):
        p.error("a cluster takes at least one task")
    lock = threading.Lock()

    def log(task: str, line: str) -> None:
        with lock:
            print(f"[{_short(task)}] {line}", flush=True)

    try:
        security = settings.load(os.environ)
        if security.authenticates:
            raise settings.SecurityError(
                "the tasks of a cluster on one machine get their own token and secret: unset "
                + ", ".join(name for name in _OF_SERVERS if os.environ.get(name))
            )
        cluster = LocalCluster(
            jobs,
            flags.host,
            flags.base_port,
            log=log,
            drain_seconds=flags.drain_seconds,
            metrics=flags.metrics,
            secured=not security.insecure,
        )
        with on_signals(_stop_on_signals(cluster)), cluster:
            with lock:
                print(_announcement(cluster), flush=True)
            ended = cluster.wait()
    except Cancelled:
        return 0
    except (ClusterError, settings.SecurityError) as error:
        print(f"tensorfleet up: {error}", file=sys.stderr)
        return 1
    if ended is None:
        return 0
    print(
        f"tensorfleet up: {ended.task} ended with {describe(ended.code)}; the cluster was stopped",
        file=sys.stderr,
    )
    return ended.code if ended.code >= 0 else 128 - ended.code


def _announcement(cluster: LocalCluster) -> str:
    spec = cluster.spec
    lines = [f"ClusterSpec: {json.dumps(spec.as_dict())}"]
    for job in spec.jobs:
        for index in spec.task_indices(job):
            task = f"/job:{job}/task:{index}"
            urls = [f"grpc://{spec.task_address(job, index)}", cluster.metrics_urls.get(task, "")]
            lines.append("  ".join(["", task, *filter(None, urls)]))
    return "\n".join(
        [*lines, f"export TENSORFLEET_ADDRESS={cluster.target}", "Ready. Ctrl-C ends the cluster."]
    )


def _stop_on_signals(cluster: LocalCluster) -> Callable[[int], None]:
    """Has the first signal drain the cluster, and each later one kill its tasks."""
    actions = chain([cluster.cancel], repeat(cluster.kill))

    def act(signum: int) -> None:
        next(actions)()

    return act


def _short(task: str) -> str:
    """`worker:1` of `/job:worker/task:1`."""
    return task.removeprefix("/job:").replace("/task", "")


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number, 0 or more")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, 1 to 65535")
    return int(text)


def _job(text: str) -> tuple[str, int]:
    name, _, count = text.partition("=")
    if not name or not count.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=N")
    return name, int(count)
