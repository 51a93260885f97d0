"""How long an all-reduce takes, in TensorFleet, by MPI and by gloo, by turns.

    python docs/benchmark_collectives.py [--processes 2 4] [--passes 5] [--sides memory sockets mpi gloo]

`MPI_PYTHON` names an interpreter with mpi4py (`pip install mpi4py mpich numpy` brings all that it needs),
`GLOO_PYTHON` one with PyTorch; sides without theirs are left out. `memory` is TensorFleet as it is among
processes of one machine, `sockets` without the memory that these share. Each side's processes are started
anew in each pass, and all-reduce float32 tensors of each size back to back. A figure is the fastest of a
pass's bursts, as other work on the machine makes them slower only; the table has the median of the passes,
and behind it the processor time of one process for one all-reduce (MPI looks for data in a loop, so all of
its time is processor time). `step` is a step of TensorFleet over two tasks that sends one number there and
back: what a small all-reduce can be compared with.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

SIZES = {"4 KB": 1 << 10, "64 KB": 1 << 14, "1 MB": 1 << 18, "20 MB": 5 << 20, "100 MB": 25 << 20}
SIDES = ("memory", "sockets", "mpi", "gloo")
BURSTS = 12
PASS_SECONDS = 120.0


def burst_steps(count: int) -> int:
    """All-reduces of a burst, about a tenth of a second of them."""
    return max(2, min(100, (4 << 20) // count))


def measure(reduce: Callable[[], Any], count: int) -> dict[str, float]:
    """The time of one all-reduce and its processor time in this process, in milliseconds."""
    steps = burst_steps(count)
    for _ in range(max(steps // 4, 3)):
        reduce()
    times = []
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    for _ in range(BURSTS):
        started = time.perf_counter()
        for _ in range(steps):
            reduce()
        times.append((time.perf_counter() - started) / steps * 1e3)
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) - used
    return {"ms": min(times), "cpu": used / (steps * BURSTS) * 1e3}


def ours(rank: int, addresses: list[str]) -> dict[str, Any]:
    import tensorfleet as tf
    from tensorfleet.ops import collective_ops

    found: dict[str, Any] = {}
    size = len(addresses)
    server = tf.train.Server(tf.train.ClusterSpec({"worker": addresses}), "worker", rank)
    config = tf.ConfigProto(device_filters=[f"/job:worker/task:{rank}"])
    for key, (name, count) in enumerate(SIZES.items()):
        with tf.Graph().as_default(), tf.device(f"/job:worker/task:{rank}"):
            value = tf.get_local_variable(f"v{count}", initializer=tf.fill([count], float(rank + 1)))
            reduced = collective_ops.all_reduce(value, size, 1, key, "Add", "Id")
            with tf.Session(server.target, config=config) as session:
                session.run(value.initializer)
                total = session.run(reduced)
                assert np.all(total == size * (size + 1) / 2), total
                found[name] = measure(session.make_callable(reduced.op), count)
    with tf.Graph().as_default():
        with tf.device("/job:worker/task:0"):
            here = tf.placeholder(tf.float32, [])
        with tf.device("/job:worker/task:1"):
            there = here + 1
        with tf.device("/job:worker/task:0"):
            back = there + 1
        if rank == 0:
            with tf.Session(server.target) as session:
                call = session.make_callable(back, [here])
                found["step"] = measure(lambda: call(np.float32(1)), 1 << 10)
    with tf.Graph().as_default(), tf.device(f"/job:worker/task:{rank}"):
        done = collective_ops.all_reduce(tf.constant(1.0), size, 1, 1000)
        with tf.Session(server.target, config=config) as session:
            session.run(done)
    return found


def mpi() -> dict[str, Any]:
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    found: dict[str, Any] = {}
    for name, count in SIZES.items():
        mine = np.full(count, world.rank + 1, np.float32)
        total = np.empty_like(mine)
        found[name] = measure(lambda mine=mine, total=total: world.Allreduce(mine, total), count)
        assert np.all(total == world.size * (world.size + 1) / 2)
    return found if world.rank == 0 else {}


def gloo(rank: int, size: int, store: str) -> dict[str, Any]:
    import torch
    from torch import distributed

    distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    found = {}
    for name, count in SIZES.items():
        mine = torch.zeros(count)
        found[name] = measure(lambda mine=mine: distributed.all_reduce(mine), count)
    distributed.barrier()
    return found


def free_addresses(count: int) -> list[str]:
    """Addresses below the ports that the system gives to whoever wants any."""
    found: list[str] = []
    for port in random.sample(range(20_000, 30_000), 1000):
        if len(found) == count:
            break
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            found.append(f"127.0.0.1:{port}")
    return found


def one_pass(side: str, size: int) -> dict[str, Any]:
    """The figures of the process with rank 0."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as directory:
        if side == "mpi":
            python = os.environ["MPI_PYTHON"]
            mpiexec = os.path.join(os.path.dirname(python), "mpiexec")
            commands = [[mpiexec, "-n", str(size), python, __file__, "--role", "mpi"]]
        elif side == "gloo":
            store = os.path.join(directory, "store")
            commands = [
                [os.environ["GLOO_PYTHON"], __file__, "--role", "gloo", str(i), str(size), store]
                for i in range(size)
            ]
            environment["GLOO_SOCKET_IFNAME"] = "lo"
        else:
            if side == "sockets":
                environment["TENSORFLEET_SHARED_MEMORY_MB"] = "0"
            addresses = free_addresses(size)
            commands = [[sys.executable, __file__, "--role", "ours", str(i), *addresses] for i in range(size)]
        children = [
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
            for command in commands
        ]
        end = time.monotonic() + PASS_SECONDS
        try:
            while any(child.poll() is None for child in children):
                if any(child.returncode for child in children) or time.monotonic() > end:
                    sys.exit(f"{side} failed")
                time.sleep(0.05)
            outputs = [child.communicate()[0] for child in children]
        finally:
            for child in children:
                child.kill()
                child.wait()
    return next(json.loads(line) for line in outputs[0].splitlines() if line.startswith('{"'))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processes", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=SIDES)
    parser.add_argument("--role", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.role:
        role, *rest = arguments.role
        if role == "ours":
            found = ours(int(rest[0]), rest[1:])
        elif role == "mpi":
            found = mpi()
        else:
            found = gloo(int(rest[0]), int(rest[1]), rest[2])
        if found:
            print(json.dumps(found), flush=True)
        return
    needs = {"mpi": "MPI_PYTHON", "gloo": "GLOO_PYTHON"}
    sides = [side for side in arguments.sides if side not in needs or needs[side] in os.environ]
    print("| processes | tensor | " + " | ".join(f"{side}, ms (cpu)" for side in sides) + " |")
    print("|---|---|" + "---|" * len(sides))
    for size in arguments.processes:
        passes = [{side: one_pass(side, size) for side in sides} for _ in range(arguments.passes)]
        for name in [*SIZES, "step"]:
            cells = []
            for side in sides:
                figures = [found[side][name] for found in passes if name in found[side]]
                middle = {
                    key: statistics.median(one[key] for one in figures) for key in ("ms", "cpu") if figures
                }
                cells.append(f"{middle['ms']:.3g} ({middle['cpu']:.3g})" if middle else "")
            print(f"| {size} | {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
