"""Gradients through conditionals, loops and tensor arrays beside TensorFlow's, there and on our servers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow.compat.v1 as real

import tensorfleet as ours
from tests.compat.cluster import Cluster
from tests.gradients.control_flow_cases import CASES, FEEDS, SLICES, M

real.disable_v2_behavior()
real.disable_control_flow_v2()


def _built(tf: Any, name: str, **options: Any) -> tuple[list[Any], list[Any]]:
    """The placeholders, and the gradients with respect to those that are not the condition."""
    x, c = (tf.placeholder(tf.float64, [], name=n) for n in "xc")
    m, p = tf.placeholder(tf.float64, [None, 2], name="m"), tf.placeholder(tf.bool, [], name="p")
    y = CASES[name](tf, x, c, m, p)
    return [x, c, m, p], tf.gradients(y, [x, c, m], **options)


def _values(tf: Any, target: str, name: str) -> list[list[Any]]:
    with tf.Graph().as_default(), tf.Session(target) as session:
        inputs, grads = _built(tf, name)
        there = [grad for grad in grads if grad is not None]
        results = []
        for feeds in FEEDS:
            found = iter(session.run(there, dict(zip(inputs, feeds, strict=True))))
            results.append([None if grad is None else next(found) for grad in grads])
        return results


def _check(got: list[list[Any]], expected: list[list[Any]]) -> None:
    for own, their in zip(got, expected, strict=True):
        for a, b in zip(own, their, strict=True):
            assert (a is None) == (b is None)
            if b is not None:
                assert np.shape(a) == np.shape(b)
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_tensorflows(name: str, local: Cluster) -> None:
    expected = _values(real, "", name)
    _check(_values(ours, "", name), expected)
    _check(_values(real, local.target("local"), name), expected)


@pytest.mark.parametrize("name", ["cond", "cond_of_several", "cond_in_cond", "case_of_three"])
def test_second_derivatives_through_cond_are_tensorflows(name: str) -> None:
    def values(tf: Any) -> list[Any]:
        with tf.Graph().as_default(), tf.Session() as session:
            inputs, grads = _built(tf, name)
            twice = [g for g in tf.gradients(grads[0], inputs[:3]) if g is not None]
            return [session.run(twice, dict(zip(inputs, feeds, strict=True))) for feeds in FEEDS]

    for own, their in zip(values(ours), values(real), strict=True):
        assert len(own) == len(their) > 0
        for a, b in zip(own, their, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("name", SLICES)
def test_rows_are_tensorflows(name: str, use_resource: bool) -> None:
    def values(tf: Any, condition: bool) -> list[Any]:
        with tf.Graph().as_default(), tf.Session() as session:
            e = tf.get_variable("e", initializer=tf.constant(M), use_resource=use_resource)
            p = tf.placeholder(tf.bool, [])
            grad = tf.gradients(SLICES[name](tf, e, p), e)[0]
            session.run(e.initializer)
            return [isinstance(grad, tf.IndexedSlices), session.run(grad, {p: condition})]

    for condition in (True, False):
        (own_kind, own), (their_kind, their) = values(ours, condition), values(real, condition)
        assert own_kind == their_kind
        for a, b in zip(own, their, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9)


def _error(tf: Any, build: Any) -> tuple[str, str]:
    with tf.Graph().as_default(), pytest.raises(Exception) as caught:  # noqa: PT011 - either library's
        build(tf)
    return type(caught.value).__name__, str(caught.value)


def _second_through_while(tf: Any) -> None:
    x = tf.constant(2.0)
    y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, x])[1]
    tf.gradients(tf.gradients(y, x), x)


def _of_what_enters(tf: Any) -> None:
    x = tf.constant(2.0, name="start")
    tf.while_loop(lambda a: a < 3.0, lambda a: a + tf.gradients(a * a, x)[0], [x])


def _under_another_name(tf: Any) -> None:
    x = tf.constant([2.0])
    tf.gradients(tf.TensorArray(tf.float32, 1).unstack(x).read(0), x, name="slopes")


@pytest.mark.parametrize("build", [_second_through_while, _of_what_enters, _under_another_name])
def test_what_is_refused_is_what_tensorflow_refuses(build: Any) -> None:
    own, their = _error(ours, build), _error(real, build)
    assert own[0] == their[0]
    assert own[1].split(" This means")[0].split(" Tensor arrays")[0] == their[1].split(" This means")[0]


def _options(tf: Any, build: Any) -> list[Any]:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [])
        grads = build(tf, x)
        found = iter(session.run([g for g in grads if g is not None], {x: 0.8}))
        return [None if g is None else next(found) for g in grads]


def _no_backprop(tf: Any, x: Any) -> list[Any]:
    y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, x], back_prop=False)[1]
    return [*tf.gradients(y, x), *tf.gradients(y * x, x)]


def _stopped(tf: Any, x: Any) -> list[Any]:
    z = tf.sin(x)
    y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x + z), [0, z])[1]
    return [*tf.gradients(y, x, stop_gradients=[z]), *tf.gradients(y, [x, z])]


def _weighted(tf: Any, x: Any) -> list[Any]:
    _, a, b = tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a * x, b + a), [0, x, x])
    weights = [tf.constant(2.0, tf.float64), tf.constant(-3.0, tf.float64)]
    return [*tf.gradients([a, b], x, grad_ys=weights), *tf.gradients([b, a], x)]


def _twice(tf: Any, x: Any) -> list[Any]:
    y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, x])[1]
    z = tf.map_fn(lambda row: row * y, tf.stack([x, y]))
    return [*tf.gradients(y, x), *tf.gradients(y * x, [x, y]), *tf.gradients(z, x), *tf.gradients(z, [x, y])]


def _within(tf: Any, x: Any) -> list[Any]:
    """Gradients that are computed in a loop, and on a branch, of what is there."""
    y = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a - 0.1 * tf.gradients(a * a * x, a)[0]), [0, x]
    )
    z = tf.cond(x > 0.0, lambda: tf.gradients(x * x, x)[0], lambda: x)
    return [y[1], z]


def _colocated(tf: Any, x: Any) -> list[Any]:
    with tf.device("/cpu:0"):
        y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, x])[1]
    return tf.gradients(y, x, colocate_gradients_with_ops=True, gate_gradients=True)  # type: ignore[no-any-return]


@pytest.mark.parametrize("build", [_no_backprop, _stopped, _weighted, _twice, _within, _colocated])
def test_options_mean_what_they_mean_in_tensorflow(build: Any) -> None:
    own, their = _options(ours, build), _options(real, build)
    assert [v is None for v in own] == [v is None for v in their]
    np.testing.assert_allclose(*([v for v in vs if v is not None] for vs in (own, their)), rtol=1e-12)


def _over_two_tasks(tf: Any, device: Any) -> Any:
    x = tf.placeholder(tf.float64, [], name="x")

    def inner(j: Any, b: Any) -> Any:
        with device(1):
            return j + 1, tf.sin(b * x)

    def body(i: Any, a: Any) -> Any:
        with device(1):
            a = tf.cond(i % 2 > 0, lambda: a * x, lambda: a + 1.0)
        return i + 1, tf.while_loop(lambda j, _: j < 2, inner, [0, a])[1]

    with device(0):
        y = tf.while_loop(lambda i, _: i < 4, body, [0, x])[1]
    return x, [y, tf.gradients(y, x)[0]]


def test_tensorflows_client_runs_a_loop_over_two_of_our_tasks(local: Cluster) -> None:
    with real.Graph().as_default(), real.Session() as session:
        x, fetches = _over_two_tasks(real, lambda task: real.device(None))
        expected = session.run(fetches, {x: 0.7})
    for library in (real, ours):
        with library.Graph().as_default(), library.Session(local.target("local")) as session:

            def device(task: int, library: Any = library) -> Any:
                return library.device(f"/job:local/task:{task}")

            x, fetches = _over_two_tasks(library, device)
            np.testing.assert_allclose(session.run(fetches, {x: 0.7}), expected, rtol=1e-9)
