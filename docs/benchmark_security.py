"""What security costs, and how even the turns of clients are: `python docs/benchmark_security.py`.

Tasks and clients run in processes of their own, without security and with TLS and a token, by turns; clients
come by TCP. "TLS by ssl" is without the compiled module. Of steps, it prints the best one and the median of
all rounds' medians, of tensors the best of `--rounds`. Whether both sides share a core changes what TLS adds:
`--cores`. `--clients 200` measures the turns instead, `--messages` the processor time of messages that one
thread sends and receives, which other work changes less, `--handshakes` that of opening a connection, both
sides together.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
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
import benchmark_security
from tensorfleet.session import stream_route
stream_route.find_route = benchmark_security.by_tcp
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

# A function of this file, in a process of its own.
OWN = ("import sys, benchmark_security; getattr(benchmark_security, sys.argv[1])(sys.argv[2])",)
PATH = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}


def insecure() -> dict[str, str]:
    """The variables of a process of the benchmark, without those of security."""
    return {k: v for k, v in os.environ.items() if k not in settings.VARIABLES} | PATH


@contextmanager
def process(
    code: str, *arguments: Any, environment: dict[str, str] | None = None, core: int | None = None
) -> Iterator[Any]:
    child = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    if core is not None:
        os.sched_setaffinity(child.pid, {core})
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


def client(target: str) -> None:
    """Runs what comes on standard input, `steps N` or `tensors MIB`: a tensor there and back, four times.

    Prints three numbers of microseconds as JSON: the best one, the median one, and this process's processor
    time for each.
    """
    stream_route.find_route = by_tcp
    x = tf.placeholder(tf.float32, [None])
    y, same = x + 1.0, tf.identity(x)
    clock = time.perf_counter_ns
    with tf.Session(target) as session:
        small = np.ones(1, np.float32)
        for _ in range(500):
            session.run(y, {x: small})
        print(flush=True)
        for line in sys.stdin:
            what, count = line.split()[0], int(line.split()[1])
            if what == "steps":
                run, fetch, fed = count, y, small
            else:
                run, fetch, fed = 4, same, np.ones(count * MIB // 4, np.float32)
                session.run(fetch, {x: fed})
            times, used = [], time.process_time()
            for _ in range(run):
                began = clock()
                session.run(fetch, {x: fed})
                times.append((clock() - began) / 1e3)
            used = (time.process_time() - used) / run * 1e6
            print(json.dumps((min(times), statistics.median(times), used)), flush=True)


def ask(child: Any, line: str) -> tuple[float, float, float]:
    """What the client in a process says to a line, its own time and the task's together."""
    child.stdin.write(line + "\n")
    child.stdin.flush()
    best, median, used = json.loads(child.stdout.readline())
    return best, median, used


def costs(rounds: int, mib: int, steps: int, cores: Sequence[int | None]) -> None:
    """Each way with a task and a client of its own, by turns.

    All are there at once: an interpreter makes its code fast for one class of connections, and what else a
    machine does changes sooner than processes start.
    """
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        ways = environments(Path(folder))
        children = {}
        for name, (of_task, of_client) in ways.items():
            task = stack.enter_context(process(TASK, environment=insecure() | of_task, core=cores[0]))
            target = task.stdout.readline().strip()
            environment = insecure() | of_client
            asking = stack.enter_context(
                process(*OWN, "client", target, environment=environment, core=cores[-1])
            )
            asking.stdout.readline()
            children[name] = task, asking
        found: dict[str, list[tuple[float, ...]]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, (task, asking) in children.items():
                before = processor_seconds(task.pid)
                best, median, used = ask(asking, f"steps {steps}")
                used += (processor_seconds(task.pid) - before) / steps * 1e6
                before = processor_seconds(task.pid)
                tensor, _, tensor_used = ask(asking, f"tensors {mib}")
                # The task had one tensor more than those that were timed.
                tensor_used += (processor_seconds(task.pid) - before) / 5 * 1e6
                found[name].append((best, median, used, tensor, tensor_used))
    heads = f"{'step, us':>10}{'median':>9}{'its CPU':>9}{'tensors, GB/s':>15}{'CPU, ns/B':>11}"
    print(f"{'security':<16}{heads}")
    size = 2 * mib * MIB
    for name, figures in found.items():
        steps_, medians, step_used, tensors, used_for_tensors = zip(*figures, strict=True)
        print(
            f"{name:<16}{min(steps_):10.1f}{statistics.median(medians):9.1f}{statistics.mean(step_used):9.1f}"
            f"{size / min(tensors) / 1e3:15.2f}{min(used_for_tensors) * 1e3 / size:11.2f}"
        )


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
    return TlsConnection(ends[0]), TlsConnection(ends[1])


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
        server, user = (None, None) if way == "none" else files_of(Path(folder))
        one, other = connected(server, user, way == "TLS, compiled")
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
        children = {
            way: stack.enter_context(process(*OWN, "exchange", way, environment=os.environ | PATH))
            for way in ways
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
    share = clients // processes
    with tempfile.TemporaryDirectory() as folder:
        ways = environments(Path(folder))
        for name in ("none", "TLS, compiled"):
            of_task, of_client = (insecure() | extra for extra in ways[name])
            counts: list[int] = []
            with process(TASK, environment=of_task) as task, ExitStack() as stack:
                target = task.stdout.readline().strip()
                asking = [
                    stack.enter_context(process(CLIENT, target, share, seconds, environment=of_client))
                    for _ in range(processes)
                ]
                for one in asking:
                    one.stdout.readline()
                for one in asking:
                    one.stdin.write("\n")
                    one.stdin.flush()
                for one in asking:
                    counts += json.loads(one.stdout.readline())
            uneven = max(counts) / min(counts)
            rate = sum(counts) / seconds
            print(f"{name}: {len(counts)} clients, {rate:.0f} steps/s, share max/min {uneven:.2f}")


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rounds", type=int, default=10)
    p.add_argument("--mib", type=int, default=64, help="of the large tensor")
    p.add_argument("--steps", type=int, default=1000, help="of a round")
    p.add_argument("--cores", help="of the task and of the client, `0,1`; both on one with `0`")
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
        cores = [int(core) for core in flags.cores.split(",")] if flags.cores else [None]
        costs(flags.rounds, flags.mib, flags.steps, cores)


if __name__ == "__main__":
    main()
