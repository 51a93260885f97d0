"""The ops that docs/benchmark_kernels.py times: `cases(tf)` gives for each the function that builds it.

A function is called with the number of elements and returns what a step computes. It takes variables, so that
nothing is folded, and nothing is fetched. The names need no module: `cases(None)` has them, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Build = Callable[[int], Any]

UNARY = (
    *(
        "abs",
        "negative",
        "sign",
        "square",
        "sqrt",
        "rsqrt",
        "reciprocal",
        "exp",
        "expm1",
        "log",
        "log1p",
        "tanh",
    ),
    *("sigmoid", "sin", "cos", "tan", "atan", "erf", "lgamma", "floor", "ceil", "round"),
)
ACTIVATIONS = ("relu", "relu6", "leaky_relu", "elu", "selu", "softplus", "softsign")
BINARY = (
    *("add", "subtract", "multiply", "divide", "maximum", "minimum", "pow", "squared_difference", "floordiv"),
    *("floormod", "less", "greater_equal", "equal", "not_equal", "atan2"),
)
GRADIENTS = (
    *("ReluGrad", "Relu6Grad", "EluGrad", "SeluGrad", "TanhGrad", "SigmoidGrad", "SoftplusGrad", "RsqrtGrad"),
    "SqrtGrad",
)


class Operands:
    """Makes the variables that ops take."""

    def __init__(self, tf: Any) -> None:
        self.tf = tf

    def floats(self, *shape: int, low: float = 0.1, high: float = 1.0, dtype: Any = None) -> Any:
        values = self.tf.random_uniform(shape, low, high, seed=1)
        return self.tf.Variable(values if dtype is None else self.tf.cast(values, dtype))

    def ints(self, below: int, *shape: int, dtype: Any = None) -> Any:
        return self.tf.Variable(
            self.tf.random_uniform(shape, 0, below, dtype or self.tf.int32, seed=1), trainable=False
        )

    def bools(self, *shape: int) -> Any:
        return self.tf.Variable(self.tf.random_uniform(shape, seed=1) > 0.5, trainable=False)

    def node(self, op: str, *inputs: Any) -> Any:
        """An op that has no public name."""
        tensors = [self.tf.convert_to_tensor(x) for x in inputs]
        dtype = tensors[0].dtype.base_dtype
        attrs = {"T": self.tf.AttrValue(type=dtype.as_datatype_enum)}
        return self.tf.get_default_graph().create_op(op, tensors, [dtype], attrs=attrs)


def matrix(n: int) -> tuple[int, int]:
    """Rows and columns of a matrix of about n elements."""
    columns = {1_000: 25, 100_000: 250}.get(n, 1_000)
    return n // columns, columns


def elementwise(tf: Any) -> dict[str, Build]:
    o = Operands(tf)
    found: dict[str, Build] = {}
    for name in UNARY:
        found[name] = lambda n, name=name: getattr(tf.math, name)(o.floats(n))
    for name in ACTIVATIONS:
        found[name] = lambda n, name=name: getattr(tf.nn, name)(o.floats(n, low=-1.0))
    for name in GRADIENTS:
        found[name] = lambda n, name=name: o.node(
            name, *(o.floats(n), o.floats(n))[:: 1 if "Relu" in name else -1]
        )
    for name in BINARY:
        found[name] = lambda n, name=name: getattr(tf.math, name)(o.floats(n), o.floats(n))
    return found | {
        "add, a number": lambda n: o.floats(n) + 1.0,
        "add, a row": lambda n: o.floats(*matrix(n)) + o.floats(matrix(n)[1]),
        "add, a column": lambda n: o.floats(*matrix(n)) + o.floats(matrix(n)[0], 1),
        "add, int32": lambda n: o.ints(9, n) + o.ints(9, n),
        "multiply, float64": lambda n: o.floats(n, dtype=tf.float64) * o.floats(n, dtype=tf.float64),
        "bias_add": lambda n: tf.nn.bias_add(o.floats(*matrix(n)), o.floats(matrix(n)[1])),
        "BiasAddGrad": lambda n: o.node("BiasAddGrad", o.floats(*matrix(n))),
        "add_n of 4": lambda n: tf.add_n([o.floats(n) for _ in range(4)]),
        "where": lambda n: tf.where(o.bools(n), o.floats(n), o.floats(n)),
        "logical_and": lambda n: tf.logical_and(o.bools(n), o.bools(n)),
        "is_nan": lambda n: tf.math.is_nan(o.floats(n)),
        "clip_by_value": lambda n: tf.clip_by_value(o.floats(n), 0.2, 0.8),
        "cast, int32 to float32": lambda n: tf.cast(o.ints(9, n), tf.float32),
        "cast, float32 to int32": lambda n: tf.cast(o.floats(n, high=9.0), tf.int32),
        "cast, uint8 to float32": lambda n: tf.cast(o.floats(n, high=9.0, dtype=tf.uint8), tf.float32),
        "cast, float32 to float16": lambda n: tf.cast(o.floats(n), tf.float16),
        "group: tanh(2 x + 1) x - 0.5": lambda n: _group(tf, o.floats(n)),
        "dropout": lambda n: tf.nn.dropout(o.floats(n), rate=0.5),
    }


def _group(tf: Any, x: Any) -> Any:
    return tf.tanh(x * 2.0 + 1.0) * x - 0.5


def reductions(tf: Any) -> dict[str, Build]:
    o = Operands(tf)
    return {
        "reduce_sum": lambda n: tf.reduce_sum(o.floats(n)),
        "reduce_sum, rows": lambda n: tf.reduce_sum(o.floats(*matrix(n)), 1),
        "reduce_sum, columns": lambda n: tf.reduce_sum(o.floats(*matrix(n)), 0),
        "reduce_sum, int32": lambda n: tf.reduce_sum(o.ints(9, n)),
        "reduce_mean": lambda n: tf.reduce_mean(o.floats(n)),
        "reduce_mean, rows": lambda n: tf.reduce_mean(o.floats(*matrix(n)), 1),
        "reduce_mean, middle": lambda n: tf.reduce_mean(o.floats(n // 500, 25, 20), 1),
        "reduce_max": lambda n: tf.reduce_max(o.floats(n)),
        "reduce_max, rows": lambda n: tf.reduce_max(o.floats(*matrix(n)), 1),
        "reduce_max, columns": lambda n: tf.reduce_max(o.floats(*matrix(n)), 0),
        "reduce_min": lambda n: tf.reduce_min(o.floats(n)),
        "reduce_prod": lambda n: tf.reduce_prod(o.floats(n)),
        "reduce_any": lambda n: tf.reduce_any(o.bools(n)),
        "reduce_logsumexp, rows": lambda n: tf.reduce_logsumexp(o.floats(*matrix(n)), 1),
        "argmax, rows": lambda n: tf.argmax(o.floats(*matrix(n)), 1),
        "argmax, columns": lambda n: tf.argmax(o.floats(*matrix(n)), 0),
        "cumsum": lambda n: tf.cumsum(o.floats(*matrix(n)), 1),
        "l2_loss": lambda n: tf.nn.l2_loss(o.floats(n)),
        "global_norm": lambda n: tf.global_norm([o.floats(n // 2), o.floats(n // 2)]),
        "moments": lambda n: tf.nn.moments(o.floats(*matrix(n)), [0]),
        "l2_normalize": lambda n: tf.nn.l2_normalize(o.floats(*matrix(n)), 1),
        "segment_sum": lambda n: tf.math.segment_sum(
            o.floats(n // 20, 20), tf.Variable(tf.range(n // 20) // 5)
        ),
        "unsorted_segment_sum": lambda n: tf.math.unsorted_segment_sum(
            o.floats(n // 20, 20), o.ints(20, n // 20), 20
        ),
    }


def arrays(tf: Any) -> dict[str, Build]:
    o = Operands(tf)
    return {
        "concat, rows": lambda n: tf.concat([o.floats(*matrix(n // 2)), o.floats(*matrix(n // 2))], 0),
        "concat, columns": lambda n: tf.concat([o.floats(n // 40, 20), o.floats(n // 40, 20)], 1),
        "split, columns": lambda n: tf.split(o.floats(n // 40, 40), 4, 1),
        "stack": lambda n: tf.stack([o.floats(n // 4) for _ in range(4)], 1),
        "unstack": lambda n: tf.unstack(o.floats(4, n // 4)),
        "transpose": lambda n: tf.transpose(o.floats(*matrix(n))),
        "transpose, NHWC to NCHW": lambda n: tf.transpose(o.floats(n // 500, 5, 5, 20), [0, 3, 1, 2]),
        "strided_slice": lambda n: o.floats(*matrix(n))[:, 1:-1] + 0.0,
        "tile": lambda n: tf.tile(o.floats(n // 4), [4]),
        "pad": lambda n: tf.pad(o.floats(*matrix(n)), [[1, 1], [2, 2]]),
        "gather, rows": lambda n: tf.gather(o.floats(n // 20, 20), o.ints(n // 20, n // 20)),
        "gather, numbers": lambda n: tf.gather(o.floats(n), o.ints(n, n)),
        "gather_nd": lambda n: tf.gather_nd(o.floats(n // 20, 20), o.ints(20, n // 20, 2) // 2),
        "scatter_nd": lambda n: tf.scatter_nd(
            o.ints(n // 20, n // 20, 1), o.floats(n // 20, 20), [n // 20, 20]
        ),
        "one_hot": lambda n: tf.one_hot(o.ints(20, n // 20), 20),
        "reverse": lambda n: tf.reverse(o.floats(*matrix(n)), [1]),
        "boolean_mask": lambda n: tf.boolean_mask(o.floats(n), o.bools(n)),
        "where, indices": lambda n: tf.where(o.bools(n)),
        "top_k": lambda n: tf.nn.top_k(o.floats(*matrix(n)), 5),
        "sort": lambda n: tf.sort(o.floats(n)),
        "unique": lambda n: tf.unique(o.ints(1000, n)),
        "fill": lambda n: tf.fill([n], o.floats()),
        "zeros_like": lambda n: tf.zeros_like(o.floats(n)),
        "range": lambda n: tf.range(o.ints(2), n),
        "dynamic_partition": lambda n: tf.dynamic_partition(o.floats(n // 20, 20), o.ints(4, n // 20), 4),
        "space_to_depth": lambda n: tf.nn.space_to_depth(o.floats(n // 500, 10, 10, 5), 2),
        "random_uniform": lambda n: tf.random_uniform([n]),
        "random_normal": lambda n: tf.random_normal([n]),
        "truncated_normal": lambda n: tf.truncated_normal([n]),
    }


def states(tf: Any) -> dict[str, Build]:
    o = Operands(tf)
    optimizers = {
        "gradient descent": lambda: tf.train.GradientDescentOptimizer(1e-3),
        "momentum": lambda: tf.train.MomentumOptimizer(1e-3, 0.9),
        "adam": lambda: tf.train.AdamOptimizer(1e-3),
        "adagrad": lambda: tf.train.AdagradOptimizer(1e-3),
        "rmsprop": lambda: tf.train.RMSPropOptimizer(1e-3),
        "ftrl": lambda: tf.train.FtrlOptimizer(1e-3),
    }
    found: dict[str, Build] = {
        f"update, {name}": lambda n, make=make: make().apply_gradients(
            [(tf.identity(o.floats(n)), o.floats(n))]
        )
        for name, make in optimizers.items()
    }

    def clipped(n: int) -> Any:
        gradients = tf.clip_by_global_norm([tf.identity(o.floats(n))], 1e-3)[0]
        return tf.train.MomentumOptimizer(1e-3, 0.9).apply_gradients([(gradients[0], o.floats(n))])

    return found | {
        "clip and momentum": clipped,
        "assign": lambda n: tf.assign(o.floats(n), o.floats(n)),
        "assign_add": lambda n: tf.assign_add(o.floats(n), o.floats(n)),
        "scatter_add": lambda n: tf.scatter_add(
            o.floats(n // 20, 20), o.ints(n // 20, n // 40), o.floats(n // 40, 20)
        ),
    }


SCALES = {1_000: 0, 100_000: 1, 10_000_000: 2}


def networks(tf: Any) -> dict[str, Build]:
    """Ops of networks, small, medium and large: that is what the numbers of elements stand for."""
    o = Operands(tf)

    def product(m: int, k: int, n: int, **kw: bool) -> Any:
        a, b = (k, m) if kw.get("transpose_a") else (m, k), (n, k) if kw.get("transpose_b") else (k, n)
        return tf.matmul(o.floats(*a), o.floats(*b), **kw)

    def image(n: int, channels: int | None = None) -> Any:
        batch, size, own = ((1, 8, 8), (8, 28, 32), (32, 56, 64))[SCALES[n]]
        return o.floats(batch, size, size, channels or own)

    def convolution(n: int, size: int, stride: int = 1, op: str = "", channels: int | None = None) -> Any:
        x = image(n, channels)
        w = o.floats(size, size, int(x.shape[3]), ((8, 32, 64))[SCALES[n]])
        y = tf.nn.conv2d(x, w, strides=[1, stride, stride, 1], padding="SAME")
        if not op:
            return y
        g = tf.Variable(tf.random_uniform(y.shape, seed=1))
        return tf.gradients(y, [x] if op == "input" else [w], grad_ys=g)

    def depthwise(n: int) -> Any:
        x = image(n)
        return tf.nn.depthwise_conv2d(x, o.floats(3, 3, int(x.shape[3]), 1), [1, 1, 1, 1], "SAME")

    def batch_norm(n: int, training: bool, relu: bool = False) -> Any:
        x = image(n)
        c = int(x.shape[3])
        known = {} if training else {"mean": o.floats(c), "variance": o.floats(c)}
        y = tf.nn.fused_batch_norm(x, o.floats(c), o.floats(c), is_training=training, **known)[0]
        return tf.nn.relu(y) if relu else y

    def batch_norm_gradient(n: int) -> Any:
        x = image(n)
        c = int(x.shape[3])
        scale, offset = o.floats(c), o.floats(c)
        y = tf.nn.fused_batch_norm(x, scale, offset)[0]
        return tf.gradients(y, [x, scale, offset], grad_ys=tf.Variable(tf.random_uniform(x.shape, seed=1)))

    def pool(n: int, function: Any, gradient: bool = False) -> Any:
        x = image(n)
        y = function(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
        return tf.gradients(y, [x]) if gradient else y

    def dense(n: int, activation: Any) -> Any:
        m, k, width = ((8, 64, 64), (64, 784, 256), (512, 1024, 1024))[SCALES[n]]
        return activation(tf.matmul(o.floats(m, k), o.floats(k, width)) + o.floats(width))

    def cross_entropy(n: int, sparse: bool, gradient: bool) -> Any:
        rows, classes = ((10, 100), (100, 1_000), (400, 10_000))[SCALES[n]]
        logits = o.floats(rows, classes, low=-1.0)
        if sparse:
            labels = o.ints(classes, rows)
            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        else:
            loss = tf.nn.softmax_cross_entropy_with_logits(labels=o.floats(rows, classes), logits=logits)
        return tf.gradients(loss, [logits]) if gradient else loss

    def lstm(n: int, gradient: bool) -> Any:
        batch, units = ((4, 16), (20, 200), (64, 1024))[SCALES[n]]
        x, h, c = o.floats(batch, units), o.floats(batch, units), o.floats(batch, units)
        w, b = o.floats(2 * units, 4 * units, high=0.2), o.floats(4 * units)
        i, j, f, out = tf.split(tf.nn.bias_add(tf.matmul(tf.concat([x, h], 1), w), b), 4, 1)
        after = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        result = tf.tanh(after) * tf.sigmoid(out)
        return tf.gradients(result, [x, h, c, w, b]) if gradient else [result, after]

    def layer_norm(n: int) -> Any:
        x = o.floats(*matrix(n))
        mean, variance = tf.nn.moments(x, [1], keepdims=True)
        return tf.nn.batch_normalization(
            x, mean, variance, o.floats(matrix(n)[1]), o.floats(matrix(n)[1]), 1e-6
        )

    sizes = ((16, 16, 16), (128, 256, 128), (1024, 1024, 1024))
    return {
        "matmul": lambda n: product(*sizes[SCALES[n]]),
        "matmul, first transposed": lambda n: product(*sizes[SCALES[n]], transpose_a=True),
        "matmul, second transposed": lambda n: product(*sizes[SCALES[n]], transpose_b=True),
        "matmul, few rows": lambda n: product(
            ((1, 32, 32), (8, 512, 512), (16, 4096, 4096))[SCALES[n]][0],
            *(((32, 32), (512, 512), (4096, 4096))[SCALES[n]]),
        ),
        "matmul, batch": lambda n: tf.matmul(
            *(o.floats(*((4, 8, 8), (32, 64, 64), (256, 128, 128))[SCALES[n]]) for _ in range(2))
        ),
        "matmul, bias, relu": lambda n: dense(n, tf.nn.relu),
        "matmul, bias, tanh": lambda n: dense(n, tf.tanh),
        "conv2d, 3x3": lambda n: convolution(n, 3),
        "conv2d, 1x1": lambda n: convolution(n, 1),
        "conv2d, 5x5": lambda n: convolution(n, 5),
        "conv2d, 3x3, stride 2": lambda n: convolution(n, 3, 2),
        "conv2d, 7x7, 3 channels, stride 2": lambda n: convolution(n, 7, 2, channels=3),
        "conv2d 3x3, gradient of input": lambda n: convolution(n, 3, op="input"),
        "conv2d 3x3, gradient of filter": lambda n: convolution(n, 3, op="filter"),
        "conv2d 3x3, stride 2, gradient of input": lambda n: convolution(n, 3, 2, op="input"),
        "depthwise_conv2d": depthwise,
        "max_pool": lambda n: pool(n, tf.nn.max_pool),
        "max_pool, with gradient": lambda n: pool(n, tf.nn.max_pool, True),
        "avg_pool": lambda n: pool(n, tf.nn.avg_pool),
        "avg_pool, gradient": lambda n: pool(n, tf.nn.avg_pool, True),
        "fused_batch_norm, training": lambda n: batch_norm(n, True),
        "fused_batch_norm, training, relu": lambda n: batch_norm(n, True, True),
        "fused_batch_norm": lambda n: batch_norm(n, False),
        "fused_batch_norm, relu": lambda n: batch_norm(n, False, True),
        "fused_batch_norm, with gradient": batch_norm_gradient,
        "lrn": lambda n: tf.nn.lrn(image(n)),
        "resize_bilinear": lambda n: tf.image.resize_bilinear(image(n), [32, 32]),
        "softmax": lambda n: tf.nn.softmax(o.floats(*matrix(n))),
        "log_softmax": lambda n: tf.nn.log_softmax(o.floats(*matrix(n))),
        "cross entropy": lambda n: cross_entropy(n, False, False),
        "cross entropy, with gradient": lambda n: cross_entropy(n, False, True),
        "sparse cross entropy": lambda n: cross_entropy(n, True, False),
        "sparse cross entropy, with gradient": lambda n: cross_entropy(n, True, True),
        "sigmoid cross entropy": lambda n: tf.nn.sigmoid_cross_entropy_with_logits(
            labels=o.floats(n), logits=o.floats(n)
        ),
        "layer normalization": layer_norm,
        "in_top_k": lambda n: tf.nn.in_top_k(o.floats(*matrix(n)), o.ints(20, matrix(n)[0]), 5),
        "LSTM cell": lambda n: lstm(n, False),
        "LSTM cell, with gradient": lambda n: lstm(n, True),
    }


def cases(tf: Any) -> dict[str, dict[str, Build]]:
    """The ops by family and name."""
    return {
        "Elementwise": elementwise(tf),
        "Reductions": reductions(tf),
        "Arrays": arrays(tf),
        "Variables": states(tf),
        "Networks": networks(tf),
    }
