"""The networks of slim: their variables, as checkpoints of TensorFlow have them, and what they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorfleet as tf

slim = tf.contrib.slim
nets = slim.nets


# Variables, parameters and end points as tf_slim 1.1 has them, for 10 classes.
@pytest.mark.parametrize(
    ("module", "name", "scope", "variables", "parameters", "shape"),
    [
        ("vgg", "vgg_a", "vgg_arg_scope", 22, 128_807_306, [2, 10]),
        ("alexnet", "alexnet_v2", "alexnet_v2_arg_scope", 16, 46_247_882, [2, 10]),
        ("overfeat", "overfeat", "overfeat_arg_scope", 16, 141_648_394, [2, 10]),
        ("resnet_v1", "resnet_v1_50", "resnet_arg_scope", 267, 23_581_642, [2, 1, 1, 10]),
        ("inception", "inception_v3", "inception_v3_arg_scope", 388, 24_389_556, [2, 10]),
    ],
)
def test_variables_of_a_network(
    module: str, name: str, scope: str, variables: int, parameters: int, shape: list[int]
) -> None:
    found = getattr(nets, module)
    network = getattr(found, name)
    with tf.Graph().as_default(), slim.arg_scope(getattr(found, scope)()):
        size = network.default_image_size
        logits, _ = network(tf.placeholder(tf.float32, [2, size, size, 3]), num_classes=10)
        made = tf.global_variables()
        sizes = [int(np.prod(v.shape.as_list())) for v in made]
        assert (len(made), sum(sizes), logits.shape.as_list()) == (variables, parameters, shape)


def test_names_of_layers_and_end_points() -> None:
    with tf.Graph().as_default(), slim.arg_scope(nets.resnet_v2.resnet_arg_scope()):
        images = tf.placeholder(tf.float32, [1, 33, 33, 3])
        net, points = nets.resnet_v2.resnet_v2_50(images, None, global_pool=False, output_stride=8)
        names = {v.op.name for v in tf.global_variables()}
    assert net.shape.as_list() == [1, 5, 5, 2048]
    unit = "resnet_v2_50/block1/unit_1/bottleneck_v2"
    assert {f"{unit}/shortcut/biases", f"{unit}/conv1/BatchNorm/gamma", f"{unit}/preact/beta"} <= names
    assert "resnet_v2_50/conv1/biases" in names
    assert points["resnet_v2_50/block4"].shape.as_list() == [1, 5, 5, 2048]
    with tf.Graph().as_default(), slim.arg_scope(nets.inception.inception_v2_arg_scope()):
        images = tf.placeholder(tf.float32, [1, 96, 96, 3])
        net, points = nets.inception.inception_v2_base(images, "Mixed_4a", depth_multiplier=0.5)
        assert net.shape.as_list() == [1, 6, 6, 80 + 48 + 160]
        assert list(points)[:2] == ["Conv2d_1a_7x7", "MaxPool_2a_3x3"]
        with pytest.raises(ValueError, match="Unknown final endpoint Mixed_9z"):
            nets.inception.inception_v1_base(images, "Mixed_9z")
        with pytest.raises(ValueError, match="depth_multiplier"):
            nets.inception.inception_v3(images, depth_multiplier=0)


def test_a_residual_unit_computes_what_its_layers_say() -> None:
    rng = np.random.default_rng(0)
    given = rng.normal(size=(2, 4, 4, 8)).astype("f")
    with tf.Graph().as_default(), tf.Session() as session:
        unit = nets.resnet_v1.bottleneck
        with slim.arg_scope([slim.conv2d], normalizer_fn=None):
            same: Any = unit(tf.constant(given), 8, 2, stride=2, scope="u")
        session.run(tf.global_variables_initializer())
        values = {v.op.name[2:]: session.run(v) for v in tf.global_variables()}
        out = session.run(same)
    hidden = np.maximum(given @ values["conv1/weights"][0, 0] + values["conv1/biases"], 0)
    padded = np.pad(hidden, [(0, 0), (1, 1), (1, 1), (0, 0)])
    strided = np.stack(
        [
            np.einsum("bijc,ijcd->bd", padded[:, r : r + 3, c : c + 3], values["conv2/weights"])
            for r in (0, 2)
            for c in (0, 2)
        ],
        1,
    ).reshape(2, 2, 2, 2)
    strided = np.maximum(strided + values["conv2/biases"], 0)
    last = strided @ values["conv3/weights"][0, 0] + values["conv3/biases"]
    np.testing.assert_allclose(out, np.maximum(given[:, ::2, ::2] + last, 0), rtol=1e-4, atol=1e-5)
