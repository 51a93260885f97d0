"""What random graphs showed to differ from TensorFlow 1.15.5; the expected values are its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf


def run(*tensors: Any, feed: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        return [session.run(tensor, feed) for tensor in tensors]


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        yield


def test_losses_of_integers_are_weighted_and_reduced_in_float32() -> None:
    loss = tf.losses.compute_weighted_loss(tf.constant([5, 6, 7]), [0.5, 1.0, 0.0])
    assert loss.dtype == tf.int32
    assert run(loss) == [4]


def test_losses_of_doubles_are_weighted_in_float32() -> None:
    loss = tf.losses.compute_weighted_loss(tf.constant([0.1, 0.2], tf.float64))
    assert loss.dtype == tf.float64
    assert run(loss) == [0.15000000596046448]


def test_labels_are_smoothed_by_the_number_of_classes_in_the_last_dimension() -> None:
    logits = tf.constant([[[1.0, 2.0, 3.0]], [[0.0, -1.0, 2.0]]])
    labels = tf.constant([[[1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]]])
    loss = tf.losses.softmax_cross_entropy(labels, logits, label_smoothing=0.3)
    assert run(loss)[0] == pytest.approx(1.388726, rel=1e-6)
    row = tf.losses.softmax_cross_entropy(labels[0, 0], logits[0, 0], label_smoothing=0.3)
    assert run(row)[0] == pytest.approx(2.1076059, rel=1e-6)


def test_careful_interpolation_of_roc_is_trapezoidal() -> None:
    given = tf.constant([True, False, True, False]), tf.constant([0.9, 0.8, 0.3, 0.1])
    value = tf.metrics.auc(*given, num_thresholds=5, summation_method="careful_interpolation")[1]
    assert run(value)[0] == pytest.approx(0.6249999, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "expected"), [("precision", 1 / 3), ("recall", 2 / 3), ("average_precision", 1 / 3)]
)
def test_labels_of_unknown_rank_may_lack_the_dimension_of_classes(name: str, expected: float) -> None:
    labels = tf.placeholder(tf.int64)
    predictions = tf.constant([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.3, 0.6, 0.1]])
    update = getattr(tf.metrics, f"{name}_at_k")(labels, predictions, 2)[1]
    assert run(update, feed={labels: [1, 2, 0]})[0] == pytest.approx(expected)
    assert run(update, feed={labels: [[1], [2], [0]]})[0] == pytest.approx(expected)


def test_a_rate_of_boundaries_is_a_scalar_also_where_the_step_is_of_unknown_shape() -> None:
    rate = tf.train.piecewise_constant(tf.placeholder(tf.int64), [3], [1.0, 0.5])
    assert rate.get_shape().as_list() == []


@pytest.mark.parametrize(("source", "target"), [("float32", "float64"), ("float16", "float32")])
def test_a_saturated_cast_to_wider_floats_keeps_infinities(source: str, target: str) -> None:
    x = tf.constant(np.array([np.inf, -np.inf, 1.5], source))
    assert run(tf.saturate_cast(x, target))[0].tolist() == [np.inf, -np.inf, 1.5]


def test_tensordot_of_partly_known_shapes_knows_what_is_free() -> None:
    grey = tf.image.rgb_to_grayscale(tf.placeholder(tf.float32, [None, 5, 3]))
    assert grey.get_shape().as_list() == [None, 5, 1]
    assert tf.tensordot(tf.placeholder(tf.float32, [None, 2, 4]), tf.ones([4, 3]), 1).shape.as_list() == [
        None,
        2,
        3,
    ]


@pytest.mark.parametrize("name", ["flip_left_right", "random_flip_up_down", "rot90", "transpose_image"])
def test_an_image_of_unknown_rank_is_a_single_one(name: str) -> None:
    image = tf.placeholder(tf.float32)
    turned = getattr(tf.image, name)(image)
    assert turned.get_shape().ndims == 3
    tf.image.resize_images(turned, [2, 2])


def test_padded_boxes_have_names() -> None:
    chosen = tf.image.non_max_suppression_padded(
        [[0.0, 0.0, 1.0, 1.0]], [0.5], 3, pad_to_max_output_size=True
    )
    indices, count = run(chosen.selected_indices, chosen.valid_outputs)
    assert (indices.tolist(), count) == ([0, 0, 0], 1)


@pytest.mark.parametrize(
    ("text", "limit", "parts"),
    [
        (" x  y ", 0, [b" x  y "]),
        ("", 0, [b""]),
        ("", 1, []),
        ("abc", 1, [b"abc", b""]),
        ("Hello World", 2, [b"Hello", b"World", b""]),
        (" x  y ", 2, [b"x", b"y", b""]),
        ("Hello World", -1, [b"Hello", b"World"]),
    ],
)
def test_words_up_to_a_number_are_followed_by_the_rest(text: str, limit: int, parts: list[bytes]) -> None:
    split = tf.strings.split([text], maxsplit=limit)
    assert run(split.values)[0].tolist() == parts


@pytest.mark.parametrize(
    ("rewrite", "everywhere", "expected"),
    [(r"x\9y", True, b"xyxyb"), (r"\9", False, b"ab"), ("\\", False, b"aab"), (r"\x", False, b"aab")],
)
def test_mistakes_in_replacements(rewrite: str, everywhere: bool, expected: bytes) -> None:
    replaced = tf.strings.regex_replace("aab", "a", rewrite, replace_global=everywhere)
    assert run(replaced) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [(b"\0a", b"a"), (b"\xff\xfea\0", b"a"), (b"\xfe\xff\0a", b"a"), (b"\xe6\x97", "\ue697")],
)
def test_utf_16_without_a_mark_is_big_endian(text: bytes, expected: bytes | str) -> None:
    changed = tf.strings.unicode_transcode(text, "UTF-16", "UTF-8")
    assert run(changed) == [expected.encode() if isinstance(expected, str) else expected]


@pytest.mark.parametrize("text", ["+/8", "YQ/="])
def test_base64_of_another_alphabet_is_refused(text: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid character found in base64"):
        run(tf.decode_base64(text))


@pytest.mark.parametrize("fill", ["x", "1", "*"])
def test_numbers_are_filled_by_flags_alone(fill: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="Fill argument not supported"):
        run(tf.as_string([1.5], width=6, fill=fill))
