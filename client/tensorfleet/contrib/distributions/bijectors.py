"""`tf.contrib.distributions.bijectors`: invertible functions with the determinants of their Jacobians."""

import typing as _typing

from tensorfleet.contrib.flow_bijectors import (
    BatchNormalization as BatchNormalization,
    MaskedAutoregressiveFlow as MaskedAutoregressiveFlow,
    RealNVP as RealNVP,
    masked_autoregressive_default_template as masked_autoregressive_default_template,
    masked_dense as masked_dense,
    real_nvp_default_template as real_nvp_default_template,
)
from tensorfleet.distributions.bijectors.base import (
    Bijector as Bijector,
    ConditionalBijector as ConditionalBijector,
)
from tensorfleet.distributions.bijectors.composed import Chain as Chain, Inline as Inline, Invert as Invert
from tensorfleet.distributions.bijectors.cumulative import (
    Gumbel as Gumbel,
    Kumaraswamy as Kumaraswamy,
    SinhArcsinh as SinhArcsinh,
    Weibull as Weibull,
)
from tensorfleet.distributions.bijectors.matrices import (
    CholeskyOuterProduct as CholeskyOuterProduct,
    FillTriangular as FillTriangular,
    MatrixInverseTriL as MatrixInverseTriL,
    Ordered as Ordered,
    ScaleTriL as ScaleTriL,
    TransformDiagonal as TransformDiagonal,
)
from tensorfleet.distributions.bijectors.numbers import (
    AffineScalar as AffineScalar,
    Exp as Exp,
    Identity as Identity,
    PowerTransform as PowerTransform,
    Sigmoid as Sigmoid,
    Softplus as Softplus,
    Softsign as Softsign,
    Square as Square,
)
from tensorfleet.distributions.bijectors.vectors import (
    Affine as Affine,
    AffineLinearOperator as AffineLinearOperator,
    Permute as Permute,
    Reshape as Reshape,
    SoftmaxCentered as SoftmaxCentered,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
