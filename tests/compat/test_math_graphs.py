"""Public mathematical functions and operators build TensorFlow's graphs: names, types, attributes, order."""

from __future__ import annotations

import inspect
import operator
import os
from typing import Any

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
tf = pytest.importorskip("tensorflow").compat.v1

import tensorfleet as fleet  # noqa: E402
from tensorfleet.graph.graph import Graph  # noqa: E402
from tensorfleet.ops.array.identity import placeholder  # noqa: E402
from tensorfleet.ops.linalg import linalg, matrix_parts  # noqa: E402
from tensorfleet.ops.math import (  # noqa: E402
    add_n,
    arithmetic,
    comparison,
    complex_numbers,
    elementwise,
    extrema,
    matmul,
    operators,  # noqa: F401 - sets the operators
    reduction,
    scan,
    segment,
    special,
)
from tensorfleet.ops.nn import activation  # noqa: E402

MODULES = (
    *(activation, add_n, arithmetic, comparison, complex_numbers, elementwise, extrema, linalg),
    *(matmul, matrix_parts, reduction, scan, segment, special),
)
# Of TensorFlow 0.x, and not in TensorFlow 2.21.
OLD_NAMES = {"batch_matmul", "complex_abs", "inv", "mul", "neg", "sub"}


def _names_of(module: Any) -> list[str]:
    """The public names, such as `math.add`, of what a module defines."""
    return [
        f"{prefix}{name}"
        for prefix in ("", "math.", "linalg.", "nn.", "bitwise.")
        for name, value in vars(operator.attrgetter(prefix[:-1])(fleet) if prefix else fleet).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


EXPRESSIONS = [
    *("x + 1", "1 + x", "x - 1", "1 - x", "x * 2", "2 * x", "x / 2", "2 / x", "i / 2", "x // 2", "2 // x"),
    *("i % 2", "2 % i", "x ** 2", "2 ** x", "x @ x", "[[1., 2.], [3., 4.]] @ x", "-x", "abs(x)", "abs(c)"),
    *("x < 1", "x <= 1", "x > 1", "x >= 1", "1 < x", "b & b", "b | b", "b ^ b", "~b", "i & 1", "i | 1"),
    *("i ^ 1", "~i", "1 & i", "tf.add(x, 1)", "tf.subtract(x, 1)", "tf.multiply(x, 2.)", "tf.abs(x)"),
    *(
        "tf.sign(x)",
        "tf.sigmoid(x)",
        "tf.sqrt(x)",
        "tf.round(x)",
        "tf.round(i)",
        "tf.tanh(x)",
        "tf.square(x)",
    ),
    *("tf.scalar_mul(2., x)", "tf.div(x, 2)", "tf.div(i, 2)", "tf.truediv(x, 2)", "tf.divide(x, 2)"),
    *(
        "tf.divide(x, 2, name='q')",
        "tf.floordiv(x, 2.)",
        "tf.mod(i, 2)",
        "tf.pow(x, 2)",
        "tf.div_no_nan(x, x)",
    ),
    *("tf.math.xlogy(x, x)", "tf.math.xlog1py(x, x)", "tf.math.xdivy(x, x)", "tf.math.multiply_no_nan(x, x)"),
    *("tf.math.reciprocal_no_nan(x)", "tf.maximum(x, 1.)", "tf.squared_difference(x, x)", "tf.equal(x, 1.)"),
    *("tf.not_equal(x, 1.)", "tf.less(x, 1.)", "tf.logical_and(b, b)", "tf.logical_xor(b, b)"),
    *("tf.bitwise.invert(i)", "tf.bitwise.left_shift(i, i)", "tf.reduce_sum(x)", "tf.reduce_sum(x, 1)"),
    *("tf.reduce_mean(x, [0, 1], keepdims=True)", "tf.reduce_max(x, -1)", "tf.reduce_all(b)", "tf.argmax(x)"),
    *("tf.argmin(x, 1, output_type=tf.int32)", "tf.arg_max(x, 1)", "tf.cumsum(x)", "tf.cumprod(x, 1)"),
    *("tf.add_n([x, x])", "tf.add_n([x])", "tf.accumulate_n([x, x])", "tf.matmul(x, x)", "tf.norm(x, 1, 0)"),
    *("tf.matmul(x, x, transpose_a=True)", "tf.matmul(y, y, adjoint_b=True)", "tf.matmul(y, x)"),
    *("tf.math.reduce_std(x)", "tf.math.reduce_variance(x, 0)", "tf.math.reduce_euclidean_norm(x)"),
    *("tf.log_sigmoid(x)", "tf.acos(x)", "tf.exp(x)", "tf.erf(x)", "tf.lgamma(x)", "tf.math.erfinv(x)"),
    *("tf.math.ndtri(x)", "tf.math.erfcinv(x)", "tf.nn.relu(x)", "tf.nn.relu6(x)", "tf.nn.elu(x)"),
    *(
        "tf.nn.leaky_relu(x)",
        "tf.nn.softplus(x)",
        "tf.nn.softmax(x)",
        "tf.nn.log_softmax(x)",
        "tf.nn.crelu(x)",
    ),
    *("tf.nn.bias_add(x, [1., 2.])", "tf.nn.l2_loss(x)", "tf.complex(x, x)", "tf.real(c)", "tf.real(x)"),
    *("tf.imag(c)", "tf.conj(c)", "tf.conj(x)", "tf.angle(c)", "tf.segment_sum(x, i)"),
    *("tf.unsorted_segment_sum(x, i, 3)", "tf.sparse_segment_sum(x, [0], [0])", "tf.matrix_inverse(x)"),
    *("tf.sparse_segment_mean(x, [0], [0], num_segments=3)", "tf.matrix_triangular_solve(x, x)"),
    *("tf.cholesky_solve(x, x)", "tf.svd(x)", "tf.svd(x, compute_uv=False)", "tf.self_adjoint_eig(x)"),
    *("tf.qr(x)", "tf.matrix_diag(x)", "tf.matrix_diag_part(x)", "tf.matrix_set_diag(x, [1., 2.])"),
    *("tf.diag(x)", "tf.diag_part(x)", "tf.matrix_band_part(x, 0, 0)", "tf.trace(x)", "tf.linalg.det(x)"),
    *("tf.linalg.logdet(x)", "tf.linalg.diag(x)", "tf.linalg.slogdet(x)", "tf.linalg.solve(x, x)"),
    *(
        "tf.unsorted_segment_max(x, i, 3)",
        "tf.tensordot(y, x, [[2], [0]]).shape",
        "tf.tensordot(y, y, 1).shape",
    ),
]


def _graph(expression: str, library: Any, graph: Any, make: Any) -> Any:
    with graph.as_default():
        names = {
            "x": make(library.float32, [2, 2], "x"),
            "y": make(library.float32, [2, 2, 2], "y"),
            "i": make(library.int32, [2], "i"),
            "b": make("bool", [2], "b"),
            "c": make("complex64", [2], "c"),
        }
        before = len(graph.get_operations())
        result = eval(expression, {"tf": library, **names})
        made = [
            (op.name, op.type, [t.name for t in op.inputs], sorted(_attrs(op)))
            for op in graph.get_operations()[before:]
        ]
        flat = result if isinstance(result, (list, tuple)) else [result]
        return [getattr(t, "name", str(t)) for t in flat], made if ".shape" not in expression else []


def _attrs(op: Any) -> list[tuple[str, str]]:
    """Attributes as text, without a Const's value and what TensorFlow only notes for itself."""
    hidden = ("value", "_output_shapes")
    return [(k, str(v)) for k, v in op.node_def.attr.items() if k not in hidden]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_same_graph(expression: str) -> None:
    theirs = _graph(expression, tf, tf.Graph(), lambda d, s, n: tf.placeholder(d, s, name=n))
    ours = _graph(expression, fleet, Graph(), lambda d, s, n: placeholder(d, s, name=n))
    assert ours == theirs


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__.rpartition(".")[2])
def test_same_arguments(module: Any) -> None:
    names = [name for name in _names_of(module) if name not in OLD_NAMES]
    assert names
    for name in names:
        assert _arguments(operator.attrgetter(name)(fleet)) == _arguments(operator.attrgetter(name)(tf)), name


def _arguments(function: Any) -> list[tuple[str, str]]:
    return [
        (p.name, str(getattr(p.default, "name", p.default)))
        for p in inspect.signature(function).parameters.values()
    ]
