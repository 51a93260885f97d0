"""Programs whose conditionals and loops are functions, for TensorFleet's tests and beside TensorFlow's own.

Each takes the package and gives what to run, and what to feed to its placeholders in each run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Program = Callable[[Any], tuple[Any, list[dict[Any, Any]]]]


def _derivatives(t: Any, y: Any, xs: Any, order: int = 2) -> list[Any]:
    found = [y]
    for _ in range(order):
        found.append(t.gradients(found[-1], xs))
    return found


def conditional(t: Any) -> Any:
    x, p = t.placeholder(t.float32, []), t.placeholder(t.bool, [])
    y = t.cond(p, lambda: x * x * x, lambda: 2.0 * x)
    return _derivatives(t, y, x), [{x: 3.0, p: True}, {x: 3.0, p: False}]


def conditional_with_an_integer(t: Any) -> Any:
    x, p = t.placeholder(t.float32, []), t.placeholder(t.bool, [])
    y, n = t.cond(p, lambda: (x * x, t.cast(x, t.int32)), lambda: (t.exp(x), 7))
    return [n, *_derivatives(t, y, x)], [{x: 3.0, p: True}, {x: 0.5, p: False}]


def partly_connected(t: Any) -> Any:
    x, z, p = t.placeholder(t.float32, []), t.placeholder(t.float32, []), t.placeholder(t.bool, [])
    y = t.cond(p, lambda: (x * x * x, t.constant(1.0)), lambda: (2.0 * x, z * x))
    return [y, t.gradients(y, [x, z])], [{x: 3.0, z: 5.0, p: True}, {x: 3.0, z: 5.0, p: False}]


def branches_by_number(t: Any) -> Any:
    x, i = t.placeholder(t.float32, []), t.placeholder(t.int32, [])
    y = t.switch_case(i, [lambda: x * x, lambda: x * x * x, lambda: t.sin(x)])
    return _derivatives(t, y, x), [{x: 0.9, i: number} for number in (0, 1, 2, 5)]


def loop(t: Any) -> Any:
    x = t.placeholder(t.float32, [])
    y = t.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * y * x), [0, x])[1]
    return _derivatives(t, y, x, 3), [{x: 1.1}, {x: 0.9}]


def loop_with_a_limit(t: Any) -> Any:
    x, n = t.placeholder(t.float32, []), t.placeholder(t.int32, [])
    y = t.while_loop(lambda v: v < 100.0, lambda v: v * v * x, [x], maximum_iterations=n)
    return _derivatives(t, y, x), [{x: 2.0, n: number} for number in (0, 1, 2, 50)]


def loop_that_grows(t: Any) -> Any:
    x = t.placeholder(t.float32, [2])
    shapes = [t.TensorShape([]), t.TensorShape([None])]
    y = t.while_loop(
        lambda i, x: i < 3, lambda i, x: (i + 1, t.concat([x * x, x], 0)), [0, x], shape_invariants=shapes
    )[1]
    return _derivatives(t, y, x), [{x: [1.1, 0.7]}]


def values_that_a_loop_replaces(t: Any) -> Any:
    x = t.placeholder(t.float32, [2])
    y = t.while_loop(
        lambda i, v, w: i < 2, lambda i, v, w: (i + 1, w * 2.0, t.ones([2]) * 3.0), [0, x, x * 5.0]
    )
    return [y, t.gradients(y[1], x)], [{x: [2.0, 1.0]}]


def nested(t: Any) -> Any:
    x, n = t.placeholder(t.float32, []), t.placeholder(t.int32, [])

    def body(i: Any, y: Any) -> Any:
        y = t.cond(t.equal(i % 2, 0), lambda: y * x, lambda: y + x)
        y = t.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * t.sin(x) + y), [0, y])[1]
        return i + 1, y

    y = t.while_loop(lambda i, y: i < n, body, [0, x], maximum_iterations=4)[1]
    return _derivatives(t, y, x), [{x: 1.1, n: 3}, {x: 0.9, n: 10}, {x: 0.9, n: 0}]


def arrays(t: Any) -> Any:
    x = t.placeholder(t.float32, [4, 2])
    given = t.TensorArray(t.float32, size=4).unstack(x)
    made = t.TensorArray(t.float32, size=0, dynamic_size=True)
    made = t.while_loop(
        lambda i, a: i < 4, lambda i, a: (i + 1, a.write(i, given.read(i) * given.read(i))), [0, made]
    )[1]
    parts = t.TensorArray(t.float32, size=2, infer_shape=False).split(x, [1, 3])
    results = [made.stack(), made.gather([0, 2]), made.concat(), parts.read(1), parts.concat()]
    return [results, made.size(), t.gradients(results, x)], [{x: np.arange(8.0).reshape(4, 2)}]


def maps_and_scans(t: Any) -> Any:
    x = t.placeholder(t.float32, [4])
    y = t.reduce_sum(t.scan(lambda a, b: a * b, x)) + t.foldl(lambda a, b: a * b + a, x)
    y += t.reduce_sum(t.map_fn(lambda v: v * v * v, x))
    return _derivatives(t, y, x), [{x: [1.0, 2.0, 0.5, 3.0]}]


def variables(t: Any) -> Any:
    x, v = t.placeholder(t.float32, []), t.get_variable("v", initializer=1.5, use_resource=True)
    y = t.cond(
        x > 1,
        lambda: t.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x * v), [0, x])[1],
        lambda: x * v,
    )
    return _derivatives(t, y, [x, v]), [{x: 2.0}, {x: 0.5}]


def reference_variables(t: Any) -> Any:
    x, v = t.placeholder(t.float32, []), t.get_variable("v", initializer=1.5, use_resource=False)
    y = t.cond(x > 1, lambda: x * v, lambda: x + v)
    z = t.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * v), [0, x])[1]
    return [y, z, t.gradients([y, z], v)], [{x: 2.0}, {x: 0.5}]


def rows_of_a_variable(t: Any) -> Any:
    v = t.get_variable("v", initializer=[1.0, 2.0, 3.0], use_resource=True)
    p = t.placeholder(t.bool, [])
    y = t.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * t.gather(v, i)), [0, 1.0])[1]
    z = t.cond(p, lambda: t.gather(v, [0, 0, 1]), lambda: t.gather(v, [2, 1, 0]) * 2.0)
    slopes = [t.convert_to_tensor(t.gradients(each, v)[0]) for each in (y, z)]
    return [y, z, slopes], [{p: True}, {p: False}]


def recurrent_layers(t: Any) -> Any:
    x = t.constant(np.arange(24).reshape(2, 4, 3) / 24.0, t.float32)
    w = t.get_variable("w", initializer=np.arange(18, dtype=np.float32).reshape(6, 3) / 20)

    def step(i: Any, state: Any, outputs: Any) -> Any:
        state = t.tanh(t.matmul(t.concat([x[:, i], state], 1), w))
        return i + 1, state, outputs.write(i, state)

    outputs = t.TensorArray(t.float32, size=4)
    outputs = t.while_loop(lambda i, *_: i < 4, step, [0, t.zeros([2, 3]), outputs])[2]
    return _derivatives(t, t.reduce_sum(outputs.stack() ** 2), [x, w]), [{}]


def functions(t: Any) -> Any:
    x, p = t.placeholder(t.float32, []), t.placeholder(t.bool, [])

    @t.function(autograph=False)
    def power(p: Any, x: Any) -> Any:
        y = t.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * y * x), [0, x])[1]
        return t.cond(p, lambda: y * x, lambda: y)

    return _derivatives(t, power(p, x), x), [{x: 1.1, p: True}, {x: 0.9, p: False}]


def random_numbers(t: Any) -> Any:
    x, p = t.ones([20]), t.placeholder(t.bool, [])

    def draw(x: Any) -> Any:
        y = t.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * t.random_uniform([20])), [0, x])[1]
        return t.cond(p, lambda: y * t.random_uniform([20]), lambda: 2.0 * y)

    results = []
    for y in (draw(x), t.function(draw, autograph=False)(x)):
        [slope] = t.gradients(y, x)
        results += [t.reduce_max(t.abs(y - slope)) < 1e-5, t.reduce_any(y > 0.01), t.reduce_all(y < 2)]
    return results, [{p: True}, {p: False}]


def training(t: Any) -> Any:
    v = t.get_variable("v", initializer=1.0, use_resource=True)
    loss = t.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * v + 1.0), [0, v])[1]
    with t.control_dependencies([t.train.GradientDescentOptimizer(0.01).minimize(loss)]):
        return [v.read_value()], [{}, {}, {}]


PROGRAMS: list[Program] = [
    *(
        conditional,
        conditional_with_an_integer,
        partly_connected,
        branches_by_number,
        loop,
        loop_with_a_limit,
    ),
    *(loop_that_grows, values_that_a_loop_replaces, nested, arrays, maps_and_scans, variables),
    *(reference_variables, rows_of_a_variable, recurrent_layers, functions, random_numbers, training),
]


def run(t: Any, program: Program, target: str = "") -> list[Any]:
    """The results of all runs of a program that is built under control flow v2."""
    t.enable_control_flow_v2()
    try:
        with t.Graph().as_default():
            fetches, feeds = program(t)
            with t.Session(target) as session:
                session.run(t.global_variables_initializer())
                return [session.run(fetches, feed) for feed in feeds]
    finally:
        t.disable_control_flow_v2()


def flat(results: Any) -> list[Any]:
    """The numbers of nested results."""
    if isinstance(results, (list, tuple)):
        return [number for each in results for number in flat(each)]
    return [results]
