"""Pooling with sizes of windows as inputs, and second gradients of pooling of volumes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.op_programs import Maker, program

F = np.float32
I = np.int32  # noqa: E741
random = np.random.RandomState(6)
IMAGES = random.permutation(120).astype(F).reshape(2, 5, 4, 3)
VOLUMES = random.permutation(2 * 4 * 3 * 4 * 2).astype(F).reshape(2, 4, 3, 4, 2)
KSIZE, STRIDES = I([1, 3, 2, 1]), I([1, 2, 2, 1])


def _pooled(padding: str) -> None:
    def made(make: Maker) -> Any:
        x = make.tf.constant(IMAGES)
        y = make("MaxPoolV2", x, KSIZE, STRIDES, padding=padding)
        grad = make("MaxPoolGradV2", x, y, y * 2, KSIZE, STRIDES, padding=padding)
        again = make("MaxPoolGradGradV2", x, y, x * 3, KSIZE, STRIDES, padding=padding)
        return y, grad, again, make("MaxPoolV2", x, make.fed(KSIZE), make.fed(STRIDES), padding=padding)

    made.__name__ = f"max_pool_by_size_{padding}"
    program("MaxPoolV2", "MaxPoolGradV2", "MaxPoolGradGradV2")(made)


for _padding in ("SAME", "VALID"):
    _pooled(_padding)


@program("MaxPoolV2", "MaxPoolGradV2")
def gradients_of_max_pool_by_size(make: Maker) -> Any:
    tf = make.tf
    x = tf.constant(IMAGES)
    y = make("MaxPoolV2", x, KSIZE, STRIDES, padding="SAME")
    (first,) = tf.gradients(y**2, x)
    return first, tf.gradients(first * x, x)


@program("MaxPoolV2")
def max_pool_over_the_batch(make: Maker) -> Any:
    return make("MaxPoolV2", make.fed(IMAGES), make.fed(I([2, 1, 1, 1])), make.fed(STRIDES), padding="SAME")


@program("MaxPoolV2")
def max_pool_with_three_sizes(make: Maker) -> Any:
    return make("MaxPoolV2", make.fed(IMAGES), make.fed(I([2, 1, 1])), make.fed(STRIDES), padding="SAME")


@program("MaxPool3DGradGrad", rtol=1e-6)
def second_gradients_of_max_pool_of_volumes(make: Maker) -> Any:
    tf = make.tf
    x = tf.constant(VOLUMES)
    attrs = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 1, 2, 1], "padding": "SAME"}
    y = make("MaxPool3D", x, **attrs)
    (first,) = tf.gradients(y**2, x)
    return first, tf.gradients(first * x, x), make("MaxPool3DGradGrad", x, y, x * 3, **attrs)
