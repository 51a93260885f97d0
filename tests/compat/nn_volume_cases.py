"""Calls of `tf.nn` functions over volumes and sequences, of neighbours and places, and of statistics."""

from __future__ import annotations

import numpy as np

from tests.compat.nn_cases import Call, floats

V, K = floats(2, 4, 5, 6, 3), floats(2, 3, 2, 3, 4)
S, F = floats(2, 9, 3), floats(4, 3, 5)
X = floats(2, 7, 8, 4)

CASES: dict[str, tuple[Call, tuple[np.ndarray, ...]]] = {
    "conv3d_same": (lambda nn, x, w: nn.conv3d(x, w, [1, 1, 1, 1, 1], "SAME"), (V, K)),
    "conv3d_valid": (lambda nn, x, w: nn.conv3d(x, w, [1, 2, 1, 2, 1], "VALID"), (V, K)),
    "conv3d_strides": (lambda nn, x, w: nn.conv3d(x, w, [1, 2, 3, 2, 1], "SAME"), (V, K)),
    "conv3d_pointwise": (lambda nn, x, w: nn.conv3d(x, w, [1] * 5, "SAME"), (V, floats(1, 1, 1, 3, 2))),
    "conv3d_transpose": (
        lambda nn, x, w: nn.conv3d_transpose(x, w, [2, 8, 5, 12, 4], [1, 2, 1, 2, 1]),
        (V, floats(2, 3, 2, 4, 3)),
    ),
    "conv3d_backprop_filter": (
        lambda nn, x, y: nn.conv3d_backprop_filter(x, [2, 3, 2, 3, 5], y, [1] * 5, "SAME"),
        (V, floats(2, 4, 5, 6, 5)),
    ),
    "max_pool3d": (lambda nn, x: nn.max_pool3d(x, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "SAME"), (V,)),
    "max_pool3d_overlapping": (lambda nn, x: nn.max_pool3d(x, 3, 2, "SAME"), (V,)),
    "avg_pool3d": (lambda nn, x: nn.avg_pool3d(x, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "SAME"), (V,)),
    "avg_pool3d_valid": (lambda nn, x: nn.avg_pool3d(x, [2, 3, 2], 1, "VALID"), (V,)),
    "conv1d": (lambda nn, x, w: nn.conv1d(x, w, 1, "SAME"), (S, F)),
    "conv1d_stride": (lambda nn, x, w: nn.conv1d(x, w, stride=2, padding="VALID"), (S, F)),
    "conv1d_dilated": (lambda nn, x, w: nn.conv1d(x, w, 1, "SAME", dilations=2), (S, F)),
    "conv1d_transpose": (
        lambda nn, x, w: nn.conv1d_transpose(x, w, [2, 18, 5], 2),
        (S, floats(4, 5, 3)),
    ),
    "conv_transpose_1": (
        lambda nn, x, w: nn.conv_transpose(x, w, [2, 18, 5], 2),
        (S, floats(4, 5, 3)),
    ),
    "conv_transpose_2": (
        lambda nn, x, w: nn.conv_transpose(x, w, [2, 14, 16, 3], 2),
        (X, floats(3, 3, 3, 4)),
    ),
    "convolution_1": (lambda nn, x, w: nn.convolution(x, w, "SAME", strides=[2]), (S, F)),
    "convolution_2": (lambda nn, x, w: nn.convolution(x, w, "VALID"), (X, floats(3, 2, 4, 5))),
    "convolution_2_dilated": (
        lambda nn, x, w: nn.convolution(x, w, "SAME", dilation_rate=[2, 3]),
        (X, floats(3, 2, 4, 5)),
    ),
    "convolution_3": (lambda nn, x, w: nn.convolution(x, w, "SAME", strides=[1, 2, 1]), (V, K)),
    "atrous": (lambda nn, x, w: nn.atrous_conv2d(x, w, 2, "VALID"), (X, floats(3, 2, 4, 5))),
    "atrous_transpose": (
        lambda nn, x, w: nn.atrous_conv2d_transpose(x, w, [2, 7, 8, 5], 2, "SAME"),
        (X, floats(3, 2, 5, 4)),
    ),
    "max_pool1d": (lambda nn, x: nn.max_pool1d(x, 2, 2, "SAME"), (S,)),
    "avg_pool1d": (lambda nn, x: nn.avg_pool1d(x, [3], [2], "VALID"), (S,)),
    "pool_max": (lambda nn, x: nn.pool(x, [2, 3], "MAX", "SAME", strides=[2, 1]), (X,)),
    "pool_avg": (lambda nn, x: nn.pool(x, [2, 2, 2], "AVG", "VALID"), (V,)),
    "lrn": (lambda nn, x: nn.lrn(x, depth_radius=1, bias=1.5, alpha=0.7, beta=0.6), (X,)),
    "lrn_default": (lambda nn, x: nn.local_response_normalization(x), (floats(1, 2, 3, 9),)),
    "swish": (lambda nn, x: nn.swish(x), (S,)),
    "silu_beta": (lambda nn, x: nn.silu(x, 0.5), (S,)),
    "weighted_mean": (lambda nn, x, w: nn.weighted_moments(x, [0, 1], w)[0], (S, abs(floats(2, 1, 1)))),
    "weighted_variance": (
        lambda nn, x, w: nn.weighted_moments(x, 1, w, keep_dims=True)[1],
        (S, abs(floats(9, 1))),
    ),
    "normalized_mean": (
        lambda nn, x: nn.normalize_moments(*nn.sufficient_statistics(x, [0, 1], shift=0.5))[0],
        (S,),
    ),
    "normalized_variance": (
        lambda nn, x: nn.normalize_moments(*nn.sufficient_statistics(x, [1], keep_dims=True))[1],
        (S,),
    ),
    "poisson": (lambda nn, x, t: nn.log_poisson_loss(t * t, x), (S, floats(2, 9, 3))),
    "poisson_full": (
        lambda nn, x, t: nn.log_poisson_loss(t * t + 0.5, x, compute_full_loss=True),
        (S, floats(2, 9, 3)),
    ),
    "global_norm": (
        lambda nn, x, m, v, b, g: nn.batch_norm_with_global_normalization(x, m, v, b, g, 0.01, True),
        (X, floats(4), abs(floats(4)), floats(4), floats(4)),
    ),
    "argmax": (lambda nn, x: nn.max_pool_with_argmax(x, [1, 3, 2, 1], [1, 2, 2, 1], "SAME")[0], (X,)),
}
"""By name: a function of `nn` and tensors, and the tensors' values."""

WITHOUT_GRADIENTS = {"conv1d_dilated", "convolution_2_dilated", "atrous", "atrous_transpose"}
"""TensorFlow differentiates dilated convolutions on GPUs only; central differences check ours."""

ERRORS: dict[str, Call] = {
    "conv3d_depth": lambda tf: tf.nn.conv3d(
        tf.zeros([1, 4, 4, 4, 3]), tf.zeros([2, 2, 2, 4, 1]), [1] * 5, "SAME"
    ),
    "convolution_both": lambda tf: tf.nn.convolution(
        tf.zeros([1, 4, 4, 3]), tf.zeros([2, 2, 3, 1]), "SAME", strides=[2, 2], dilation_rate=[2, 2]
    ),
    "argmax_format": lambda tf: tf.nn.max_pool_with_argmax(
        tf.zeros([1, 4, 4, 3]), 2, 2, "SAME", data_format="NCHW"
    ),
}
