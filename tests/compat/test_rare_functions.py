"""Rarely used functions of `tf` give what they give in TensorFlow, or in NumPy where TensorFlow has them for
accelerators alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as real

import tensorfleet as fleet

LOGITS = np.random.RandomState(0).randn(6, 4, 5).astype(np.float32)
IMAGES = np.random.RandomState(1).randn(2, 6, 5, 4).astype(np.float32)
WEIGHTS = np.random.RandomState(2).randn(3, 2, 4, 6).astype(np.float32)
LABELS = np.array([[1, 2, 2], [0, 0, 0], [3, 1, 0], [4, 4, 1]])
COUNTS, TIMES = np.array([3, 0, 1, 2]), np.array([6, 5, 4, 6])
BYTES = np.random.RandomState(3).randint(0, 256, (1, 4, 4, 2)).astype(np.uint8)
POSITIVE = np.array([[[4.0, 1, 0], [1, 3, 1], [0, 1, 2]], [[2.0, 0, 0], [0, 3, 0], [0, 0, 1]]], np.float32)


def run(tf: Any, program: Callable[[Any], Any]) -> list[Any]:
    with tf.Graph().as_default(), tf.Session() as session:
        fetches = program(tf)
        found = session.run(list(fetches) if isinstance(fetches, tuple) else [fetches])
    return [np.asarray(part) for value in found for part in (value if isinstance(value, tuple) else [value])]


def with_gradient(function: Callable[..., Any], *values: Any) -> Callable[[Any], Any]:
    def program(tf: Any) -> Any:
        inputs = [tf.constant(value) for value in values]
        result = function(tf, *inputs)
        return (result, *tf.gradients(result, inputs))

    return program


def quantized(tf: Any, values: Any = BYTES) -> Any:
    return tf.bitcast(tf.constant(values), tf.quint8)


def plain(tf: Any, result: Any, kind: str) -> Any:
    return (tf.bitcast(result[0], kind), *result[1:])


def sparse(tf: Any) -> Any:
    return tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 2]], tf.constant([1, 2, 3, 4]), [4, 3])


def parts(sparse: Any) -> Any:
    return sparse.indices, sparse.values, sparse.dense_shape


def system(tf: Any, **options: Any) -> Any:
    operator = tf.linalg.LinearOperatorFullMatrix(
        tf.constant(POSITIVE), is_self_adjoint=True, is_positive_definite=True
    )
    return tuple(tf.linalg.experimental.conjugate_gradient(operator, tf.constant([1.0, 2, 3]), **options))


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "collapse_repeated": lambda tf: tf.nn.collapse_repeated([[1, 1, 2, 2, 1], [1, 2, 3, 4, 5]], [5, 3]),
    "collapse_repeated of nothing": lambda tf: tf.nn.collapse_repeated([[1, 1], [1, 2]], [0, 0]),
    "ctc_unique_labels": lambda tf: tuple(tf.nn.ctc_unique_labels([[3, 4, 4, 3], [1, 0, 0, 2]])),
    "ctc_loss_v2": with_gradient(lambda tf, x: tf.nn.ctc_loss_v2(LABELS, x, COUNTS, TIMES), LOGITS),
    "ctc_loss_v2, blank": with_gradient(
        lambda tf, x: tf.nn.ctc_loss_v2(LABELS, x, COUNTS, TIMES, blank_index=-2), LOGITS
    ),
    "ctc_loss_v2, batches first": lambda tf: tf.nn.ctc_loss_v2(
        LABELS, LOGITS.transpose(1, 0, 2), COUNTS, TIMES, False, tf.nn.ctc_unique_labels(LABELS)
    ),
    "ctc_loss_v2, sparse": with_gradient(
        lambda tf, x: tf.nn.ctc_loss_v2(sparse(tf), x[:, :3], None, [6, 6, 5], blank_index=0), LOGITS
    ),
    "with_space_to_batch, VALID": lambda tf: tf.nn.with_space_to_batch(
        IMAGES, [2, 3], "VALID", lambda x, n, padding: tf.nn.max_pool(x, [1, 2, 2, 1], [1] * 4, padding)
    ),
    "with_space_to_batch, SAME": lambda tf: tf.nn.with_space_to_batch(
        tf.placeholder_with_default(IMAGES, [None, None, 5, 4]),
        [2, 1],
        "SAME",
        lambda x, n, padding: tf.nn.conv2d(x, WEIGHTS, [1] * 4, padding),
        filter_shape=[3, 2],
    ),
    "with_space_to_batch, one axis": lambda tf: tf.nn.with_space_to_batch(
        IMAGES, [2], "VALID", lambda x, n, padding: x[:, :, 1:] * n, spatial_dims=[2]
    ),
    "with_space_to_batch, plain": lambda tf: tf.nn.with_space_to_batch(
        IMAGES, [1, 1], "SAME", lambda x, n, padding: x * n
    ),
    "conv": lambda tf: tf.conv(IMAGES, WEIGHTS, [1, 2, 1, 1], "SAME"),
    "conv, batches": lambda tf: tf.conv(IMAGES[None], WEIGHTS, [1] * 4, "SAME", batch_dims=2),
    "conv, padding": lambda tf: tf.conv(
        IMAGES, WEIGHTS, [1] * 4, "EXPLICIT", [0, 0, 1, 2, 0, 1, 0, 0], dilations=[1, 2, 1, 1]
    ),
    "conv, volumes": lambda tf: tf.conv(IMAGES[..., None], WEIGHTS[..., None, :5], [1] * 5, "VALID"),
    "quantized_avg_pool": lambda tf: plain(
        tf, tf.nn.quantized_avg_pool(quantized(tf), 0.0, 5.0, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), "uint8"
    ),
    "quantized_max_pool": lambda tf: plain(
        tf, tf.nn.quantized_max_pool(quantized(tf), -1.0, 5.0, [1, 2, 2, 1], [1, 1, 1, 1], "VALID"), "uint8"
    ),
    "quantized_conv2d": lambda tf: plain(
        tf,
        tf.nn.quantized_conv2d(
            quantized(tf),
            quantized(tf, BYTES[:, :2, :2].reshape(2, 2, 2, 1)),
            *(0.0, 2.0, -1.0, 1.0),
            strides=[1] * 4,
            padding="SAME",
        ),
        "int32",
    ),
    "quantized_concat": lambda tf: plain(
        tf, tf.quantized_concat(1, [quantized(tf)] * 2, [0.0, -1.0], [1.0, 2.0]), "uint8"
    ),
    "stateless_dropout": with_gradient(
        lambda tf, x: tf.nn.experimental.stateless_dropout(x, 0.3, seed=[1, 2], rng_alg="philox"), LOGITS
    ),
    "stateless_dropout, rows": lambda tf: tf.nn.experimental.stateless_dropout(
        LOGITS, 0.5, seed=[3, 4], noise_shape=[6, 1, 1]
    ),
    "general_dropout": lambda tf: tf.nn.experimental.general_dropout(
        LOGITS, 0.5, lambda shape, dtype: tf.random.stateless_uniform(shape, [7, 8], dtype=dtype)
    ),
    "approx_top_k": with_gradient(lambda tf, x: tf.approx_top_k(x, 3)[0], LOGITS),
    "approx_max_k": lambda tf: tuple(tf.nn.approx_max_k(np.array([[1, 5, 3, 5, 2]], np.float32), 3)),
    "sparse.bincount": lambda tf: parts(tf.sparse.bincount([[1, 1, 3], [0, 3, 3]], axis=-1)),
    "sparse.bincount, all": lambda tf: parts(tf.sparse.bincount([[1, 1, 3], [0, 3, 3]], minlength=6)),
    "sparse.bincount, weights": lambda tf: parts(
        tf.sparse.bincount([1, 1, 3], weights=[0.5, 1, 2], maxlength=3)
    ),
    "sparse.bincount, sparse": lambda tf: parts(tf.sparse.bincount(sparse(tf), axis=-1, binary_output=True)),
    "conjugate_gradient": system,
    "conjugate_gradient, guess": lambda tf: system(tf, x=tf.ones([2, 3]), max_iter=2),
    "conjugate_gradient, preconditioner": lambda tf: system(
        tf, preconditioner=tf.linalg.LinearOperatorDiag([0.25, 0.3, 0.5])
    ),
    "dtypes.complex": lambda tf: tf.dtypes.complex([1.0], [2.0]),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_as_tensorflow(program: Callable[[Any], Any]) -> None:
    for ours, theirs in zip(run(fleet, program), run(real, program), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


def test_ctc_loss_v2_without_a_path_is_infinite() -> None:
    """TensorFlow gives a number near 707 that stands for infinity; with sparse labels it is infinite, too."""
    loss, gradient = run(
        fleet, with_gradient(lambda tf, x: tf.nn.ctc_loss_v2(LABELS, x, COUNTS, [2, 2, 2, 2]), LOGITS)
    )
    (theirs,) = run(real, lambda tf: tf.nn.ctc_loss_v2(LABELS, LOGITS, COUNTS, [2, 2, 2, 2]))
    assert np.isinf(loss).tolist() == (theirs > 500).tolist() == [True, False, False, True]
    assert np.isfinite(gradient).all()


def test_convolution_gradients_by_shape() -> None:
    """TensorFlow has them on GPUs alone: they are those of the older ops, which take the shapes."""
    gradient = np.random.RandomState(5).randn(2, 3, 5, 6).astype(np.float32)
    attrs: dict[str, Any] = {"strides": [1, 2, 1, 1], "padding": "SAME"}
    ours = run(
        fleet,
        lambda tf: (
            tf.conv2d_backprop_filter_v2(IMAGES, WEIGHTS, gradient, **attrs),
            tf.conv2d_backprop_input_v2(IMAGES, WEIGHTS, gradient, **attrs),
        ),
    )
    theirs = run(
        real,
        lambda tf: (
            tf.nn.conv2d_backprop_filter(IMAGES, WEIGHTS.shape, gradient, **attrs),
            tf.nn.conv2d_backprop_input(IMAGES.shape, WEIGHTS, gradient, **attrs),
        ),
    )
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_convolution_by_groups() -> None:
    """TensorFlow's Conv has no groups on CPUs; its Conv2D has them."""
    (found,) = run(fleet, lambda tf: tf.conv(IMAGES, WEIGHTS[:, :, :2], [1] * 4, "VALID", groups=2))
    (expected,) = run(real, lambda tf: tf.nn.conv2d(IMAGES, WEIGHTS[:, :, :2], [1] * 4, "VALID"))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize(
    ("lengths", "axes"), [([4, 6], [0, 2]), (None, [1]), ([3, 7], [2, -2]), (None, None)]
)
def test_transforms_over_axes(lengths: Any, axes: Any, norm: str | None) -> None:
    """TensorFlow has them on accelerators alone: they are NumPy's."""
    x = LOGITS.astype(np.complex64) * (1 - 2j)
    for name, given in (("fftn", x), ("ifftn", x), ("rfftn", LOGITS), ("irfftn", x)):
        (found,) = run(
            fleet,
            lambda tf, name=name, given=given: getattr(tf.signal, name + "d")(given, lengths, axes, norm),
        )
        expected = getattr(np.fft, name)(given, lengths, axes, norm)
        assert found.dtype == (np.float32 if name == "irfftn" else np.complex64)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_transforms_know_their_shapes() -> None:
    with fleet.Graph().as_default():
        x = fleet.placeholder(fleet.float32, [2, None, 5])
        assert fleet.rfftnd(x, [3, 8], [2, 1]).shape.as_list() == [2, 5, 3]
        with pytest.raises(ValueError, match="out of range"):
            fleet.rfftnd(x, [3], [3])
        with pytest.raises(ValueError, match="same length"):
            fleet.rfftnd(x, [3], [1, 2])


def test_quantized_relu_x() -> None:
    """Clipped to [0, 2], of a range from -1 to 5: the bytes 43 to 128. TensorFlow has no kernel of it."""
    values = np.array([0, 42, 43, 100, 128, 129, 255], np.uint8)
    found, low, high = run(
        fleet, lambda tf: plain(tf, tf.nn.quantized_relu_x(quantized(tf, values), 2.0, -1.0, 5.0), "uint8")
    )
    assert found.tolist() == np.clip(values, 43, 128).tolist()
    assert (low, high) == (-1, 5)


def test_least_elements_along_an_axis() -> None:
    """TensorFlow has them on TPUs alone: the gradient goes to the elements that were found."""
    values, places, gradient = run(
        fleet,
        lambda tf: (
            *(found := tf.nn.approx_min_k((x := tf.constant(LOGITS)), 2, reduction_dimension=1)),
            *tf.gradients(found[0] * 2, x),
        ),
    )
    order = np.argsort(LOGITS, 1)[:, :2]
    assert (places == order).all()
    assert (values == np.take_along_axis(LOGITS, order, 1)).all()
    expected = np.zeros_like(LOGITS)
    np.put_along_axis(expected, order, 2, 1)
    assert (gradient == expected).all()


def test_must_run_on_cpu() -> None:
    def answers(tf: Any) -> list[bool]:
        with tf.Graph().as_default() as graph:
            tf.cast(tf.constant([1, 2]), tf.float32)
            tf.constant(["a"]), tf.constant([1.0])
            tf.get_variable("v", [2], use_resource=False)
            tf.dynamic_stitch([[0], [1]], [[1], [2]])
            return [
                tf.graph_util.must_run_on_cpu(node, pin)
                for op in graph.get_operations()
                for node in (op, op.node_def)
                for pin in (False, True)
            ]

    assert answers(fleet) == answers(real)
