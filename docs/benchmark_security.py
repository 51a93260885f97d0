"""What security costs, and how even the turns of clients are: `python docs/benchmark_security.py`.

A task runs in a process of its own, without security and with TLS and a token, by turns; clients come by TCP.
"TLS by ssl" is without the compiled module. Each figure is the best of `--rounds`. `--clients 200` measures
the turns instead, `--messages` the processor time of messages that one thread sends and receives, which other
work changes less, `--handshakes` that of opening a connection, both sides together.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

import tensorfleet as tf
from tensorfleet.security import identity, settings, tokens
from tensorfleet.security.authority import Authority, pem
from tensorfleet.security.settings import TlsFiles
from tensorfleet.security.tls import certificates
from tensorfleet.session import stream_route
from tensorfleet.wire import tls_records
from tensorfleet.wire.connection import Connection
from tensorfleet.wire.frames import Kind, encode
from tensorfleet.wire.tls import TlsConnection, TlsSocket

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
    client = files("client", "") | {settings.TOKEN: text}
    plain = {tls_records.SWITCH: "0"}
    return {
        "none": ({}, {}),
        "TLS by ssl": (secured | plain, client | plain),
        "TLS, compiled": (secured, client),
    }


def by_tcp(endpoint: Any, address: str, security: settings.Security) -> Any:
    """As on another machine: not by this one's Unix socket."""
    found = [one for one in endpoint.stream_address if not one.startswith("unix:")]
    del endpoint.stream_address[:]
    endpoint.stream_address.extend(found)
    return find_route(endpoint, address, security)


def processor_seconds(pid: int) -> float:
    """Of another process, until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def once(target: str, pid: int, mib: int, steps: int) -> tuple[float, float, float, float]:
    """(microseconds of a step of one addition, its processor time on both sides, GB/s of a large tensor,
    there and back, nanoseconds of processor time for each byte).
    """

    def spent() -> float:
        return time.process_time() + processor_seconds(pid)

    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None])
        y, same = x + 1.0, tf.identity(x)
        with tf.Session(target) as session:
            small, large = np.ones(1, np.float32), np.ones(mib * MIB // 4, np.float32)
            for value, fetch in ((small, y), (large, same)):
                session.run(fetch, {x: value})
            began, used = time.perf_counter(), spent()
            for _ in range(steps):
                session.run(y, {x: small})
            step, step_used = (time.perf_counter() - began) / steps, (spent() - used) / steps
            began, used = time.perf_counter(), spent()
            for _ in range(4):
                session.run(same, {x: large})
            size = 8 * large.nbytes
            rate, byte_used = size / (time.perf_counter() - began), (spent() - used) / size
            return step * 1e6, step_used * 1e6, rate / 1e9, byte_used * 1e9


def costs(rounds: int, mib: int, steps: int) -> None:
    stream_route.find_route = by_tcp
    with tempfile.TemporaryDirectory() as folder:
        ways = environments(Path(folder))
        found: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, (of_task, of_client) in ways.items():
                kept = {k: v for k, v in os.environ.items() if k not in settings.VARIABLES}
                with process(TASK, environment=kept | of_task) as task:
                    os.environ.update(of_client)
                    tls_records.module.cache_clear()
                    found[name].append(once(task.stdout.readline().strip(), task.pid, mib, steps))
                    for variable in of_client:
                        del os.environ[variable]
        print(f"{'security':<16}{'step, us':>10}{'its CPU, us':>13}{'tensors, GB/s':>15}{'CPU, ns/B':>11}")
        for name, figures in found.items():
            steps_, used, rates, bytes_ = zip(*figures, strict=True)
            print(f"{name:<16}{min(steps_):10.1f}{min(used):13.1f}{max(rates):15.2f}{min(bytes_):11.2f}")


def connected(
    server: TlsFiles | None, client: TlsFiles | None, compiled: bool
) -> tuple[Connection, Connection]:
    """Two ends of a connection, in this process."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        near = socket.create_connection(listening.getsockname())
        far = listening.accept()[0]
    if server is None or client is None:
        return Connection(near), Connection(far)
    context = certificates(server).server_context()
    accepted: list[TlsSocket] = []
    thread = threading.Thread(target=lambda: accepted.append(TlsSocket(far, context, True)))
    thread.start()
    ends = [TlsSocket(near, certificates(client).client_context(), False)]
    thread.join()
    ends += accepted
    for end in ends:
        if compiled:
            end.greeted()
            if end.records is None:
                raise SystemExit("tensorfleet-kernels is not installed, or does not fit this Python's ssl")
    one, other = map(TlsConnection, ends)
    return one, other


SIZES = (200, 16 << 10, 64 << 10, 128 << 10)


def files_of(folder: Path) -> tuple[TlsFiles, TlsFiles]:
    """Those of a task and of a client."""
    one, other = (
        TlsFiles(found[settings.CERT], found[settings.KEY], found[settings.CA])
        for found in environments(folder)["TLS, compiled"]
    )
    return one, other


def exchange(way: str) -> None:
    """Exchanges messages of the sizes that come on standard input; prints the microseconds of one."""
    with tempfile.TemporaryDirectory() as folder:
        files = (None, None) if way == "none" else files_of(Path(folder))
        one, other = connected(*files, way == "TLS, compiled")
    for line in sys.stdin:
        tensor, count = np.ones(int(line), np.uint8), 2000 if int(line) < 1000 else 300
        began = time.thread_time()
        for _ in range(count):
            one.send(encode(Kind.PUSH, 1, 1, b"", [tensor]))
            other.reader.read()
        print((time.thread_time() - began) / count * 1e6, flush=True)


def messages(rounds: int) -> None:
    ways = ("none", "TLS by ssl", "TLS, compiled")
    best = {(way, size): float("inf") for way in ways for size in SIZES}
    with ExitStack() as stack:
        # Each in a process of its own: the interpreter makes its code fast for one class of connections.
        code = "import sys; from benchmark_security import exchange; exchange(sys.argv[1])"
        path = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}
        children = {
            way: stack.enter_context(process(code, way, environment=os.environ | path)) for way in ways
        }
        for _ in range(rounds):
            for size in SIZES:
                for way, child in children.items():
                    child.stdin.write(f"{size}\n")
                    child.stdin.flush()
                    best[way, size] = min(best[way, size], float(child.stdout.readline()))
    print(f"{'security':<16}" + "".join(f"{f'{size} B, us':>14}" for size in SIZES))
    for way in ways:
        print(f"{way:<16}" + "".join(f"{best[way, size]:14.1f}" for size in SIZES))


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, session: Any) -> tuple[float, Any]:
    """(seconds of processor time of both sides, what a later connection could be resumed by)."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    began = time.thread_time()
    one = client.wrap_bio(back, there, server_side=False, session=session)
    other = server.wrap_bio(there, back, server_side=True)
    waiting = [one, other]
    while waiting:
        for side in list(waiting):
            with suppress(ssl.SSLWantReadError):
                side.do_handshake()
                waiting.remove(side)
    other.write(b"x")
    one.read(1)  # with it comes the ticket, if there is one
    used = time.thread_time() - began
    assert one.session_reused == (session is not None)
    return used, one.session


def handshakes(rounds: int) -> None:
    """A full one, as it is made, and a resumed one, which tasks do not offer."""
    with tempfile.TemporaryDirectory() as folder:
        of_task, of_client = files_of(Path(folder))
        server, client = certificates(of_task).server_context(), certificates(of_client).client_context()
        server.num_tickets = 1
        full, resumed = float("inf"), float("inf")
        for _ in range(100 * rounds):
            used, session = handshake(server, client, None)
            full, resumed = min(full, used), min(resumed, handshake(server, client, session)[0])
    print(f"processor time of a handshake, both sides: {full * 1e6:.0f} us, resumed {resumed * 1e6:.0f} us")


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
    p.add_argument("--messages", action="store_true", help="measure the processor time of messages")
    p.add_argument("--handshakes", action="store_true", help="measure the processor time of handshakes")
    p.add_argument("--seconds", type=float, default=10.0)
    flags = p.parse_args()
    os.environ["TENSORFLEET_TRANSPORT"] = "stream"
    os.environ["TENSORFLEET_SHARED_MEMORY_MB"] = "0"
    if flags.clients:
        turns(flags.clients, flags.seconds)
    elif flags.messages:
        messages(flags.rounds)
    elif flags.handshakes:
        handshakes(flags.rounds)
    else:
        costs(flags.rounds, flags.mib, flags.steps)


if __name__ == "__main__":
    main()
