"""Values at the edges of what ops take: numbers as vectors, empty texts, matrices without factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.op_programs import Maker, node, program

F = np.float32
I = np.int32  # noqa: E741


@program("Reshape")
def reshape_by_a_number(make: Maker) -> Any:
    return make("Reshape", make.fed(F([[1, 2], [3, 4]])), make.fed(I(4)))


@program("Range")
def range_of_vectors(make: Maker) -> Any:
    return make("Range", make.fed(I([1])), make.fed(I([9])), make.fed(I([3])))


@program("ConjugateTranspose")
def conjugate_of_texts(make: Maker) -> Any:
    return make("ConjugateTranspose", np.array([[b"a", b"b"]], object), I([1, 0]))


_numbers = [1.00390625, -1.01171875, 1.0006, 65535, np.inf, 0]
for _target in ("float16", "bfloat16", "float32"):
    node("Cast", np.float64(_numbers), DstT=_target, Truncate=True)
    node("Cast", F(_numbers), DstT=_target, Truncate=True)

_texts = np.array([b"a,b,,c", b"", b",x,"], object)
for _skips in (True, False):
    node("StringSplit", _texts, np.array(b",", object), skip_empty=_skips)
    node("StringSplit", _texts, np.array(b"", object), skip_empty=_skips)
node("Substr", np.array([b"abc", b"de"], object), I([1, -1]), I([-1, -5]))


@program("Cholesky", rtol=1e-6)
def matrices_without_factors(make: Maker) -> Any:
    """Above the diagonals TensorFlow leaves what was in the memory before. A matrix of numbers that is not
    definite is refused as in 1.15; today's package gives NaNs."""
    matrices = F([[[4, 1], [1, 3]], [[np.nan, 1], [1, 1]]])
    return make("MatrixBandPart", make("Cholesky", matrices), np.int64(-1), np.int64(0))


for _pivots in (True, False):
    for _diagonals in ([[1, 1, 0], [0, 4, 4], [0, 1, 1]], [[1, 1, 0], [4, 0.25, 4], [0, 1, 1]]):
        node(
            *("TridiagonalSolve", F(_diagonals), F([[1], [2], [3]])),
            partial_pivoting=_pivots,
            settings={"rtol": 1e-6},
        )

_images = np.arange(2 * 4 * 4 * 6, dtype=F).reshape(2, 4, 4, 6) % 7
for _depth in (2, 3, 6):
    node("MaxPool", _images, ksize=[1, 1, 1, _depth], strides=[1, 1, 1, _depth], padding="SAME")


@program("FusedBatchNormV3", rtol=1e-4, atol=1e-5)
def volumes_in_the_format_of_images(make: Maker) -> Any:
    x = make.tf.constant(_images.reshape(2, 2, 2, 4, 6))
    scale, nothing = F([1, 2, 3, 4, 5, 6]), F([])
    y = make("FusedBatchNormV3", x, scale, scale, nothing, nothing)[0]
    return y, make.tf.gradients(make.tf.square(y), x)


@program("Variable")
def text_in_a_reference(make: Maker) -> Any:
    tf = make.tf
    v = tf.Variable("a", use_resource=False)
    with tf.control_dependencies([tf.identity(v)]):
        return tf.assign(v, "b")
