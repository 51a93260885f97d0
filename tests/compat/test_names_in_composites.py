"""Names inside of composite functions: those of TensorFlow 1.15's graphs, by which programs fetch."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")

import tensorfleet as tf
from tests.compat.side_by_side import both

# TensorFlow's package of today builds the same graphs as 1.15 here.
SAME = """
tf.nn.sigmoid_cross_entropy_with_logits(labels=m, logits=m)
tf.clip_by_norm(m, 1.)
tf.nn.batch_normalization(m, m[0], m[1] + 1., m[0], m[1], 1e-3)
tf.nn.moments(m, [0])
tf.nn.conv1d(tf.ones([1, 3, 2]), tf.ones([1, 2, 2]), 1, "SAME")
tf.nn.l2_normalize(m, 0)
tf.norm(m, axis=1)
"""

# Built otherwise in between: the last name is that of the result.
RESULTS = {
    "tf.nn.dropout(m, 0.5)": "dropout/mul_1",
    "tf.nn.softmax_cross_entropy_with_logits_v2(labels=m, logits=m)": (
        "softmax_cross_entropy_with_logits/Reshape_2"
    ),
    "tf.nn.softmax_cross_entropy_with_logits(labels=m, logits=m)": (
        "softmax_cross_entropy_with_logits_sg/Reshape_2"
    ),
    "tf.losses.mean_squared_error(m, m)": "mean_squared_error/value",
    "tf.nn.zero_fraction(m)": "zero_fraction/fraction",
    "tf.train.cosine_decay(0.1, tf.constant(1), 3)": "CosineDecay/Mul_3",
    "tf.train.natural_exp_decay(0.1, tf.constant(1), 3, 0.5)": "ExponentialDecay",
    "tf.train.piecewise_constant(tf.constant(1), [2], [0.1, 0.2])": "PiecewiseConstant/case/cond/Merge",
    "tf.metrics.mean_iou(tf.constant([0]), tf.constant([1]), 2)[0]": "mean_iou/Select_1",
    "tf.metrics.precision_at_thresholds(tf.constant([0]), tf.constant([0.5]), [0.2])[1]": (
        "precision_at_thresholds/precision_update_op"
    ),
    "tf.nn.rnn_cell.BasicLSTMCell(2)(m, (tf.ones([2, 2]), tf.ones([2, 2])))[0]": "basic_lstm_cell/Mul_2",
}


@pytest.mark.parametrize("expression", SAME.split("\n")[1:-1])
def test_same_names(expression: str) -> None:
    theirs, mine = both(expression, run=False)
    assert mine.error == theirs.error == ""
    assert mine.nodes == theirs.nodes


@pytest.mark.parametrize("expression", sorted(RESULTS))
def test_names_of_results(expression: str) -> None:
    with tf.Graph().as_default():
        m = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], name="m")
        result = eval(expression, {"tf": tf, "m": m})
        assert result.op.name == RESULTS[expression]


def test_dropout_keeps_its_parts() -> None:
    with tf.Graph().as_default() as graph:
        tf.nn.dropout(tf.constant([1.0, 2.0], name="x"), rate=0.5)
        names = [op.name.removeprefix("dropout/") for op in graph.get_operations() if op.type != "Const"]
    kept = ["sub", "truediv", "GreaterEqual", "mul", "Cast", "mul_1"]
    assert [name for name in names if not name.startswith("random_uniform")] == kept


# Of shapes that are known in part, as those of batches are.
GRADIENTS = {
    "x + b": (["Reshape", "Reshape_1"], ["BroadcastGradientArgs", "Shape", "Shape_1", "Sum", "Sum_1"]),
    "x * b": (["Reshape", "Reshape_1"], ["BroadcastGradientArgs", "Mul", "Mul_1", "Sum", "Sum_1"]),
    "tf.reduce_sum(x)": (["Tile"], ["Reshape", "Shape"]),
    "tf.reduce_sum(x, 1)": (["Tile"], ["Shape"]),
    "tf.reduce_mean(x)": (
        ["truediv"],
        ["Reshape", "Tile", "Shape_1", "Prod", "Prod_1", "Maximum", "floordiv", "Cast"],
    ),
}


@pytest.mark.parametrize("expression", sorted(GRADIENTS))
def test_names_in_gradients(expression: str) -> None:
    results, others = GRADIENTS[expression]
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        b = tf.constant([1.0, 2.0, 3.0], name="b")
        y = eval(expression, {"tf": tf, "x": x, "b": b})
        prefix = f"gradients/{y.op.name}_grad/"
        gradients = tf.gradients(y, [x, b][: len(results)])
        assert [gradient.op.name for gradient in gradients] == [prefix + name for name in results]
        made = {op.name for op in graph.get_operations()}
        assert {prefix + name for name in others} <= made
