"""`tf.linalg`: matrices."""

import typing as _typing

from tensorfleet.ops.array.constants import eye as eye
from tensorfleet.ops.array.rearranging import (
    matrix_transpose as matrix_transpose,
    matrix_transpose as transpose,
)
from tensorfleet.ops.functional.matrix_exponential import expm as expm
from tensorfleet.ops.linalg.factors import (
    logm as logm,
    lu as lu,
    lu_matrix_inverse as lu_matrix_inverse,
    lu_reconstruct as lu_reconstruct,
    lu_solve as lu_solve,
    matrix_rank as matrix_rank,
    matrix_solve_ls as lstsq,
    normalize as normalize,
    pinv as pinv,
    sqrtm as sqrtm,
)
from tensorfleet.ops.linalg.linalg import (
    adjoint as adjoint,
    cholesky as cholesky,
    cholesky_solve as cholesky_solve,
    det as det,
    eigh as eigh,
    eigvalsh as eigvalsh,
    inv as inv,
    logdet as logdet,
    norm as norm,
    qr as qr,
    slogdet as slogdet,
    solve as solve,
    svd as svd,
    triangular_solve as triangular_solve,
)
from tensorfleet.ops.linalg.matrix_parts import (
    band_part as band_part,
    matrix_diag as diag,
    matrix_diag_part as diag_part,
    set_diag as set_diag,
    tensor_diag as tensor_diag,
    tensor_diag_part as tensor_diag_part,
    trace as trace,
)
from tensorfleet.ops.math.clip import global_norm as global_norm
from tensorfleet.ops.math.einsum import (
    einsum as einsum,
)
from tensorfleet.ops.math.matmul import matmul as matmul, matvec as matvec, tensordot as tensordot
from tensorfleet.ops.math.vectors import (
    cross as cross,
)
from tensorfleet.ops.nn.norm import l2_normalize as l2_normalize

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "adjoint",
    "band_part",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eigh",
    "eigvalsh",
    "einsum",
    "expm",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "logdet",
    "logm",
    "lstsq",
    "lu",
    "lu_matrix_inverse",
    "lu_reconstruct",
    "lu_solve",
    "matmul",
    "matrix_rank",
    "matrix_transpose",
    "matvec",
    "norm",
    "normalize",
    "pinv",
    "qr",
    "set_diag",
    "slogdet",
    "solve",
    "sqrtm",
    "svd",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "transpose",
    "triangular_solve",
]
