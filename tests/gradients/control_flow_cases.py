"""Functions through conditionals and loops, for the libraries to differentiate: tests compare what they say.

Each takes the library, x and c (of rank 0), m (of shape [3, 2], which the graph does not know) and p (bool),
and returns what is to be differentiated with respect to x, c and m, smoothly so at all of FEEDS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Build = Callable[[Any, Any, Any, Any, Any], Any]

CASES: dict[str, Build] = {}
M = np.array([[0.3, -0.2], [0.7, 0.4], [-0.5, 0.6]])
FEEDS = [(0.9, 0.7, M, True), (0.9, 0.7, M, False), (-0.4, 1.2, M[:2], True)]
"""Values of x, c, m and p."""


def case(build: Build) -> Build:
    CASES[build.__name__] = build
    return build


@case
def cond(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    return tf.cond(p, lambda: x * x * c, lambda: 3.0 * x)


@case
def cond_with_a_branch_of_constants(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    return tf.cond(p, lambda: tf.reduce_sum(m * m), lambda: tf.constant(3.0, tf.float64)) * x


@case
def cond_of_several(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    a, b = tf.cond(p, lambda: (x * c, m), lambda: (tf.sin(x), 2.0 * m))
    return a * tf.reduce_sum(b * b)


@case
def cond_in_cond(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    return tf.cond(
        p,
        lambda: tf.cond(x > 0.0, lambda: x * c, lambda: tf.exp(x)),
        lambda: tf.cond(x > 10.0, lambda: c, lambda: tf.reduce_sum(m) * x),
    )


@case
def case_of_three(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    return tf.case([(x > 0.5, lambda: x * c), (x > 0.0, lambda: tf.sin(x))], default=lambda: x * x * x)


@case
def loop(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x * a), [0, x])[1]


@case
def loop_that_never_runs(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    return tf.while_loop(lambda i, a: i < 0, lambda i, a: (i + 1, a * c), [0, x])[1] * c


@case
def loop_with_invariants(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    return tf.while_loop(
        lambda i, a: i < 4, lambda i, a: (i + 1, a * c + tf.sin(a) + tf.reduce_sum(m) * x), [0, x]
    )[1]


@case
def loop_that_forgets(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    """The next value does not depend on the last one."""
    return tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, x * c, b * a), [0, x, c])[2]


@case
def loop_that_forgets_a_matrix(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    end = tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, m * c, b * a), [0, m, m])[2]
    return tf.reduce_sum(end)


@case
def loop_with_variables_that_do_not_count(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    first = tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a * x, b * a), [0, x, c])
    return first[1] * m


@case
def loop_that_ends_by_its_value(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    return tf.while_loop(lambda a: tf.abs(a) < 20.0, lambda a: a * 2.0 + c * tf.sign(a), [x])


@case
def loop_with_a_maximum(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    return tf.while_loop(lambda a: a < 1e9, lambda a: a * c + x, [x], maximum_iterations=4)


@case
def loop_one_iteration_after_the_other(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    return tf.while_loop(
        lambda i, a: i < 4,
        lambda i, a: (i + 1, tf.sin(a * c)),
        [0, x],
        parallel_iterations=1,
        swap_memory=True,
    )[1]


@case
def loop_over_rows(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    rows = tf.shape(m)[0]
    return tf.while_loop(lambda i, a: i < rows, lambda i, a: (i + 1, a * c + tf.sin(m[i])), [0, m[0]])[1]


@case
def loop_in_loop(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        inner = tf.while_loop(lambda j, b: j < 2 + i, lambda j, b: (j + 1, b * x + tf.sin(b * a) * c), [0, a])
        return i + 1, inner[1]

    return tf.while_loop(lambda i, a: i < 3, body, [0, x])[1]


@case
def loop_of_matrices_in_loop(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        n = a * c
        return i + 1, tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b * n + tf.sin(m) * x), [0, a])[
            1
        ]

    return tf.while_loop(lambda i, a: i < 3, body, [0, m])[1]


@case
def cond_in_loop(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        return i + 1, tf.cond(i % 2 > 0, lambda: a * c * x, lambda: tf.sin(a) + x * x)

    return tf.while_loop(lambda i, a: i < 4, body, [0, x])[1]


@case
def cond_of_matrices_in_loop(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        return i + 1, tf.cond(i % 2 > 0, lambda: a * m * x, lambda: tf.sin(a))

    return tf.while_loop(lambda i, a: i < 4, body, [0, m * c])[1]


@case
def cond_in_cond_in_loop(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        def odd() -> Any:
            return tf.cond(i > 1, lambda: a * c * tf.sin(a), lambda: a * a + x)

        return i + 1, tf.cond(i % 2 > 0, odd, lambda: tf.sin(a) + x * x)

    return tf.while_loop(lambda i, a: i < 4, body, [0, x])[1]


@case
def loop_in_cond(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    def power() -> Any:
        return tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a * c + tf.sin(a)), [0, x])[1]

    return tf.cond(p, power, lambda: x * c)


@case
def loop_in_cond_in_loop(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        def odd() -> Any:
            return tf.while_loop(lambda j, b: j < 2, lambda j, b: (j + 1, b * x + tf.sin(b) * c), [0, a])[1]

        return i + 1, tf.cond(i % 2 > 0, odd, lambda: a * c)

    return tf.while_loop(lambda i, a: i < 4, body, [0, x])[1]


@case
def cond_in_loop_in_loop(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        def inner(j: Any, b: Any) -> Any:
            return j + 1, tf.cond(tf.equal(j, i), lambda: b * x + tf.sin(b) * c, lambda: b * b * c)

        return i + 1, tf.while_loop(lambda j, b: j < 3, inner, [0, a])[1]

    return tf.while_loop(lambda i, a: i < 3, body, [0, tf.sin(x)])[1]


@case
def map_fn(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    return tf.map_fn(lambda row: tf.reduce_sum(row * row) * x, m)


@case
def map_fn_of_two(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    both = tf.map_fn(lambda t: (t[0] * t[1], t[0] * c), (m, tf.sin(m)), dtype=(tf.float64, tf.float64))
    return tf.reduce_sum(both[0]) + tf.reduce_sum(both[1])


@case
def foldl(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    return tf.foldl(lambda a, row: a * row + x, m)


@case
def foldr(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    return tf.foldr(lambda a, row: a * row + x, m, initializer=m[0] * c)


@case
def scan(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    return tf.scan(lambda a, row: a * row + x, m)


@case
def scan_backwards(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    return tf.scan(lambda a, row: a * tf.reduce_sum(row) + c, m, initializer=x, reverse=True)


@case
def array_written_and_read(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    array = tf.TensorArray(tf.float64, 3, clear_after_read=False).write(0, x).write(2, c).write(1, x * c)
    return array.read(0) * array.read(1) + array.read(1) * array.read(2)


@case
def array_gathered_and_scattered(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    array = tf.TensorArray(tf.float64, 4, clear_after_read=False).scatter([2, 0], m[:2])
    return array.gather([2, 0, 2]) * x


@case
def array_split_and_joined(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    parts = tf.TensorArray(tf.float64, 2, infer_shape=False).split(m, [1, tf.shape(m)[0] - 1])
    return parts.concat() * c


@case
def array_of_which_parts_are_read(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    return tf.TensorArray(tf.float64, 2).unstack(m[:2]).read(1) * x


@case
def array_that_grows_in_a_loop(tf: Any, x: Any, c: Any, m: Any, p: Any) -> Any:
    array = tf.TensorArray(tf.float64, 1, dynamic_size=True, clear_after_read=False, element_shape=[]).write(
        0, x
    )

    def body(i: Any, array: Any) -> Any:
        return i + 1, array.write(i, array.read(i - 1) * c + tf.sin(x))

    return tf.while_loop(lambda i, _: i < 4, body, [1, array])[1].stack()


SLICES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "cond, both": lambda tf, e, p: tf.cond(p, lambda: tf.gather(e, [0, 1]), lambda: tf.gather(e, [2, 2])),
    "cond, one": lambda tf, e, p: tf.cond(p, lambda: tf.gather(e, [0, 1]), lambda: 2.0 * e[:2]),
    "loop": lambda tf, e, p: tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a * tf.reduce_sum(tf.gather(e, [i, 0]))), [0, e[0, 0]]
    )[1],
    "loop in cond": lambda tf, e, p: tf.cond(
        p,
        lambda: tf.while_loop(
            lambda i, a: i < 3, lambda i, a: (i + 1, a + tf.reduce_sum(tf.gather(e, i) ** 2)), [0, e[0, 0]]
        )[1],
        lambda: e[1, 1],
    ),
}
"""Gradients that are IndexedSlices: of a variable of shape [3, 2] and a condition."""
