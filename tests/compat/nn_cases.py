"""Calls of `tf.nn` functions, with the inputs to give them and to differentiate by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Call = Callable[..., Any]

_random = np.random.default_rng(5)


def floats(*shape: int) -> np.ndarray:
    return _random.normal(size=shape).astype(np.float32)


def positive(*shape: int) -> np.ndarray:
    return np.abs(floats(*shape)) + np.float32(0.5)


X, W = floats(2, 7, 8, 4), floats(3, 2, 4, 6)
EXPLICIT = [[0, 0], [2, 1], [0, 3], [0, 0]]
ONE_HOT = np.eye(5, dtype=np.float32)[[0, 3, 1]]

CASES: dict[str, tuple[Call, tuple[np.ndarray, ...]]] = {
    "conv_same": (lambda nn, x, w: nn.conv2d(x, w, [1, 1, 1, 1], "SAME"), (X, W)),
    "conv_valid": (lambda nn, x, w: nn.conv2d(x, w, 1, "VALID"), (X, W)),
    "conv_strides": (lambda nn, x, w: nn.conv2d(x, w, [2, 3], "SAME"), (X, W)),
    "conv_strides_valid": (lambda nn, x, w: nn.conv2d(x, w, 2, "VALID"), (X, W)),
    "conv_explicit": (lambda nn, x, w: nn.conv2d(x, w, 1, EXPLICIT), (X, W)),
    "conv_pointwise": (lambda nn, x, w: nn.conv2d(x, w, 2, "SAME"), (X, floats(1, 1, 4, 3))),
    "conv_large": (lambda nn, x, w: nn.conv2d(x, w, 1, "SAME"), (floats(9, 28, 28, 8), floats(3, 3, 8, 16))),
    "conv_transpose": (
        lambda nn, x, w: nn.conv2d_transpose(x, w, [2, 14, 16, 3], 2),
        (X, floats(3, 3, 3, 4)),
    ),
    "conv_backprop_filter": (
        lambda nn, x, y: nn.conv2d_backprop_filter(x, [3, 2, 4, 5], y, [1, 1, 1, 1], "SAME"),
        (X, floats(2, 7, 8, 5)),
    ),
    "depthwise": (lambda nn, x, w: nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME"), (X, floats(3, 3, 4, 2))),
    "depthwise_strides": (
        lambda nn, x, w: nn.depthwise_conv2d(x, w, [1, 2, 2, 1], "VALID"),
        (X, floats(3, 3, 4, 2)),
    ),
    "separable": (
        lambda nn, x, d, p: nn.separable_conv2d(x, d, p, [1, 1, 1, 1], "SAME"),
        (X, floats(3, 3, 4, 2), floats(1, 1, 8, 3)),
    ),
    "max_pool": (lambda nn, x: nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), (X,)),
    "max_pool_overlapping": (lambda nn, x: nn.max_pool(x, 3, 2, "VALID"), (X,)),
    "max_pool_ties": (lambda nn, x: nn.max_pool(x, 3, 1, "SAME"), (np.round(X),)),
    "max_pool_explicit": (lambda nn, x: nn.max_pool(x, 2, 2, [[0, 0], [1, 0], [0, 1], [0, 0]]), (X,)),
    "avg_pool": (lambda nn, x: nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), (X,)),
    "avg_pool_overlapping": (lambda nn, x: nn.avg_pool(x, 3, [1, 2, 1, 1], "SAME"), (X,)),
    "avg_pool_valid": (lambda nn, x: nn.avg_pool(x, 3, 2, "VALID"), (X,)),
    "batch_norm": (
        lambda nn, x, s, o: nn.fused_batch_norm(x, s, o)[0],
        (X, positive(4), floats(4)),
    ),
    "batch_norm_statistics": (
        lambda nn, x, s, o: list(nn.fused_batch_norm(x, s, o, epsilon=0.01))[1:],
        (X, positive(4), floats(4)),
    ),
    "batch_norm_inference": (
        lambda nn, x, s, o, m, v: nn.fused_batch_norm(x, s, o, m, v, is_training=False)[0],
        (X, positive(4), floats(4), floats(4), positive(4)),
    ),
    "batch_norm_running": (
        lambda nn, x, s, o, m, v: list(nn.fused_batch_norm(x, s, o, m, v, exponential_avg_factor=0.3)),
        (X, positive(4), floats(4), floats(4), positive(4)),
    ),
    "batch_normalization": (
        lambda nn, x, m, v, o, s: nn.batch_normalization(x, m, v, o, s, 1e-3),
        (X, floats(4), positive(4), floats(4), floats(4)),
    ),
    "moments": (lambda nn, x: list(nn.moments(x, [0, 2])), (X,)),
    "moments_keep": (lambda nn, x: list(nn.moments(x, [1], keep_dims=True)), (X,)),
    "l2_normalize": (lambda nn, x: nn.l2_normalize(x, 1), (X,)),
    "softmax_xent": (
        lambda nn, x, y: nn.softmax_cross_entropy_with_logits(labels=y, logits=x),
        (floats(3, 5), ONE_HOT),
    ),
    "softmax_xent_v2": (
        lambda nn, x, y: nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x),
        (floats(3, 5), positive(3, 5)),
    ),
    "softmax_xent_rank_3": (
        lambda nn, x, y: nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x, axis=1),
        (floats(3, 5, 2), positive(3, 5, 2)),
    ),
    "softmax_xent_large": (
        lambda nn, x, y: nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x * 30),
        (floats(700, 500), positive(700, 500)),
    ),
    "sparse_xent": (
        lambda nn, x: nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 3, 4], logits=x),
        (floats(3, 5),),
    ),
    "sparse_xent_rank_3": (
        lambda nn, x: nn.sparse_softmax_cross_entropy_with_logits(labels=[[0, 3], [1, 1]], logits=x),
        (floats(2, 2, 5),),
    ),
    "sparse_xent_large": (
        lambda nn, x: nn.sparse_softmax_cross_entropy_with_logits(labels=np.arange(700) % 500, logits=x),
        (floats(700, 500),),
    ),
    "sigmoid_xent": (
        lambda nn, x, y: nn.sigmoid_cross_entropy_with_logits(labels=y, logits=x * 20),
        (floats(3, 5), positive(3, 5)),
    ),
    "weighted_xent": (
        lambda nn, x, y: nn.weighted_cross_entropy_with_logits(y, x, 2.5),
        (floats(3, 5), positive(3, 5)),
    ),
    "relu_layer": (lambda nn, x, w, b: nn.relu_layer(x, w, b), (floats(3, 5), floats(5, 2), floats(2))),
    "xw_plus_b": (lambda nn, x, w, b: nn.xw_plus_b(x, w, b), (floats(3, 5), floats(5, 2), floats(2))),
    "embedding": (lambda nn, p: nn.embedding_lookup(p, [[1, 3], [3, 0]]), (floats(5, 2),)),
    "embedding_mod": (
        lambda nn, a, b, c: nn.embedding_lookup([a, b, c], [1, 3, 3, 6, 5]),
        (floats(3, 2), floats(2, 2), floats(2, 2)),
    ),
    "embedding_div": (
        lambda nn, a, b, c: nn.embedding_lookup([a, b, c], [[1, 3], [6, 5]], partition_strategy="div"),
        (floats(3, 2), floats(2, 2), floats(2, 2)),
    ),
    "embedding_norm": (lambda nn, p: nn.embedding_lookup(p, [1, 3], max_norm=1.0), (floats(5, 2),)),
    "embedding_norm_parts": (
        lambda nn, a, b: nn.embedding_lookup([a, b], [1, 3, 0], max_norm=1.0),
        (floats(3, 2), floats(2, 2)),
    ),
}

ERRORS: dict[str, Call] = {
    "depth": lambda tf: tf.nn.conv2d(tf.zeros([1, 4, 4, 3]), tf.zeros([2, 2, 4, 1]), 1, "SAME"),
    "too_small": lambda tf: tf.nn.conv2d(tf.zeros([1, 2, 4, 3]), tf.zeros([3, 2, 3, 1]), 1, "VALID"),
    "rank": lambda tf: tf.nn.conv2d(tf.zeros([4, 4, 3]), tf.zeros([2, 2, 4]), 1, "SAME"),
    "pool_rank": lambda tf: tf.nn.max_pool(tf.zeros([4, 4]), 2, 2, "SAME"),
    "labels_missing": lambda tf: tf.nn.softmax_cross_entropy_with_logits(logits=tf.zeros([2, 3])),
    "sparse_rank": lambda tf: tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.zeros([2, 3], tf.int32), logits=tf.zeros([2, 3])
    ),
    "sigmoid_shape": lambda tf: tf.nn.sigmoid_cross_entropy_with_logits(
        labels=tf.zeros([2, 3]), logits=tf.zeros([2, 4])
    ),
    "dropout_rate": lambda tf: tf.nn.dropout(tf.zeros([2]), rate=1.5),
    "dropout_missing": lambda tf: tf.nn.dropout(tf.zeros([2])),
    "dropout_dtype": lambda tf: tf.nn.dropout(tf.zeros([2], tf.int32), rate=0.5),
    "norm_mean": lambda tf: tf.nn.fused_batch_norm(
        tf.zeros([1, 2, 2, 3]), tf.zeros([3]), tf.zeros([3]), is_training=False
    ),
    "embedding_none": lambda tf: tf.nn.embedding_lookup(None, [1]),
    "embedding_strategy": lambda tf: tf.nn.embedding_lookup(
        [tf.zeros([2, 2]), tf.zeros([2, 2])], [1], partition_strategy="other"
    ),
}
