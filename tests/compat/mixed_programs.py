"""Programs for a cluster of a ps and a worker, for either library's client: what they give must not depend on
whose servers the tasks are.

Each takes the library and the worker's target, and returns what it fetched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"
TIMEOUT_MS = 60_000

Program = Callable[[Any, str], Any]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


def session(tf: Any, target: str) -> Any:
    return tf.Session(target, config=tf.ConfigProto(operation_timeout_in_ms=TIMEOUT_MS))


@program
def feeds_and_fetches_of_many_types(tf: Any, target: str) -> Any:
    values = {
        tf.float32: np.float32(1.5),
        tf.string: np.array([b"a", b"\xff" * 300, b""], object),
        tf.bfloat16: np.array([1.5, 2], tf.bfloat16.as_numpy_dtype),
        tf.float16: np.array([1.5, 2], np.float16),
        tf.bool: np.array([True, False]),
        tf.complex64: np.array([1 + 2j], np.complex64),
        tf.uint16: np.array([1, 65535], np.uint16),
        tf.uint64: np.array([2**64 - 1], np.uint64),
        tf.int64: np.array([[-(2**63)], [2**63 - 1]]),
        tf.int8: np.zeros((0, 3), np.int8),
    }
    feeds, fetches = {}, []
    for dtype, value in values.items():
        x = tf.placeholder(dtype)
        feeds[x] = value
        with tf.device(PS):
            there = tf.identity(x)
        with tf.device(WORKER):
            back = tf.identity(there)
        with tf.device(PS):
            fetches += [there, back, tf.identity(back)]
    with session(tf, target) as run:
        return [run.run(fetches, feeds) for _ in range(2)]


@program
def ten_megabytes_each_way(tf: Any, target: str) -> Any:
    x = tf.placeholder(tf.float32, [None])
    with tf.device(PS):
        y = x * 2
    with tf.device(WORKER):
        z = y + 1
    with tf.device(PS):
        w = tf.reverse(z, [0])
    words = tf.placeholder(tf.string, [None])
    with tf.device(PS):
        joined = tf.string_join([words, words])
    with tf.device(WORKER):
        joined = tf.identity(joined)
    values = np.arange(2_500_000, dtype=np.float32)
    with session(tf, target) as run:
        texts = np.array([b"x" * (i % 500) for i in range(20_000)], object)
        return run.run([w, joined], {x: values, words: texts})


def _training(tf: Any, target: str, optimizer: Any, use_resource: bool) -> Any:
    x = tf.placeholder(tf.float32, [None, 4])
    with tf.device(PS):
        w = tf.get_variable("w", initializer=np.linspace(-1, 1, 12).reshape(4, 3).astype(np.float32),
                            use_resource=use_resource)  # fmt: skip
        b = tf.get_variable("b", initializer=np.zeros(3, np.float32), use_resource=use_resource)
        table = tf.get_variable("table", initializer=np.ones((5, 3), np.float32), use_resource=use_resource)
        step = tf.train.get_or_create_global_step()
    with tf.device(WORKER):
        rows = tf.gather(table, [1, 3, 1])
        y = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w), b))
        loss = tf.reduce_mean(tf.square(y - 1)) + tf.reduce_sum(tf.square(rows - 2))
        train = optimizer.minimize(loss, global_step=step)
    found = []
    with session(tf, target) as run:
        run.run(tf.global_variables_initializer())
        for i in range(4):
            values = np.cos(np.arange(8 * 4) + i).reshape(8, 4)
            found.append(run.run([loss, train], {x: values})[0])
        found += run.run([w, b, table, step])
    with session(tf, target) as run:  # variables outlive the session
        return [*found, *run.run([w, b, table, step])]


@program
def gradient_descent(tf: Any, target: str) -> Any:
    return _training(tf, target, tf.train.GradientDescentOptimizer(0.1), use_resource=False)


@program
def adam_with_resource_variables(tf: Any, target: str) -> Any:
    return _training(tf, target, tf.train.AdamOptimizer(0.1), use_resource=True)


@program
def momentum(tf: Any, target: str) -> Any:
    return _training(tf, target, tf.train.MomentumOptimizer(0.1, 0.9), use_resource=False)


def _loop(tf: Any, x: Any, times: Any) -> Any:
    with tf.device(PS):
        k = tf.constant(3.0)

    def body(i: Any, y: Any) -> Any:
        with tf.device(PS):
            y = tf.sin(y) + k
        with tf.device(WORKER):
            return i + 1, y * 1.5

    def more(i: Any, y: Any) -> Any:
        with tf.device(WORKER):
            return i < times

    with tf.device(WORKER):
        return tf.while_loop(more, body, [tf.constant(0), x])


@program
def loop_over_both(tf: Any, target: str) -> Any:
    x, times = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [])
    result = _loop(tf, x, times)
    with session(tf, target) as run:
        return [run.run(result, {x: [1, 2], times: n}) for n in (0, 1, 7, 40)]


@program
def condition_on_the_ps(tf: Any, target: str) -> Any:
    def more(i: Any, y: Any) -> Any:
        with tf.device(PS):
            return tf.less(i, 6)

    def body(i: Any, y: Any) -> Any:
        with tf.device(WORKER):
            return i + 1, y + tf.cast(i, tf.float32)

    with tf.device(PS):
        start = tf.constant(0)
    with tf.device(WORKER):
        result = tf.while_loop(more, body, [start, tf.constant(1.0)])
    with session(tf, target) as run:
        return [run.run(result) for _ in range(2)]


@program
def loop_in_a_loop(tf: Any, target: str) -> Any:
    def inner(i: Any, y: Any) -> Any:
        with tf.device(PS):
            y = y * 2
        with tf.device(WORKER):
            return i + 1, y + 1

    def outer(i: Any, y: Any) -> Any:
        y = tf.while_loop(lambda j, _: j < i, inner, [tf.constant(0), y], name="inner")[1]
        with tf.device(PS):
            y = y - 0.5
        with tf.device(WORKER):
            return i + 1, tf.identity(y)

    with tf.device(WORKER):
        result = tf.while_loop(lambda i, _: i < 4, outer, [tf.constant(0), tf.constant(1.0)], name="outer")
    with session(tf, target) as run:
        return run.run(result)


@program
def gradient_of_a_loop(tf: Any, target: str) -> Any:
    x = tf.placeholder(tf.float32, [3])
    y = _loop(tf, x, 4)[1]
    with tf.device(WORKER):
        gradient = tf.gradients(y, x)
    with session(tf, target) as run:
        return [run.run([y, gradient], {x: [0.1, i, -2]}) for i in range(2)]


def _branches(tf: Any) -> tuple[Any, Any, Any]:
    taken, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [2])

    def yes() -> Any:
        with tf.device(PS):
            y = x + 1
        with tf.device(WORKER):
            return y * 2

    def no() -> Any:
        with tf.device(PS):
            return tf.identity(x - 5)

    with tf.device(WORKER):
        y = tf.cond(taken, yes, no)
    with tf.device(PS):
        return taken, x, y + 1


@program
def conditional_over_both(tf: Any, target: str) -> Any:
    taken, x, y = _branches(tf)
    with session(tf, target) as run:
        return [run.run(y, {taken: which, x: [1, 2]}) for which in (True, False, True)]


@program
def conditional_in_a_loop(tf: Any, target: str) -> Any:
    def body(i: Any, y: Any) -> Any:
        def odd() -> Any:
            with tf.device(PS):
                return y * 3

        def even() -> Any:
            with tf.device(WORKER):
                return y - 1

        with tf.device(PS):
            is_odd = tf.equal(i % 2, 1)
        with tf.device(WORKER):
            return i + 1, tf.cond(is_odd, odd, even)

    with tf.device(WORKER):
        result = tf.while_loop(lambda i, _: i < 5, body, [tf.constant(0), tf.constant(2.0)])
    with session(tf, target) as run:
        return run.run(result)


@program
def loop_in_a_conditional(tf: Any, target: str) -> Any:
    taken, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [2])
    with tf.device(WORKER):
        y = tf.cond(taken, lambda: _loop(tf, x, 3)[1], lambda: x - 5)
    with session(tf, target) as run:
        return [run.run(y, {taken: which, x: [1, 2]}) for which in (True, False, True)]


@program
def layers_on_the_ps(tf: Any, target: str) -> Any:
    """Ops that TensorFlow's master puts together into one."""
    x = tf.placeholder(tf.float32, [None, 4])
    image = tf.placeholder(tf.float32, [None, 6, 6, 2])
    kernel = tf.placeholder(tf.float32, [3, 3, 2, 4])
    bias = np.arange(4, dtype=np.float32)
    with tf.device(PS):
        found = [f(tf.nn.bias_add(tf.matmul(x, x), bias)) for f in (tf.nn.relu, tf.tanh, tf.identity)]
        convolved = tf.nn.conv2d(image, kernel, [1, 1, 1, 1], "SAME")
        found += [f(tf.nn.bias_add(convolved, bias)) for f in (tf.nn.relu, tf.nn.elu)]
        found.append(tf.nn.leaky_relu(tf.nn.bias_add(convolved, bias), 0.3))
        normal = tf.nn.fused_batch_norm(convolved, bias, bias, bias, bias + 1, is_training=False)[0]
        found += [normal, tf.nn.relu(normal), tf.tanh(tf.sqrt(tf.abs(tf.sin(convolved))))]
        found.append(tf.reduce_sum(tf.transpose(tf.reshape(found[0], [2, 2, 4])) * 2 + 1, axis=0))
    with tf.device(WORKER):
        total = tf.add_n([tf.reduce_sum(value) for value in found])
    feeds = {
        x: np.sin(np.arange(16)).reshape(4, 4),
        image: np.cos(np.arange(72)).reshape(1, 6, 6, 2),
        kernel: np.sin(np.arange(72)).reshape(3, 3, 2, 4),
    }
    with session(tf, target) as run:
        return [run.run([found, total], feeds), run.run(total, feeds), run.run(found[3:], feeds)]


@program
def functional_control_flow(tf: Any, target: str) -> Any:
    """While and If as functions, which TensorFlow's master makes graphs of."""
    if not hasattr(tf, "enable_control_flow_v2"):
        return None
    tf.enable_control_flow_v2()
    try:
        x, times = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [])
        result = _loop(tf, x, times)
        taken, fed, y = _branches(tf)
        with session(tf, target) as run:
            looped = [run.run(result, {x: [1, 2], times: n}) for n in (0, 3)]
            return looped + [run.run(y, {taken: which, fed: [1, 2]}) for which in (True, False)]
    finally:
        tf.disable_control_flow_v2()


@program
def control_edges_between_tasks(tf: Any, target: str) -> Any:
    with tf.device(PS):
        v = tf.get_variable("v", initializer=1.0, use_resource=True)
        add = v.assign_add(2.0)
    with tf.device(WORKER), tf.control_dependencies([add]):
        other = tf.get_variable("other", initializer=5.0, use_resource=True)
        with tf.control_dependencies([other.assign_add(1.0).op]):
            done = tf.no_op("done")
    with tf.device(PS), tf.control_dependencies([done]):
        result = v.read_value()
    with session(tf, target) as run:
        run.run(tf.global_variables_initializer())
        return [run.run(result) for _ in range(3)] + [run.run(other)]


@program
def a_queue_on_the_ps(tf: Any, target: str) -> Any:
    x = tf.placeholder(tf.float32, [2])
    with tf.device(PS):
        queue = tf.FIFOQueue(10, [tf.float32], [[2]], shared_name="a queue")
    with tf.device(WORKER):
        put = queue.enqueue(x * 2)
        taken = queue.dequeue()
    with tf.device(WORKER):
        y = taken + 1
    with session(tf, target) as run:
        for i in range(3):
            run.run(put, {x: [i, i]})
        return [run.run(y) for _ in range(3)] + [run.run(queue.size())]


@program
def growing_graph_and_callables(tf: Any, target: str) -> Any:
    x = tf.placeholder(tf.float32, [])
    found = []
    with session(tf, target) as run:
        y = x
        for step in range(4):
            with tf.device(PS if step % 2 else WORKER):
                y = y * 2 + 1
            found.append(run.run(y, {x: 1}))
        call = run.make_callable(y, [x])
        found += [call(i) for i in range(3)]
    return found


@program
def traced(tf: Any, target: str) -> Any:
    x = tf.placeholder(tf.float32, [2])
    with tf.device(PS):
        y = tf.add(x, 1, name="there")
    with tf.device(WORKER):
        z = tf.add(y, 1, name="here")
    metadata = tf.RunMetadata()
    with session(tf, target) as run:
        value = run.run(z, {x: [1, 2]}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    names = {node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats}
    return [value, "there" in names, "here" in names]


def _error(tf: Any, run: Any, fetch: Any, feeds: Any, *words: str) -> Any:
    try:
        run.run(fetch, feeds)
    except tf.errors.OpError as e:
        return [type(e).__name__, e.op and e.op.name, *(word in e.message for word in words)]
    return "no error"


@program
def errors_of_either_task(tf: Any, target: str) -> Any:
    x, y = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32)
    with tf.device(PS):
        v = tf.get_variable("never", initializer=np.ones(2, np.float32), use_resource=False)
        bad = tf.add(x, y, name="bad_there")
        good = x * 2
    with tf.device(WORKER):
        after = bad + 1
        bad_here = tf.add(good, y, name="bad_here")
        read = v * 2
    with tf.device(PS):
        last = bad_here * 2
    wrong = {x: [1, 2], y: [1, 2, 3]}
    with session(tf, target) as run:
        found = []
        for fetch in (bad, after, bad_here, last):
            found.append(_error(tf, run, fetch, wrong, "Incompatible shapes: ["))
            found.append(run.run([after, last], {x: [1, 2], y: [3, 4]}))  # the session goes on
        found.append(_error(tf, run, read, {}, "never"))
        found.append(_error(tf, run, after, {y: [1, 2]}, "must feed a value"))
        return found


@program
def error_in_a_loop(tf: Any, target: str) -> Any:
    x = tf.placeholder(tf.float32, [2])

    def body(i: Any, y: Any) -> Any:
        with tf.device(PS):
            checked = tf.check_numerics(y, "not finite", name="check")
        with tf.device(WORKER):
            return i + 1, checked * 1e20

    with tf.device(WORKER):
        result = tf.while_loop(lambda i, _: i < 5, body, [tf.constant(0), x])
    with session(tf, target) as run:
        found = _error(tf, run, result, {x: [1, 2]}, "not finite")
        return [found, run.run(result, {x: [0, 0]})]
