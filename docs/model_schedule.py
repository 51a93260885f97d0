"""How a training step would scale with cores: a model of the schedule, fed with times measured on one core.

    taskset -c 0 python docs/model_schedule.py

runs two networks with a trace, takes the shortest time of each op, and computes how long a step would take on
more cores: one op after the other, each divided into as many parts as its kernel makes of it, and with
products beside (`executor/branches.py`). The model has no memory bandwidth, no wake-ups and no interpreter's
lock: it is the bound that the schedule sets, not a forecast.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any

import tensorfleet as tf
from tensorfleet_service.devices.blas import LARGE_PRODUCT, LEAST_PART
from tensorfleet_service.executor.branches import LEAST

CORES = (1, 2, 4, 8, 16, 64)
PART_SECONDS = 20e-6  # of the parts that kernels divide large arrays into
STEPS = 30


@dataclass
class Timed:
    """An op of a step: its time on one core, what it waits for, and what its kernel makes of it."""

    name: str
    seconds: float
    inputs: list[str]
    products: int  # multiplications, of a product of matrices

    def parts(self, cores: int) -> int:
        if self.products:
            return min(2 * cores, self.products // LEAST_PART) if self.products >= LARGE_PRODUCT else 1
        return max(1, int(self.seconds / PART_SECONDS))

    def is_beside(self, cores: int) -> bool:
        return LEAST <= self.products < max(LARGE_PRODUCT, 2 * LEAST_PART * cores)


def dense(x: Any, width: int, activation: Any) -> Any:
    w = tf.Variable(tf.truncated_normal([int(x.shape[1]), width], stddev=0.05, seed=1))
    return activation(tf.matmul(x, w) + tf.Variable(tf.zeros([width])))


def autoencoder() -> Any:
    x = h = tf.Variable(tf.random_uniform([128, 784], seed=1), trainable=False)
    for width in (512, 128, 32, 128, 512):
        h = dense(h, width, tf.nn.elu)
    loss = tf.reduce_mean(tf.square(dense(h, 784, tf.nn.sigmoid) - x))
    return tf.train.AdamOptimizer(1e-3).minimize(loss)


def language_model(batch: int = 20, steps: int = 20, units: int = 200, words: int = 10_000) -> Any:
    x = tf.Variable(tf.random_uniform([steps, batch, units], seed=1), trainable=False)
    labels = tf.Variable(tf.random_uniform([steps * batch], 0, words, tf.int32, seed=1), trainable=False)
    outputs = tf.unstack(x)
    for _ in range(2):
        w = tf.Variable(tf.random_uniform([2 * units, 4 * units], -0.1, 0.1, seed=1))
        h = c = tf.zeros([batch, units])
        for t, value in enumerate(outputs):
            i, j, f, o = tf.split(tf.matmul(tf.concat([value, h], 1), w), 4, 1)
            c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(j)
            outputs[t] = h = tf.sigmoid(o) * tf.tanh(c)
    logits = dense(tf.concat(outputs, 0), words, tf.identity)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return tf.train.GradientDescentOptimizer(0.5).minimize(loss)


def products_of(op: Any) -> int:
    if op.type != "MatMul":
        return 0
    rows, columns = op.outputs[0].shape.as_list()
    inner = op.inputs[0].shape.as_list()[0 if op.get_attr("transpose_a") else 1]
    return int(rows * columns * inner)


def measured(build: Callable[[], Any]) -> list[Timed]:
    """The ops of a step in the order in which the plan runs them, with the shortest time of each."""
    with tf.Graph().as_default() as graph:
        train = build()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            shortest: dict[str, float] = {}
            for _ in range(STEPS):
                metadata = tf.RunMetadata()
                session.run(train, options=options, run_metadata=metadata)
                order = sorted(
                    (stats for device in metadata.step_stats.dev_stats for stats in device.node_stats),
                    key=lambda stats: (stats.all_start_micros, stats.op_start_rel_micros),
                )
                for stats in order:
                    taken = stats.op_end_rel_nanos / 1e9 or stats.op_end_rel_micros / 1e6
                    shortest[stats.node_name] = min(taken, shortest.get(stats.node_name, taken))
            found = []
            for name, seconds in shortest.items():
                op = graph.get_operation_by_name(name)
                found.append(Timed(name, seconds, sorted(sources_of(op, shortest)), products_of(op)))
            return found


def sources_of(op: Any, known: Container[str]) -> set[str]:
    """The ops that ran whose results an op takes, also through nodes that the plan leaves out."""
    found: set[str] = set()
    for x in op.inputs:
        found |= {x.op.name} if x.op.name in known else sources_of(x.op, known)
    return found


def beside(ops: list[Timed], cores: int) -> set[str]:
    """The products that the plan starts, as in `executor.branches.find_beside`."""
    first_use: dict[str, int] = {}
    for place, op in enumerate(ops):
        for name in op.inputs:
            first_use.setdefault(name, place)
    found, following = set(), len(ops)
    for place in range(len(ops) - 1, -1, -1):
        if ops[place].products:
            if following < first_use.get(ops[place].name, 0) and ops[place].is_beside(cores):
                found.add(ops[place].name)
            else:
                following = place
    return found


def length(ops: list[Timed], cores: int, started: set[str]) -> float:
    """Seconds of a step on so many cores."""
    now = 0.0
    free = [0.0] * (cores - 1)  # when each of the other threads is free
    waiting: dict[str, Timed] = {}  # started, and not begun by any thread
    ends: dict[str, float] = {}
    for op in ops:
        if op.name in started and cores > 1:
            waiting[op.name] = op
            first = min(range(len(free)), key=free.__getitem__)
            free[first] = ends[op.name] = max(free[first], now) + op.seconds
            continue
        for name in op.inputs:
            if name in waiting:
                job = waiting.pop(name)
                if ends[name] - job.seconds > now:  # no thread has begun: the plan computes
                    last = free.index(max(free))
                    free[last] = max(0.0, free[last] - job.seconds)
                    now += job.seconds
                else:
                    now = max(now, ends[name])
        idle = sum(at <= now for at in free)
        now += op.seconds / min(op.parts(cores), 1 + idle)
    return now


def main() -> None:
    print("| network | cores | one op after the other, ms | with products beside, ms |\n|---|---|---|---|")
    for build in (autoencoder, language_model):
        ops = measured(build)
        for cores in CORES:
            serial, parallel = (length(ops, cores, s) * 1e3 for s in (set[str](), beside(ops, cores)))
            print(f"| {build.__name__.replace('_', ' ')} | {cores} | {serial:.2f} | {parallel:.2f} |")


if __name__ == "__main__":
    main()
