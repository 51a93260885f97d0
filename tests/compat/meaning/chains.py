"""Random chains of changes and reads of two variables, in branches and loops, on several devices.

Each node waits for the one before it, so that TensorFlow gives one result in one process.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

from tests.compat.meaning import Place

MAX_DEPTH = 2


@dataclass(frozen=True)
class _Chain:
    """The things that a chain may use: variables, tensors that share their memory, and other tensors."""

    tf: Any
    devices: tuple[str, ...]
    variables: tuple[Any, ...]
    shared: tuple[Any, ...] = ()
    values: tuple[Any, ...] = ()
    depth: int = 0

    def build(self, draw: random.Random, length: int) -> Any:
        """Adds the nodes of a chain; a sum over all that it may use, at its end."""
        tf, chain, last = self.tf, self, None
        for _ in range(length):
            with (
                tf.device(draw.choice(self.devices)),
                tf.control_dependencies([] if last is None else [last]),
            ):
                last, kind = chain._step(draw)
            if kind == "shared":
                chain = replace(chain, shared=(*chain.shared, last))
            elif kind == "value":
                chain = replace(chain, values=(*chain.values, last))
        with tf.control_dependencies([last]):
            parts = [x * 1.0 for x in (*chain.variables, *chain.shared)] + list(chain.values)
            return tf.add_n([part * (1.0 / (i + 1)) for i, part in enumerate(parts)])

    def _step(self, draw: random.Random) -> tuple[Any, str]:
        tf, v = self.tf, draw.choice(self.variables)
        match draw.randrange(11):
            case 0 | 1 | 2:
                return tf.assign_add(v, [float(draw.randrange(1, 4))] * 2), "change"
            case 3:
                return tf.assign(v, draw.choice(self.values) * 0.5 if self.values else [1.0, 2.0]), "change"
            case 4:
                return tf.identity(v), "shared"
            case 5:
                return v * 1.0, "value"
            case 6 if self.shared:
                return draw.choice(self.shared) + 1.0, "value"
            case 7 if self.shared:
                return tf.reshape(tf.identity(draw.choice(self.shared)), [2]), "shared"
            case 8:
                return v.read_value() * 2.0, "value"
            case 9 if self.depth < MAX_DEPTH:
                return self._branches(draw, v), "value"
            case 10 if self.depth < MAX_DEPTH:
                return self._loop(draw), "value"
        return tf.assign_sub(v, v * 0.25), "change"

    def _branches(self, draw: random.Random, v: Any) -> Any:
        tf, inner = self.tf, replace(self, depth=self.depth + 1)
        taken = tf.equal(tf.reduce_sum(v * 0.0), float(draw.randrange(2)))
        seeds = draw.random(), draw.random()
        return tf.cond(
            taken,
            lambda: inner.build(random.Random(seeds[0]), 3),
            lambda: inner.build(random.Random(seeds[1]), 3),
        )

    def _loop(self, draw: random.Random) -> Any:
        tf, seed = self.tf, draw.random()

        def body(i: Any, total: Any) -> Any:
            inner = replace(self, values=(*self.values, total), depth=self.depth + 1)
            result = inner.build(random.Random(seed), 3)
            with tf.control_dependencies([result]):
                return i + 1, (total * 0.5 + result) * 0.5

        start = [0, tf.constant([1.0, 1.0])]
        return tf.while_loop(lambda i, _: i < 3, body, start, parallel_iterations=1)[1]


def run_chain(place: Place, seed: int) -> Any:
    """The sum and the variables of two steps."""
    tf = place.tf
    variables = (tf.Variable([1.0, 2.0]), tf.Variable([2.0, 2.0]))
    on_task = place.other if place.target else "/cpu:0"
    devices = ("/job:worker/task:0", "/job:ps/task:0", on_task) if place.target else (on_task,) * 3
    total = _Chain(tf, devices, variables).build(random.Random(seed), 8)
    with place.session() as session:
        return [session.run([total, *variables]) for _ in range(2)]
