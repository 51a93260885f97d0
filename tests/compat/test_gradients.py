"""Gradients equal TensorFlow's: of each op on the cases of the checker, and of whole graphs."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
real = pytest.importorskip("tensorflow").compat.v1
from tensorflow.python.framework import (  # noqa: E402
    op_def_library as real_op_def_library,
    ops as real_ops,
)

import tensorfleet as fleet  # noqa: E402
from tensorfleet.core import dtypes  # noqa: E402
from tensorfleet.graph import gradient_registry  # noqa: E402
from tensorfleet.graph.apply import apply_op  # noqa: E402
from tensorfleet.graph.graph import lookup_op  # noqa: E402
from tests.gradients.cases import CASES, Case  # noqa: E402

# TensorFlow has no gradient for these.
_OURS_ONLY = frozenset(
    (
        *("GuaranteeConst", "Mod", "Snapshot", "TruncateMod", "SoftsignGrad"),
        # Of calls, which TensorFlow differentiates without the table.
        *("FunctionCall", "PartitionedCall", "StatefulPartitionedCall"),
    )
)


def _values(library: Any, case: Case) -> list[Any]:
    """For each differentiated input: None, an array, or (values, indices, shape) of an IndexedSlices."""
    with library.Graph().as_default(), library.Session() as session:
        xs: list[Any] = []

        def tensor(index: int, value: Any) -> Any:
            result = library.constant(value)
            if value.dtype == np.float64 and index not in case.constant:
                xs.append(result)
            return result

        arguments = [
            [tensor(i, x) for x in value] if isinstance(value, list) else tensor(i, value)
            for i, value in enumerate(case.inputs)
        ]
        result = (
            apply_op(case.op, *arguments, **case.attrs) if library is fleet else _real_op(case, arguments)
        )
        ys = [y for y in _flat(result) if y.dtype.is_floating or y.dtype.is_complex]
        random = np.random.RandomState(3)
        # A decomposition's vectors may have either sign: each seed has the sign of its element.
        seeds = [
            (random.uniform(0.5, 1.5, np.shape(y)) * np.where(np.real(y) < 0, -1, 1)).astype(y.dtype)
            for y in session.run(ys)
        ]
        return _run(library, session, library.gradients(ys, xs, grad_ys=[library.constant(s) for s in seeds]))


def _run(library: Any, session: Any, grads: list[Any]) -> list[Any]:
    result: list[Any] = []
    for grad in grads:
        value = None if grad is None else session.run(grad)
        if isinstance(grad, library.IndexedSlices):
            value = tuple(value)
        result.append(value)
    return result


def _real_op(case: Case, arguments: list[Any]) -> Any:
    definition = lookup_op(case.op)
    names = [arg.name for arg in definition.inputs]
    defaults = {
        key: attr.default
        for key, attr in definition.attrs.items()
        if attr.has_default and key not in definition.inferred
    }
    attrs = {
        key: real.as_dtype(value.name) if isinstance(value, dtypes.DType) else value
        for key, value in {**defaults, **case.attrs}.items()
    }
    return real_op_def_library.apply_op(case.op, **dict(zip(names, arguments, strict=True)), **attrs)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in _flat(item)]
    return [value]


def _check(ours: list[Any], theirs: list[Any]) -> None:
    assert [type(g) for g in ours] == [type(g) for g in theirs]
    for own, their in zip(ours, theirs, strict=True):
        if isinstance(own, tuple):
            for a, b in zip(own, their, strict=True):
                assert np.shape(a) == np.shape(b)
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
        elif own is not None:
            assert np.shape(own) == np.shape(their)
            assert own.dtype == their.dtype
            np.testing.assert_allclose(own, their, rtol=1e-5, atol=1e-5)


_COMPARED = [
    case
    for case in CASES
    # TensorFlow makes no TopK any more; of one index for each value, it gives no gradient but an error.
    if case.op not in _OURS_ONLY | {"TopK"} and not (case.op == "SparseToDense" and case.inputs[0].ndim == 1)
]


@pytest.mark.parametrize("case", _COMPARED, ids=str)
def test_gradient_of_op_equals_tensorflows(case: Case) -> None:
    _check(_values(fleet, case), _values(real, case))


def test_ops_with_and_without_gradients_are_tensorflows() -> None:
    # Those of which TensorFlow has no rule, though their outputs are never differentiated, or are handles.
    differing = []
    for op, rule in gradient_registry.registered().items():
        if op.startswith("CustomGradient") or rule is None:
            continue
        try:
            theirs = real_ops.gradient_registry.lookup(op)
        except LookupError:
            theirs = None
        if theirs is None and rule.__module__.startswith("tensorfleet.ops."):
            differing.append(op)
    assert sorted(set(differing) - _OURS_ONLY) == []
    for op in gradient_registry.without_rule() - _NOT_YET:
        with pytest.raises(LookupError):
            real_ops.gradient_registry.lookup(op)


# TensorFlow has rules for these, and we shall.
_NOT_YET = {"MatrixSquareRoot", "StatelessParameterizedTruncatedNormal"}


def test_list_of_missing_rules_is_exact() -> None:
    assert gradient_registry.without_rule() >= _NOT_YET
    for op in _NOT_YET:
        assert real_ops.gradient_registry.lookup(op) is not None


# Whole graphs, built by both libraries.


def _graph(library: Any, build: Callable[[Any], list[Any]]) -> list[Any]:
    with library.Graph().as_default(), library.Session() as session:
        grads = build(library)
        session.run(library.global_variables_initializer())
        return _run(library, session, grads)


def _same(build: Callable[[Any], list[Any]]) -> None:
    _check(_graph(fleet, build), _graph(real, build))


X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])


def test_aggregation() -> None:
    def build(tf: Any) -> list[Any]:
        x = tf.constant(X)
        y = x * x + tf.tanh(x) + x
        methods = (tf.AggregationMethod.ADD_N, tf.AggregationMethod.EXPERIMENTAL_TREE)
        return [tf.gradients(y, x, aggregation_method=m)[0] for m in methods]

    _same(build)


def test_stop_gradients_and_tf_stop_gradient() -> None:
    def build(tf: Any) -> list[Any]:
        a = tf.constant(X)
        b = tf.exp(a)
        c = a * b + tf.stop_gradient(b) * b
        return [*tf.gradients(c, [a, b], stop_gradients=[b]), *tf.gradients(c, [a, b])]

    _same(build)


def test_grad_ys_of_several_ys() -> None:
    def build(tf: Any) -> list[Any]:
        x = tf.constant(X)
        ys = [tf.sin(x), tf.reduce_sum(x * x, 1)]
        weights = [tf.constant(X * 2), tf.constant([3.0, 4.0], tf.float64)]
        return [*tf.gradients(ys, x, grad_ys=weights), *tf.gradients(ys, x, grad_ys=[None, weights[1]])]

    _same(build)


def test_unconnected() -> None:
    def build(tf: Any) -> list[Any]:
        x, z = tf.constant(X), tf.constant(X)
        i = tf.constant([1, 2])
        y = x * 2.0 + tf.cast(tf.cast(z, tf.int32), tf.float64)
        zero = tf.UnconnectedGradients.ZERO
        return [*tf.gradients(y, [x, z, i]), *tf.gradients(y, [x, z], unconnected_gradients=zero)]

    _same(build)


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables(use_resource: bool) -> None:
    def build(tf: Any) -> list[Any]:
        v = tf.get_variable("v", initializer=tf.constant(X), use_resource=use_resource)
        w = tf.get_variable("w", initializer=tf.constant(X.T), use_resource=use_resource)
        unused = tf.get_variable("unused", initializer=tf.constant(X), use_resource=use_resource)
        loss = tf.reduce_mean(tf.nn.sigmoid(tf.matmul(v, w)))
        return tf.gradients(loss, [v, w, unused])  # type: ignore[no-any-return]

    _same(build)


@pytest.mark.parametrize("use_resource", [False, True])
def test_gathers_from_a_variable(use_resource: bool) -> None:
    def build(tf: Any) -> list[Any]:
        v = tf.get_variable("v", initializer=tf.constant(X), use_resource=use_resource)
        once = tf.gather(v, [1, 0, 1])
        twice = tf.gather(v, [[0, 1], [1, 1]])
        return [
            *tf.gradients(tf.tanh(once), v),
            *tf.gradients([once, twice], v),
            *tf.gradients([once, v * 2.0], v),
            *tf.gradients(tf.gather_nd(v, [[1], [0]]), v),
        ]

    _same(build)


def test_x_on_the_way_to_another_x() -> None:
    def build(tf: Any) -> list[Any]:
        a = tf.constant(X)
        b = a * 2.0
        c = tf.exp(b) * a
        return [*tf.gradients(c, [a, b]), *tf.gradients([c, b], [b, c, a])]

    _same(build)


def test_second_derivatives() -> None:
    def build(tf: Any) -> list[Any]:
        x = tf.constant(X)
        y = tf.tanh(x) * tf.sigmoid(x * x) + tf.nn.elu(x) * tf.sqrt(x * x + 1.0) + tf.nn.softplus(x)
        return tf.gradients(tf.gradients(y, x)[0] ** 2, x)  # type: ignore[no-any-return]

    _same(build)


def test_hessians() -> None:
    def build(tf: Any) -> list[Any]:
        x = tf.constant([0.5, -1.0, 2.0])
        return tf.hessians(tf.reduce_sum(x[0] * x[1] * x[2] + tf.exp(x)), x)  # type: ignore[no-any-return]

    _same(build)


def test_complex() -> None:
    def build(tf: Any) -> list[Any]:
        a, b = tf.constant(X), tf.constant(X[::-1].copy())
        z = tf.complex(a, b)
        result = []
        for f in (tf.exp, tf.sin, tf.tanh, tf.square, tf.sqrt, tf.log, tf.reciprocal, tf.conj, tf.sigmoid):
            result += tf.gradients(tf.real(f(z)) + 2.0 * tf.imag(f(z)), [a, b])
        for g in (tf.abs, tf.angle, tf.real, tf.imag):
            result += tf.gradients(g(z), [a, b, z])
        other = z * z + 1.0
        products = (z * other, z / other, z - other, tf.matmul(z, other, transpose_b=True), tf.pow(z, other))
        for product in products:
            result += tf.gradients(tf.abs(product), [a, b])
        return result

    _same(build)


def test_custom_gradient() -> None:
    def build(tf: Any) -> list[Any]:
        @tf.custom_gradient
        def log1pexp(x: Any) -> Any:
            e = tf.exp(x)
            return tf.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

        @tf.custom_gradient
        def two(x: Any, y: Any) -> Any:
            return [x * y, x + y], lambda da, db: [da * 2.0, db * 3.0]

        x, y = tf.constant(X), tf.constant(X + 1)
        p, q = two(x, y)
        return [*tf.gradients(log1pexp(x), x), *tf.gradients([p, q * q], [x, y])]

    _same(build)


def test_clipping() -> None:
    def build(tf: Any) -> list[Any]:
        x = tf.constant(X.astype(np.float32))
        slices = tf.IndexedSlices(x, tf.constant([1, 0]), tf.constant([4, 3]))
        clipped, norm = tf.clip_by_global_norm([x, None, slices], 1.5)
        whole = [
            tf.clip_by_value(x, -0.5, 1.0),
            tf.clip_by_norm(x, 1.0),
            tf.clip_by_norm(x, 1.0, axes=[1]),
            tf.clip_by_average_norm(x, 0.1),
            clipped[0],
            norm,
        ]
        grads = [tf.gradients(y, x)[0] for y in whole]
        return [*whole, *grads, clipped[2], tf.clip_by_value(slices, -0.5, 1.0), tf.clip_by_norm(slices, 1.0)]

    _same(build)


def test_dynamic_shapes() -> None:
    def build(tf: Any) -> list[Any]:
        x = tf.placeholder_with_default(tf.constant(X), None)
        y = tf.placeholder_with_default(tf.constant(X[:1]), [None, 3])
        z = tf.reduce_mean(x * y, -1) + tf.reduce_prod(x - y, 1) + tf.reduce_max(tf.concat([x, x], 1), 1)
        return tf.gradients(tf.nn.softmax(tf.expand_dims(z, 0)), [x, y])  # type: ignore[no-any-return]

    _same(build)


def test_values_of_gradient_ops() -> None:
    random = np.random.RandomState(5)
    alpha = random.uniform(0.1, 20, 300)
    sample = random.gamma(alpha)
    grid = np.linspace(0.2, 30, 50)
    points = {
        "RandomGammaGrad": (alpha, sample),
        "Polygamma": (np.array([[0.0], [1.0], [2.0], [5.0]]), grid),
        "Zeta": (np.array([[1.5], [2.0], [3.0], [11.0]]), grid),
        "SqrtGrad": (np.array([0.0, 0.0, 2.0]), np.array([0.0, 1.0, 1.0])),
        "RsqrtGrad": (np.array([np.inf, np.inf, 2.0]), np.array([0.0, 1.0, 1.0])),
    }
    for op, inputs in points.items():
        case = Case(op, inputs)
        with fleet.Graph().as_default(), fleet.Session() as session:
            ours = session.run(apply_op(op, *map(fleet.constant, inputs)))
        with real.Graph().as_default(), real.Session() as session:
            theirs = session.run(_real_op(case, [real.constant(x) for x in inputs]))
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9, err_msg=op)


def _names(library: Any, **arguments: Any) -> list[tuple[str, Any]]:
    """Names and colocation of what gradients of one layer add, but for shapes and sums."""
    with library.Graph().as_default() as graph:
        x = library.constant(X.astype(np.float32), name="x")
        w = library.get_variable("w", [3, 3], use_resource=False)
        h = library.tanh(library.matmul(x, w), name="h")
        y = h * h + library.sigmoid(h)
        library.gradients(y, [x, w], **arguments)
        kinds = ("Mul", "MatMul", "TanhGrad", "SigmoidGrad", "AddN", "Fill", "Identity", "NoOp")
        return [
            (op.name, sorted(op.get_attr("_class")) if "_class" in op.node_def.attr else [])
            for op in graph.get_operations()
            if op.name.startswith("gradients/") and op.type in kinds
        ]


@pytest.mark.parametrize(
    "arguments",
    [{}, {"colocate_gradients_with_ops": True}, {"gate_gradients": True}, {"name": "gradients/mine"}],
    ids=str,
)
def test_names_and_colocation(arguments: dict[str, Any]) -> None:
    assert _names(fleet, **arguments) == _names(real, **arguments)
