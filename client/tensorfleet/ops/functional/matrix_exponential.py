"""The exponential of matrices, `tf.linalg.expm`: a loop of squarings."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.constants import eye
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control_flow import while_loop
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_max, reduce_sum

_PADE = (
    *(17643225600.0, 8821612800.0, 2075673600.0, 302702400.0, 30270240.0),
    *(2162160.0, 110880.0, 3960.0, 90.0, 1.0),
)
"""The coefficients of the Padé approximation [9/9] of the exponential."""


def expm(input: Any, name: str | None = None) -> Tensor:
    """The exponential of matrices (`tf.linalg.expm`), by scaling, Padé's approximation and squaring.

    All matrices of a batch are squared as often as the one of the greatest norm needs, which is found in the
    run: 0 to 60 times.
    """
    with framework.name_scope(name, "matrix_exponential", [input]):
        matrix = convert_to_tensor(input, name="input")
        kind = matrix.dtype.base
        magnitude = apply_one("ComplexAbs", matrix, Tout=kind.real_dtype) if kind.is_complex else abs(matrix)
        real = magnitude.dtype.base
        largest = reduce_max(reduce_sum(magnitude, axis=-2))
        least = convert_to_tensor(0.0, real)
        ratio = apply_one("Log", largest / convert_to_tensor(2.0, real)) / float(np.log(2))
        count = apply_one("Cast", apply_one("Ceil", apply_one("Maximum", least, ratio)), DstT=dtypes.int32)
        count = apply_one("Minimum", count, 60)
        power = apply_one("Pow", convert_to_tensor(2.0, real), apply_one("Cast", count, DstT=real))
        scaled = matrix / (apply_one("Cast", power, DstT=kind) if kind is not real else power)
        dims = shape(matrix)
        identity = eye(dims[-1], batch_shape=dims[:-2], dtype=kind)
        square = matmul(scaled, scaled)
        even, odd, term = identity * _PADE[0], identity * _PADE[1], identity
        for i in range(2, len(_PADE), 2):
            term = matmul(term, square)
            even = even + term * _PADE[i]
            odd = odd + term * _PADE[i + 1]
        odd = matmul(scaled, odd)
        result = apply_one("MatrixSolve", even - odd, even + odd)
        squared: list[Tensor] = while_loop(
            lambda i, _: i < count, lambda i, x: [i + 1, matmul(x, x)], [convert_to_tensor(0), result]
        )
        made = squared[1]
        made.set_shape(matrix.shape)
        return made
