"""Layers of `tf.contrib.layers` and slim: names of variables, collections, values against formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

layers, framework, slim = tf.contrib.layers, tf.contrib.framework, tf.contrib.slim
RNG = np.random.default_rng(5)


def names(collection: Any = tf.GraphKeys.GLOBAL_VARIABLES) -> list[str]:
    return [v.op.name for v in tf.get_collection(collection)]


def values(*tensors: Any, feed: Any = None) -> list[Any]:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(list(tensors), feed)


def test_names_that_checkpoints_have() -> None:
    x = tf.placeholder(tf.float32, [None, 8, 8, 3])
    scale = {"scale": True}
    with slim.arg_scope([slim.conv2d], normalizer_fn=slim.batch_norm, normalizer_params=scale):
        net = slim.conv2d(x, 4, [3, 3])
        net = slim.repeat(net, 2, slim.conv2d, 4, [3, 3], scope="conv2")
    net = slim.conv2d_transpose(net, 4, 3, stride=2)
    net = slim.separable_conv2d(slim.separable_conv2d(net, 6, 3), None, 3, depth_multiplier=2)
    net = slim.fully_connected(slim.flatten(slim.avg_pool2d(slim.max_pool2d(net, 2), 2)), 5)
    net = layers.linear(layers.layer_norm(net), 4)
    net = layers.bias_add(layers.stack(net, layers.fully_connected, [3, 2], scope="stack"))
    norm = [f"BatchNorm/{part}" for part in ("gamma", "beta", "moving_mean", "moving_variance")]
    convolutions = ["Conv", "conv2/conv2_1", "conv2/conv2_2"]
    expected = [f"{conv}/{part}" for conv in convolutions for part in ("weights", *norm)]
    expected += ["Conv2d_transpose/weights", "Conv2d_transpose/biases", "SeparableConv2d/depthwise_weights"]
    expected += ["SeparableConv2d/pointwise_weights", "SeparableConv2d/biases"]
    expected += ["SeparableConv2d_1/depthwise_weights", "SeparableConv2d_1/biases"]
    expected += ["fully_connected/weights", "fully_connected/biases", "LayerNorm/beta", "LayerNorm/gamma"]
    expected += ["fully_connected_1/weights", "fully_connected_1/biases"]
    expected += [f"stack/stack_{n}/{part}" for n in (1, 2) for part in ("weights", "biases")]
    assert names() == names(tf.GraphKeys.MODEL_VARIABLES) == [*expected, "BiasAdd/biases"]
    assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 6
    assert [v.op.name for v in slim.get_variables_by_name("moving_mean", "conv2")] == [
        f"conv2/conv2_{n}/BatchNorm/moving_mean" for n in (1, 2)
    ]
    assert all("moving" not in name for name in names(tf.GraphKeys.TRAINABLE_VARIABLES))
    left = slim.get_variables_to_restore(exclude=["Conv", "conv2", "Separable"])
    assert left[0].op.name == "fully_connected/weights"


def test_fully_connected() -> None:
    given, weights = RNG.normal(size=(4, 3)).astype("f"), RNG.normal(size=(3, 2)).astype("f")
    arguments: dict[str, Any] = {
        "weights_initializer": tf.constant_initializer(weights),
        "biases_initializer": tf.constant_initializer(0.5),
    }
    x = tf.constant(given)
    out = layers.fully_connected(
        x,
        2,
        **arguments,
        weights_regularizer=layers.l2_regularizer(0.1),
        variables_collections={"weights": ["w"]},
        outputs_collections="outputs",
        scope="fc",
    )
    again = layers.relu(x, 2, scope="fc", reuse=True)
    (loss,) = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert (names(), names("w")) == (["fc/weights", "fc/biases"], ["fc/weights"])
    assert slim.utils.convert_collection_to_dict("outputs") == {"fc": out}
    expected = np.maximum(given @ weights + 0.5, 0)
    for found in values(out, again):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert values(loss)[0] == pytest.approx(0.05 * (weights**2).sum(), rel=1e-5)


@pytest.mark.parametrize("shape", [(6, 3), (2, 4, 4, 3)])
@pytest.mark.parametrize("updates", [None, "own", tf.GraphKeys.UPDATE_OPS])
def test_batch_norm(shape: tuple[int, ...], updates: str | None) -> None:
    given = RNG.normal(2.0, 3.0, shape).astype("f")
    x, training = tf.constant(given), tf.placeholder(tf.bool, [])
    out = layers.batch_norm(x, decay=0.9, is_training=training, updates_collections=updates)
    mean, variance = tf.global_variables()[-2:]
    assert names() == [f"BatchNorm/{n}" for n in ("beta", "moving_mean", "moving_variance")]
    made = tf.get_collection(updates) if updates else []
    assert len(made) == (2 if updates else 0)
    assert updates == tf.GraphKeys.UPDATE_OPS or not tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    axes = tuple(range(len(shape) - 1))
    count = given.size // 3
    batch_mean, batch_variance = given.mean(axes), given.var(axes)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        normalized = session.run(out, {training: True})
        session.run(made, {training: True})
        moved = session.run([mean, variance])
        at_rest = session.run(out, {training: False})
    np.testing.assert_allclose(normalized, (given - batch_mean) / np.sqrt(batch_variance + 1e-3), atol=1e-4)
    np.testing.assert_allclose(moved[0], 0.1 * batch_mean, rtol=1e-4)
    np.testing.assert_allclose(moved[1], 0.9 + 0.1 * batch_variance * count / (count - 1), rtol=1e-4)
    np.testing.assert_allclose(at_rest, (given - moved[0]) / np.sqrt(moved[1] + 1e-3), rtol=1e-4, atol=1e-4)


def test_layer_norm_and_unit_norm() -> None:
    given = RNG.normal(size=(3, 4)).astype("f")
    normed, unit = values(layers.layer_norm(tf.constant(given)), layers.unit_norm(tf.constant(given), 1))
    centered = given - given.mean(1, keepdims=True)
    np.testing.assert_allclose(normed, centered / given.std(1, keepdims=True), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose((unit**2).sum(1), 1.0, rtol=1e-4)


def test_arg_scopes() -> None:
    @framework.add_arg_scope
    def function(a: Any, b: int = 1, c: int = 2) -> Any:
        return a, b, c

    with framework.arg_scope([function], b=3, c=4) as outer:
        with framework.arg_scope([function], c=5):
            assert [function(0), function(0, c=6)] == [(0, 3, 5), (0, 3, 6)]
        assert function(0) == (0, 3, 4)
    assert function(0) == (0, 1, 2)
    with framework.arg_scope(outer):
        assert function(0) == (0, 3, 4)
    assert framework.has_arg_scope(function)
    assert framework.arg_scoped_arguments(function) == ("a", "b", "c")
    with pytest.raises(ValueError, match="not decorated"), framework.arg_scope([tf.add], b=1):
        pass
    with pytest.raises(TypeError, match="list/tuple"), framework.arg_scope(function, b=1):
        pass
    with pytest.raises(ValueError, match="kwargs must be empty"), framework.arg_scope(outer, b=1):
        pass


def test_optimize_loss() -> None:
    v = tf.get_variable("v", initializer=[2.0, 0.0])
    step = tf.train.get_or_create_global_step()
    train = layers.optimize_loss(
        tf.reduce_sum(v * v), step, 0.5, "SGD", clip_gradients=1.0, gradient_multipliers={"v": 2.0}
    )
    assert "OptimizeLoss/learning_rate" in names()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(train) == 4.0
        np.testing.assert_allclose(session.run(v), [1.5, 0.0])
        assert session.run(step) == 1
    for wrong in ({"optimizer": "Gradient"}, {"learning_rate": -1.0}, {"summaries": ["norm"]}):
        arguments = {"learning_rate": 0.5, "optimizer": "SGD", **wrong}
        with pytest.raises(ValueError, match=r"Optimizer name|Invalid learning|Summaries should"):
            layers.optimize_loss(tf.reduce_sum(v), step, **arguments)


def test_assignment_from_checkpoints(tmp_path: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        framework.model_variable("net/w", initializer=tf.constant([1.0, 2.0]))
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    w = framework.model_variable("net/w", shape=[2])
    other = framework.model_variable("other", initializer=[5.0])
    with pytest.raises(ValueError, match="missing variable"):
        framework.assign_from_checkpoint(path, [w, other])
    operation, feeds = framework.assign_from_checkpoint(path, [w, other], ignore_missing_vars=True)
    init = framework.assign_from_checkpoint_fn(path, {"net/w": w, "x": other}, ignore_missing_vars=True)
    with tf.Session() as session:
        session.run(operation, feeds)
        assert session.run(w).tolist() == [1.0, 2.0]
        framework.assign_from_values_fn({"net/w": np.array([7.0, 8.0])})(session)
        assert session.run(w).tolist() == [7.0, 8.0]
        init(session)
        assert session.run(w).tolist() == [1.0, 2.0]


def test_hparams() -> None:
    params = tf.contrib.training.HParams(rate=0.1, steps=10, sizes=[1, 2], name="a", wide=True)
    params.parse("rate=1,sizes=[3,4,5],name=b c,wide=false").parse("sizes[1]=7")
    assert params.values() == {"rate": 1.0, "steps": 10, "sizes": [3, 7, 5], "name": "b c", "wide": False}
    assert isinstance(params.rate, float)
    assert "steps" in params
    assert params.get("none", 3) == 3
    assert tf.contrib.training.HParams(rate=0.5).parse_json('{"rate": 2}').to_json() == '{"rate": 2.0}'
    for text in ("steps=1.5", "unknown=1", "rate=1,rate=2", "rate", "wide=maybe"):
        with pytest.raises(ValueError, match=r"Could not parse|Unknown|Multiple|Malformed"):
            params.parse(text)
    with pytest.raises(ValueError, match="reserved"):
        params.add_hparam("rate", 3)
    with pytest.raises(ValueError, match="pass a list"):
        params.set_hparam("rate", [1.0])


def test_variables_by_iterators(tmp_path: Any) -> None:
    v, w = tf.get_variable("v", [1]), tf.get_variable("w", [1])
    loss = tf.reduce_sum(v) + tf.reduce_sum(w)
    for given in (iter([v]), {v}, {"a": v}.values(), (x for x in [v])):
        train = tf.train.GradientDescentOptimizer(0.1)
        assert [x for _, x in train.compute_gradients(loss, given)] == [v]
    with tf.Session() as session:
        session.run(tf.variables_initializer(x for x in (v, w)))
        path = tf.train.Saver(x for x in [v]).save(session, str(tmp_path / "model"))
    assert [name for name, _ in tf.train.list_variables(path)] == ["v"]
