"""What security costs, and how even the turns of clients are: `python docs/benchmark_security.py`.

A task runs in a process of its own, without security and with TLS and a token, by turns; clients come by TCP.
Each figure is the best of `--rounds`. `--clients 200` measures the turns instead.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import tensorfleet as tf
from tensorfleet.security import identity, settings, tokens
from tensorfleet.security.authority import Authority, pem
from tensorfleet.session import stream_route

MIB = 1 << 20
find_route = stream_route.find_route

# The task ends with its standard input.
TASK = """
import os, sys
from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet_service.local_cluster import free_ports
from tensorfleet_service.server import TaskServer
(port,) = free_ports("127.0.0.1", 1)
server = TaskServer(ClusterSpec({"worker": [f"127.0.0.1:{port}"]}), "worker", 0)
server.start()
print(server.target, flush=True)
sys.stdin.read()
os._exit(0)
"""

CLIENT = """
import json, os, sys, threading, time
import numpy as np
import tensorfleet as tf
target, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
clients = []
for _ in range(count):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None])
        y = x + 1.0
    session = tf.Session(target, graph=graph)
    session.run(y, {x: np.ones(1, np.float32)})
    clients.append((session, x, y))
print(flush=True)
sys.stdin.readline()
counts, end = [0] * count, time.monotonic() + seconds
def run(i):
    session, x, y = clients[i]
    value = np.ones(1, np.float32)
    while time.monotonic() < end:
        session.run(y, {x: value})
        counts[i] += 1
threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps(counts), flush=True)
os._exit(0)
"""


@contextmanager
def process(code: str, *arguments: Any, environment: dict[str, str] | None = None) -> Iterator[Any]:
    child = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def environments(folder: Path) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """By the name of a way to be secure, the variables of a task and of a client."""
    authority = Authority.create("benchmark", 1)
    (folder / "ca.pem").write_bytes(pem(authority.certificate))
    text, token = tokens.create("client", "run")
    tokens.write(str(folder / "tokens.json"), [token])

    def files(name: str, uri: str) -> dict[str, str]:
        found = {settings.CERT: folder / f"{name}.pem", settings.KEY: folder / f"{name}-key.pem"}
        for path, data in zip(found.values(), authority.issue(uri, ("127.0.0.1",), 1), strict=True):
            path.write_bytes(data)
        return {name: str(path) for name, path in found.items()} | {settings.CA: str(folder / "ca.pem")}

    task = files("task", identity.task_uri("example.org", "one", "worker", 0))
    secured = {settings.TOKENS: str(folder / "tokens.json")} | task
    return {"none": ({}, {}), "TLS and token": (secured, files("client", "") | {settings.TOKEN: text})}


def by_tcp(endpoint: Any, address: str, security: settings.Security) -> Any:
    """As on another machine: not by this one's Unix socket."""
    found = [one for one in endpoint.stream_address if not one.startswith("unix:")]
    del endpoint.stream_address[:]
    endpoint.stream_address.extend(found)
    return find_route(endpoint, address, security)


def once(target: str, mib: int, steps: int) -> tuple[float, float]:
    """(microseconds of a step of one addition, GB/s of a large tensor, there and back)."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None])
        y, same = x + 1.0, tf.identity(x)
        with tf.Session(target) as session:
            small, large = np.ones(1, np.float32), np.ones(mib * MIB // 4, np.float32)
            for value, fetch in ((small, y), (large, same)):
                session.run(fetch, {x: value})
            began = time.perf_counter()
            for _ in range(steps):
                session.run(y, {x: small})
            step = (time.perf_counter() - began) / steps
            began = time.perf_counter()
            for _ in range(4):
                session.run(same, {x: large})
            return step * 1e6, 8 * large.nbytes / (time.perf_counter() - began) / 1e9


def costs(rounds: int, mib: int, steps: int) -> None:
    stream_route.find_route = by_tcp
    with tempfile.TemporaryDirectory() as folder:
        ways = environments(Path(folder))
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, (of_task, of_client) in ways.items():
                kept = {k: v for k, v in os.environ.items() if k not in settings.VARIABLES}
                with process(TASK, environment=kept | of_task) as task:
                    os.environ.update(of_client)
                    found[name].append(once(task.stdout.readline().strip(), mib, steps))
                    for variable in of_client:
                        del os.environ[variable]
        print(f"{'security':<16}{'step, us':>10}{'tensors, GB/s':>16}")
        for name, figures in found.items():
            print(f"{name:<16}{min(f[0] for f in figures):10.1f}{max(f[1] for f in figures):16.2f}")


def turns(clients: int, seconds: float, processes: int = 4) -> None:
    with process(TASK) as task:
        target = task.stdout.readline().strip()
        counts: list[int] = []
        with ExitStack() as stack:
            share = clients // processes
            asking = [stack.enter_context(process(CLIENT, target, share, seconds)) for _ in range(processes)]
            for one in asking:
                one.stdout.readline()
            for one in asking:
                one.stdin.write("\n")
                one.stdin.flush()
            for one in asking:
                counts += json.loads(one.stdout.readline())
    uneven = max(counts) / min(counts)
    print(f"{len(counts)} clients: {sum(counts) / seconds:.0f} steps/s, share max/min {uneven:.2f}")


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--mib", type=int, default=64, help="of the large tensor")
    p.add_argument("--steps", type=int, default=3000)
    p.add_argument("--clients", type=int, default=0, help="measure the turns of so many")
    p.add_argument("--seconds", type=float, default=10.0)
    flags = p.parse_args()
    os.environ["TENSORFLEET_TRANSPORT"] = "stream"
    os.environ["TENSORFLEET_SHARED_MEMORY_MB"] = "0"
    if flags.clients:
        turns(flags.clients, flags.seconds)
    else:
        costs(flags.rounds, flags.mib, flags.steps)


if __name__ == "__main__":
    main()
