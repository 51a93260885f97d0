"""`tf.contrib.linalg`: the older place of the linear operators of `tf.linalg`."""

import typing as _typing

from tensorfleet.linear_operators.base import LinearOperator as LinearOperator
from tensorfleet.linear_operators.blocks import LinearOperatorBlockDiag as LinearOperatorBlockDiag
from tensorfleet.linear_operators.circulant import (
    LinearOperatorCirculant as LinearOperatorCirculant,
    LinearOperatorCirculant2D as LinearOperatorCirculant2D,
    LinearOperatorCirculant3D as LinearOperatorCirculant3D,
)
from tensorfleet.linear_operators.combined import LinearOperatorComposition as LinearOperatorComposition
from tensorfleet.linear_operators.diagonals import LinearOperatorDiag as LinearOperatorDiag
from tensorfleet.linear_operators.identities import (
    LinearOperatorIdentity as LinearOperatorIdentity,
    LinearOperatorScaledIdentity as LinearOperatorScaledIdentity,
)
from tensorfleet.linear_operators.kronecker import LinearOperatorKronecker as LinearOperatorKronecker
from tensorfleet.linear_operators.low_rank import LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate
from tensorfleet.linear_operators.matrices import (
    LinearOperatorFullMatrix as LinearOperatorFullMatrix,
    LinearOperatorLowerTriangular as LinearOperatorLowerTriangular,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "LinearOperator",
    "LinearOperatorBlockDiag",
    "LinearOperatorCirculant",
    "LinearOperatorCirculant2D",
    "LinearOperatorCirculant3D",
    "LinearOperatorComposition",
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorIdentity",
    "LinearOperatorKronecker",
    "LinearOperatorLowRankUpdate",
    "LinearOperatorLowerTriangular",
    "LinearOperatorScaledIdentity",
]
