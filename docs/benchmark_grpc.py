"""How long a step takes by gRPC alone, on one task and over two, in TensorFleet and in TensorFlow by turns.

    python docs/benchmark_grpc.py [passes [figures that begin so]]

needs both installed. `TENSORFLOW_PYTHON` and `TENSORFLEET_PYTHON` name interpreters where they are not in the
same environment. Each side has two tasks and a client, processes that stay; a pass runs a burst of steps of
each figure on one side and then on the other. A ratio over 1 means that TensorFleet is ahead. `cpu` is the
time that all three processes computed in a step, `switches` how often one of their threads went to sleep and
was woken.
"""

from __future__ import annotations

import importlib
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

MODULES = {"tensorflow": "tensorflow.compat.v1", "tensorfleet": "tensorfleet"}
SIZES = {"scalar": 0, "100KB": 25_000, "1MB": 250_000}
BURST_SECONDS = 0.25
WARM_UP = 30


def tensorflow(module: str) -> Any:
    tf = importlib.import_module(module)
    if hasattr(tf, "disable_v2_behavior"):
        tf.disable_v2_behavior()
    return tf


def serve(tf: Any, cluster: dict[str, list[str]], index: int) -> None:
    server = tf.train.Server(
        tf.train.ClusterSpec(cluster), job_name="local", task_index=index, protocol="grpc"
    )
    print("serves", flush=True)
    server.join()


def figures(tf: Any, target: str) -> dict[str, Callable[[], Any]]:
    """The steps by their names: how many tasks, where the input comes from, and its size."""
    found: dict[str, Callable[[], Any]] = {}
    # A graph that is not rewritten: else TensorFlow folds what is constant, and no other task takes part.
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.opt_level = -1
    if hasattr(config.graph_options.rewrite_options, "disable_meta_optimizer"):
        config.graph_options.rewrite_options.disable_meta_optimizer = True
    for tasks in (1, 2):
        for source in ("const", "feed"):
            for name, count in SIZES.items():
                value = np.ones(count, np.float32) if count else np.float32(2)
                with tf.Graph().as_default() as graph:
                    with tf.device("/job:local/task:0"):
                        x = (
                            tf.placeholder(tf.float32, value.shape)
                            if source == "feed"
                            else tf.constant(value)
                        )
                    with tf.device(f"/job:local/task:{tasks - 1}"):
                        other = x - 66
                    with tf.device("/job:local/task:0"):
                        result = x + 300 + other
                    session = tf.Session(target, graph=graph, config=config)
                feed = {x: value} if source == "feed" else None
                found[f"{tasks}/{source}/{name}"] = lambda s=session, r=result, f=feed: s.run(r, f)
    return found


def client(tf: Any, target: str) -> None:
    """Runs a burst of the figure that each line names, and writes the microseconds of its steps."""
    steps = figures(tf, target)
    for step in steps.values():
        for _ in range(WARM_UP):
            step()
    print("ready", flush=True)
    for line in sys.stdin:
        step, taken = steps[line.strip()], []
        step()
        end = time.perf_counter() + BURST_SECONDS
        while time.perf_counter() < end:
            started = time.perf_counter()
            step()
            taken.append((time.perf_counter() - started) * 1e6)
        print(json.dumps(taken), flush=True)
    os._exit(0)


def used(processes: Iterable[subprocess.Popen[str]]) -> tuple[float, int]:
    """(seconds of processor time, voluntary switches of threads) of processes so far."""
    seconds, switches = 0.0, 0
    for process in processes:
        with open(f"/proc/{process.pid}/stat") as f:
            fields = f.read().rpartition(")")[2].split()
        seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        for thread in os.listdir(f"/proc/{process.pid}/task"):
            try:
                with open(f"/proc/{process.pid}/task/{thread}/status") as f:
                    lines = f.read().splitlines()
            except OSError:
                continue  # it has ended
            switches += sum(int(line.split()[1]) for line in lines if line.startswith("voluntary"))
    return seconds, switches


class Side:
    """One framework: two tasks and a client."""

    def __init__(self, name: str) -> None:
        self.python = os.environ.get(f"{name.upper()}_PYTHON", sys.executable)
        self.module = MODULES[name]
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        cluster = {"local": [f"127.0.0.1:{s.getsockname()[1]}" for s in sockets]}
        for each in sockets:
            each.close()
        self.processes = [self._start("serve", json.dumps(cluster), str(index)) for index in (0, 1)]
        for process in self.processes:
            self._read(process)
        self.client = self._start("client", f"grpc://{cluster['local'][0]}")
        self.processes.append(self.client)
        self._read(self.client)
        self.steps, self.cpu, self.switches = {}, {}, {}  # type: dict[str, int], dict[str, float], dict[str, int]

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.python, __file__, arguments[0], self.module, *arguments[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    @staticmethod
    def _read(process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"a process has ended: {process.wait()}")
        return line

    def burst(self, figure: str) -> float:
        """The median of a burst, in microseconds."""
        before = used(self.processes)
        assert self.client.stdin is not None
        self.client.stdin.write(f"{figure}\n")
        self.client.stdin.flush()
        taken = json.loads(self._read(self.client))
        after = used(self.processes)
        self.steps[figure] = self.steps.get(figure, 0) + len(taken)
        self.cpu[figure] = self.cpu.get(figure, 0) + after[0] - before[0]
        self.switches[figure] = self.switches.get(figure, 0) + after[1] - before[1]
        return statistics.median(taken)

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


def main(passes: int, prefix: str) -> None:
    sides: dict[str, Side] = {}
    names = [f"{t}/{source}/{size}" for t in (1, 2) for source in ("const", "feed") for size in SIZES]
    names = [name for name in names if name.startswith(prefix)]
    taken: dict[str, dict[str, list[float]]] = {name: {} for name in names}
    try:
        for side in MODULES:
            sides[side] = Side(side)
        for number in range(passes):
            for name in names:
                for side in list(MODULES) if number % 2 else reversed(MODULES):
                    taken[name].setdefault(side, []).append(sides[side].burst(name))
    finally:
        for each in sides.values():
            each.stop()
    print("| figure | TensorFlow, us | TensorFleet, us | ratio | range | cpu, us | switches |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        theirs, ours = taken[name]["tensorflow"], taken[name]["tensorfleet"]
        ratios = [a / b for a, b in zip(theirs, ours, strict=True)]
        cpu = " / ".join(f"{sides[s].cpu[name] / sides[s].steps[name] * 1e6:.0f}" for s in MODULES)
        switches = " / ".join(f"{sides[s].switches[name] / sides[s].steps[name]:.1f}" for s in MODULES)
        print(
            f"| {name} | {statistics.median(theirs):.0f} | {statistics.median(ours):.0f} "
            f"| {statistics.median(ratios):.2f} | {min(ratios):.2f}..{max(ratios):.2f} | {cpu} | {switches} |"
        )


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[:1] == ["serve"]:
        serve(tensorflow(arguments[1]), json.loads(arguments[2]), int(arguments[3]))
    elif arguments[:1] == ["client"]:
        client(tensorflow(arguments[1]), arguments[2])
    else:
        main(int(arguments[0]) if arguments else 20, arguments[1] if len(arguments) > 1 else "")
