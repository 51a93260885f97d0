"""`tf.linalg`: matrices."""

import typing as _typing

from tensorfleet.linear_operators import experimental as experimental
from tensorfleet.linear_operators.base import (
    LinearOperator as LinearOperator,
)
from tensorfleet.linear_operators.blocks import (
    LinearOperatorBlockDiag as LinearOperatorBlockDiag,
    LinearOperatorBlockLowerTriangular as LinearOperatorBlockLowerTriangular,
)
from tensorfleet.linear_operators.circulant import (
    LinearOperatorCirculant as LinearOperatorCirculant,
    LinearOperatorCirculant2D as LinearOperatorCirculant2D,
    LinearOperatorCirculant3D as LinearOperatorCirculant3D,
)
from tensorfleet.linear_operators.combined import (
    LinearOperatorAdjoint as LinearOperatorAdjoint,
    LinearOperatorComposition as LinearOperatorComposition,
    LinearOperatorInversion as LinearOperatorInversion,
)
from tensorfleet.linear_operators.diagonals import LinearOperatorDiag as LinearOperatorDiag
from tensorfleet.linear_operators.identities import (
    LinearOperatorIdentity as LinearOperatorIdentity,
    LinearOperatorScaledIdentity as LinearOperatorScaledIdentity,
    LinearOperatorZeros as LinearOperatorZeros,
)
from tensorfleet.linear_operators.kronecker import LinearOperatorKronecker as LinearOperatorKronecker
from tensorfleet.linear_operators.low_rank import LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate
from tensorfleet.linear_operators.matrices import (
    LinearOperatorFullMatrix as LinearOperatorFullMatrix,
    LinearOperatorLowerTriangular as LinearOperatorLowerTriangular,
)
from tensorfleet.linear_operators.structured import (
    LinearOperatorHouseholder as LinearOperatorHouseholder,
    LinearOperatorPermutation as LinearOperatorPermutation,
    LinearOperatorToeplitz as LinearOperatorToeplitz,
)
from tensorfleet.linear_operators.tridiagonal import LinearOperatorTridiag as LinearOperatorTridiag
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
from tensorfleet.ops.linalg.tridiagonal import (
    eigh_tridiagonal as eigh_tridiagonal,
    tridiagonal_matmul as tridiagonal_matmul,
    tridiagonal_solve as tridiagonal_solve,
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

    __getattr__, __dir__ = _namespace(__name__, ("experimental",))

__all__ = [
    "LinearOperator",
    "LinearOperatorAdjoint",
    "LinearOperatorBlockDiag",
    "LinearOperatorBlockLowerTriangular",
    "LinearOperatorCirculant",
    "LinearOperatorCirculant2D",
    "LinearOperatorCirculant3D",
    "LinearOperatorComposition",
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorHouseholder",
    "LinearOperatorIdentity",
    "LinearOperatorInversion",
    "LinearOperatorKronecker",
    "LinearOperatorLowRankUpdate",
    "LinearOperatorLowerTriangular",
    "LinearOperatorPermutation",
    "LinearOperatorScaledIdentity",
    "LinearOperatorToeplitz",
    "LinearOperatorTridiag",
    "LinearOperatorZeros",
    "adjoint",
    "band_part",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eigh",
    "eigh_tridiagonal",
    "eigvalsh",
    "einsum",
    "experimental",
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
    "tridiagonal_matmul",
    "tridiagonal_solve",
]
