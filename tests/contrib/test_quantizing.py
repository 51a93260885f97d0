"""tf.contrib.quantize: folded batch norms, and fake quantization of weights and activations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.contrib.quantizing.folding import fold_batch_norms

slim = tf.contrib.slim
RNG = np.random.default_rng(4)
X = RNG.normal(size=(6, 5, 5, 3)).astype("f")


def layer(kind: str, x: Any, training: bool, fused: bool, scale: bool) -> Any:
    norm = {
        "is_training": training,
        "fused": fused,
        "scale": scale,
        "decay": 0.7,
        "updates_collections": None,
    }
    options: dict[str, Any] = {"normalizer_fn": slim.batch_norm, "normalizer_params": norm, "scope": "l"}
    if kind == "conv":
        return slim.conv2d(x, 4, 3, **options)
    if kind == "depthwise":
        return slim.separable_conv2d(x, None, 3, depth_multiplier=2, **options)
    return slim.fully_connected(slim.flatten(x), 4, **options)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("kind", ["conv", "depthwise", "product"])
def test_folded_layers_compute_the_same(kind: str, fused: bool, training: bool) -> None:
    results = []
    for folds in (False, True):
        with tf.Graph().as_default() as graph:
            tf.set_random_seed(1)
            out = tf.reduce_sum(layer(kind, tf.constant(X), training, fused, fused) ** 2 / 3)
            if folds:
                count = len(graph.get_operations())
                fold_batch_norms(graph, training)
                assert len(graph.get_operations()) > count
                assert any(op.name.endswith("_Fold") for op in graph.get_operations())
            slopes = tf.gradients(out, tf.trainable_variables())
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                for variable in tf.global_variables():
                    random = np.random.default_rng(len(variable.name))
                    value = random.uniform(0.5, 1.5, size=variable.shape.as_list())
                    variable.load(value.astype("f"), session)
                results.append(session.run([out, *slopes]))
    for before, after in zip(*results, strict=True):
        # Each compared relative to its largest, as some slopes are differences of nearly equal numbers.
        largest = np.abs(before).max() + 1e-3
        np.testing.assert_allclose(np.asarray(after) / largest, np.asarray(before) / largest, atol=2e-4)


def test_frozen_moving_averages_normalize() -> None:
    with tf.Graph().as_default() as graph:
        out = layer("conv", tf.constant(X), True, False, True)
        fold_batch_norms(graph, True, 2)
        moving = [v for v in tf.global_variables() if "moving" in v.name]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found = []
            for _ in range(4):
                before = session.run(moving)
                found.append((before, session.run(out), session.run(moving)))
    assert len(moving) == 2
    # `out` runs before a run's step is counted or after it, but no later than with the third it is frozen.
    assert not np.array_equal(found[0][0][0], found[0][2][0])
    np.testing.assert_array_equal(found[3][0], found[3][2])
    assert not np.allclose(found[3][1], found[0][1], atol=1e-2)


def grid(values: Any, low: float, high: float, narrow: bool = False) -> Any:
    """The formula of FakeQuantWithMinMaxVars for 8 bits."""
    first = 1 if narrow else 0
    step = (high - low) / (255 - first)
    zero = np.clip(np.round(first - low / step), first, 255)
    low, high = (first - zero) * step, (255 - zero) * step
    return np.round((np.clip(values, low, high) - low) / step) * step + low


def test_training_and_evaluation(tmp_path: Path) -> None:
    labels = RNG.normal(size=(6, 2)).astype("f")

    def model(training: bool) -> Any:
        with tf.variable_scope("net"):
            x = tf.placeholder(tf.float32, [6, 5, 5, 3], name="x")
            net = layer("conv", x, training, True, True)
            net = tf.reduce_mean(net, [1, 2])
            return x, slim.fully_connected(net, 2, activation_fn=None, scope="out")

    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        x, out = model(True)
        loss = tf.losses.mean_squared_error(labels, out)
        tf.contrib.quantize.create_training_graph(graph)
        step = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
        names = {v.op.name for v in tf.global_variables()}
        for place in ("net/l/weights_quant", "net/l/act_quant", "net/out/weights_quant", "net/out/act_quant"):
            assert {f"{place}/min", f"{place}/max"} <= names
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            losses = [session.run([loss, step], {x: X})[0] for _ in range(60)]
            path = tf.train.Saver().save(session, str(tmp_path / "m"))
    assert losses[-1] < 0.7 * losses[0]
    with tf.Graph().as_default() as graph:
        x, out = model(False)
        out = tf.identity(out)
        tf.contrib.quantize.create_eval_graph()
        saver = tf.train.Saver()
        with tf.Session() as session:
            saver.restore(session, path)
            fakes = [op for op in graph.get_operations() if op.type == "FakeQuantWithMinMaxVars"]
            assert len(fakes) == 4
            tensors = [t for op in fakes for t in (op.inputs[0], op.inputs[1], op.inputs[2], op.outputs[0])]
            got = session.run([*tensors, out], {x: X})
    for i, op in enumerate(fakes):
        given, low, high, quantized = got[4 * i : 4 * i + 4]
        narrow = "weights_quant" in op.name
        assert op.get_attr("narrow_range") == narrow
        np.testing.assert_allclose(quantized, grid(given, low, high, narrow), atol=(high - low) / 200)
        if narrow:
            # The weights have moved since: by the last step.
            ends = [min(given.min(), 0), max(given.max(), 0)]
            np.testing.assert_allclose([low, high], ends, atol=(high - low) / 20)


def test_quantization_begins_later() -> None:
    x = tf.constant(X)
    out = tf.nn.relu(slim.conv2d(x, 2, 3, activation_fn=None, scope="c"), name="r")
    found = tf.identity(out)
    tf.contrib.quantize.create_training_graph(quant_delay=3)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        plain = session.run(out)
        different = [not np.array_equal(session.run(found), plain) for _ in range(6)]
    # The run of `out` may take the step, too: it depends on the quantized weights.
    assert not different[0]
    assert all(different[3:])
    tf.train.AdamOptimizer().minimize(tf.reduce_sum(found))
    with pytest.raises(ValueError, match="Training op"):
        tf.contrib.quantize.create_training_graph()


def test_sums_of_branches() -> None:
    x = slim.conv2d(tf.constant(X), 3, 3, scope="first")
    branch = slim.conv2d(x, 3, 3, activation_fn=None, scope="block/second")
    out = tf.identity(tf.nn.relu(branch + x))
    tf.contrib.quantize.experimental_create_training_graph(weight_bits=4, symmetric=True)
    names = {v.op.name for v in tf.global_variables()}
    for place in ("first/act_quant", "block/second/conv_quant", "block/act_quant"):
        assert f"{place}/min" in names
    [weights] = [v for v in tf.global_variables() if v.op.name == "block/second/weights"]
    quantized = tf.get_default_graph().get_tensor_by_name(
        "block/second/weights_quant/FakeQuantWithMinMaxVars:0"
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        given, found, total = session.run([weights, quantized, out])
    assert len(np.unique(found)) <= 15
    assert np.abs(found - given).max() <= np.abs(given).max() / 7
    assert (total >= 0).all()


def test_only_a_scope() -> None:
    for name in ("a", "b"):
        slim.conv2d(tf.constant(X), 2, 3, scope=name)
    tf.contrib.quantize.experimental_create_eval_graph(scope="a")
    made = [v.op.name for v in tf.global_variables() if "quant" in v.op.name]
    assert made == ["a/weights_quant/min", "a/weights_quant/max"]


def test_ranges_begin_as_in_tensorflow() -> None:
    x = slim.conv2d(tf.constant(X), 3, 3, scope="first")
    last = slim.conv2d(x, 3, 3, activation_fn=None, scope="last")
    tf.identity(last)
    branch = slim.conv2d(x, 3, 3, activation_fn=None, scope="block/second")
    tf.nn.l2_loss(branch + x)
    tf.contrib.quantize.create_eval_graph()
    ranges = {v.op.name: v for v in tf.global_variables() if "_quant/m" in v.op.name}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run(ranges)
    expected = {
        "first/act_quant": 0,
        "last/act_quant": 0,
        "block/second/conv_quant": -6,
        "block/add_quant": -6,
    }
    assert {place: found[f"{place}/min"] for place in expected} == expected
    assert all(value == 6 for name, value in found.items() if name.endswith("max"))
