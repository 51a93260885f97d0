"""Programs that use `tf.layers`: functions of a TensorFlow that return the tensors to compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Program = Callable[[Any], Any]

_random = np.random.default_rng(11)


def floats(*shape: int) -> np.ndarray:
    return _random.normal(size=shape).astype(np.float32)


FLAT, SEQUENCE = floats(4, 3), floats(2, 9, 3)
IMAGES, VOLUMES = floats(2, 7, 8, 3), floats(2, 4, 5, 6, 2)


def _square(weights: Any) -> Any:
    return 0.5 * (weights**2)[0, 0]


def _dense(tf: Any) -> Any:
    x = tf.constant(FLAT)
    hidden = tf.layers.dense(x, 5, activation=tf.nn.relu, kernel_regularizer=_square)
    return tf.layers.dense(hidden, 2, use_bias=False, activation="tanh", name="out")


def _dense_rank_3(tf: Any) -> Any:
    return tf.layers.dense(tf.constant(SEQUENCE), 4, activation=tf.sigmoid)


def _dense_reuse(tf: Any) -> Any:
    x = tf.constant(FLAT)
    first = tf.layers.dense(x, 3, name="shared")
    second = tf.layers.dense(first, 3, name="shared", reuse=True)
    with tf.variable_scope("outer"):
        third = tf.layers.dense(second, 3)
    with tf.variable_scope("outer", reuse=True):
        return tf.layers.dense(third, 3)


def _dense_auto_reuse(tf: Any) -> Any:
    x = tf.constant(FLAT)
    for _ in range(2):
        with tf.variable_scope("tower", reuse=tf.AUTO_REUSE):
            x = tf.layers.dense(x, 3, name="layer")
    return x


def _dense_class(tf: Any) -> Any:
    layer = tf.layers.Dense(
        3, bias_regularizer=lambda b: tf.reduce_sum(b), activity_regularizer=tf.reduce_mean
    )
    return layer(layer.apply(tf.constant(FLAT)))


def _dense_scope_defaults(tf: Any) -> Any:
    with tf.variable_scope("scope", initializer=tf.ones_initializer(), regularizer=tf.reduce_sum):
        return tf.layers.dense(tf.constant(FLAT), 2)


def _dense_partitioned(tf: Any) -> Any:
    with tf.variable_scope("scope", partitioner=tf.fixed_size_partitioner(2)):
        return tf.layers.dense(tf.constant(FLAT), 4, kernel_regularizer=lambda w: tf.reduce_sum(w * w))


def _frozen(tf: Any) -> Any:
    return tf.layers.dense(tf.constant(FLAT), 2, trainable=False) + tf.layers.dense(tf.constant(FLAT), 2)


def _own_layer(tf: Any) -> Any:
    class Scaled(tf.layers.Layer):  # type: ignore[misc]
        def build(self, shape: Any) -> None:
            self.factor = self.add_weight("factor", [int(shape[-1])], initializer=tf.ones_initializer())
            self.offset = self.add_variable("offset", [], trainable=False)
            super().build(shape)

        def call(self, inputs: Any) -> Any:
            self.add_loss(tf.reduce_sum(inputs))
            self.add_update(tf.assign_add(self.offset, 1.0))
            return inputs * self.factor

    layer = Scaled()
    return layer(layer(tf.constant(FLAT)))


def _conv(function: str, inputs: np.ndarray, *args: Any, **kwargs: Any) -> Program:
    return lambda tf: getattr(tf.layers, function)(tf.constant(inputs), *args, **kwargs)


def _batch_norm(inputs: np.ndarray, training: Any, **kwargs: Any) -> Program:
    def program(tf: Any) -> Any:
        flag = training
        if training in ("true", "false"):
            flag = tf.placeholder_with_default(training == "true", [])
        return tf.layers.batch_normalization(tf.constant(inputs), training=flag, **kwargs)

    return program


PROGRAMS: dict[str, Program] = {
    "dense": _dense,
    "dense_rank_3": _dense_rank_3,
    "dense_reuse": _dense_reuse,
    "dense_auto_reuse": _dense_auto_reuse,
    "dense_class": _dense_class,
    "dense_scope_defaults": _dense_scope_defaults,
    "dense_partitioned": _dense_partitioned,
    "frozen": _frozen,
    "own_layer": _own_layer,
    "flatten": _conv("flatten", IMAGES),
    "flatten_first": _conv("flatten", IMAGES, data_format="channels_first"),
    "dropout_off": _conv("dropout", FLAT, 0.3),
    "conv1d": _conv("conv1d", SEQUENCE, 4, 3, activation="relu"),
    "conv1d_same": _conv("conv1d", SEQUENCE, 4, 3, strides=2, padding="same", use_bias=False),
    "conv1d_dilated": _conv("conv1d", SEQUENCE, 4, 3, dilation_rate=2),
    "conv2d": _conv("conv2d", IMAGES, 4, 3, padding="SAME", kernel_regularizer=lambda w: w[0, 0, 0, 0]),
    "conv2d_strides": _conv("conv2d", IMAGES, 4, (3, 2), strides=(2, 1), name="named"),
    "conv2d_dilated": _conv("conv2d", IMAGES, 4, 3, dilation_rate=(2, 1)),
    "conv3d": _conv("conv3d", VOLUMES, 3, 2, strides=(1, 2, 1), padding="same"),
    "separable1d": _conv("separable_conv1d", SEQUENCE, 4, 3, depth_multiplier=2),
    "separable2d": _conv("separable_conv2d", IMAGES, 4, 3, depth_multiplier=2, padding="same"),
    "transpose2d": _conv("conv2d_transpose", IMAGES, 4, 3, strides=2, padding="same"),
    "transpose2d_valid": _conv("conv2d_transpose", IMAGES, 4, (3, 2), strides=(2, 1)),
    "transpose3d": _conv("conv3d_transpose", VOLUMES, 3, 2, strides=2, padding="same"),
    "max1d": _conv("max_pooling1d", SEQUENCE, 2, 2),
    "max2d": _conv("max_pooling2d", IMAGES, 3, 2, padding="same"),
    "max3d": _conv("max_pooling3d", VOLUMES, 2, 2),
    "average1d": _conv("average_pooling1d", SEQUENCE, 3, 1, padding="same"),
    "average2d": _conv("average_pooling2d", IMAGES, (2, 3), (2, 1)),
    "average3d": _conv("average_pooling3d", VOLUMES, 2, 1),
    "norm_train": _batch_norm(IMAGES, True),
    "norm_infer": _batch_norm(IMAGES, False),
    "norm_tensor_true": _batch_norm(IMAGES, "true"),
    "norm_tensor_false": _batch_norm(IMAGES, "false"),
    "norm_plain_train": _batch_norm(FLAT, True, momentum=0.8, epsilon=0.01),
    "norm_plain_infer": _batch_norm(FLAT, False, scale=False),
    "norm_plain_true": _batch_norm(FLAT, "true", center=False),
    "norm_plain_false": _batch_norm(FLAT, "false"),
    "norm_axis_1": _batch_norm(SEQUENCE, True, axis=1),
    "norm_axes": _batch_norm(SEQUENCE, True, axis=[1, 2]),
    "norm_not_fused": _batch_norm(IMAGES, True, fused=False, gamma_regularizer=lambda g: g[0] * g[0]),
}

WITHOUT_GRADIENTS = {"conv1d_dilated", "conv2d_dilated"}
"""TensorFlow differentiates dilated convolutions on GPUs only."""

ERRORS: dict[str, Program] = {
    "units": lambda tf: tf.layers.Dense(-1),
    "rank": lambda tf: tf.layers.dense(tf.zeros([3]), 2),
    "unknown_depth": lambda tf: tf.layers.dense(tf.placeholder(tf.float32, [2, None]), 2),
    "other_depth": lambda tf: [layer(tf.zeros([1, n])) for layer in [tf.layers.Dense(2)] for n in (2, 3)],
    "twice": lambda tf: [tf.layers.dense(tf.zeros([1, 2]), 2, name="a") for _ in range(2)],
    "not_there": lambda tf: tf.layers.dense(tf.zeros([1, 2]), 2, name="a", reuse=True),
    "scope_name": lambda tf: tf.layers.Dense(2).scope_name,
    "dtype": lambda tf: tf.layers.dense(tf.zeros([1, 2], tf.int32), 2),
    "keyword": lambda tf: tf.layers.Dense(2, other=1),
    "padding": lambda tf: tf.layers.Conv2D(2, 3, padding="full"),
    "kernel_size": lambda tf: tf.layers.Conv2D(2, (3, 3, 3)),
    "data_format": lambda tf: tf.layers.Conv2D(2, 3, data_format="NHWC"),
    "conv_rank": lambda tf: tf.layers.conv2d(tf.zeros([2, 3, 3]), 2, 3),
}
