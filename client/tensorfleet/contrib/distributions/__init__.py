"""`tf.contrib.distributions`: those of `tf.distributions`, many more, and bijectors."""

import typing as _typing

from tensorfleet.contrib.distributions import bijectors as bijectors
from tensorfleet.distributions import (
    FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED as NOT_REPARAMETERIZED,
    Bernoulli as Bernoulli,
    Beta as Beta,
    Categorical as Categorical,
    Dirichlet as Dirichlet,
    DirichletMultinomial as DirichletMultinomial,
    Distribution as Distribution,
    Exponential as Exponential,
    Gamma as Gamma,
    Laplace as Laplace,
    Multinomial as Multinomial,
    Normal as Normal,
    RegisterKL as RegisterKL,
    ReparameterizationType as ReparameterizationType,
    StudentT as StudentT,
    Uniform as Uniform,
    kl_divergence as kl_divergence,
)
from tensorfleet.distributions.affine_vectors import (
    MultivariateNormalDiagPlusLowRank as MultivariateNormalDiagPlusLowRank,
    MultivariateNormalFullCovariance as MultivariateNormalFullCovariance,
    MultivariateNormalLinearOperator as MultivariateNormalLinearOperator,
    VectorLaplaceDiag as VectorLaplaceDiag,
)
from tensorfleet.distributions.bent_numbers import (
    Kumaraswamy as Kumaraswamy,
    SinhArcsinh as SinhArcsinh,
)
from tensorfleet.distributions.cauchy import Cauchy as Cauchy, HalfCauchy as HalfCauchy
from tensorfleet.distributions.classes import OneHotCategorical as OneHotCategorical
from tensorfleet.distributions.deterministic import (
    Deterministic as Deterministic,
    VectorDeterministic as VectorDeterministic,
)
from tensorfleet.distributions.gamma_relatives import (
    Chi2 as Chi2,
    Chi2WithAbsDf as Chi2WithAbsDf,
    HalfNormal as HalfNormal,
    InverseGamma as InverseGamma,
    InverseGammaWithSoftplusConcentrationRate as InverseGammaWithSoftplusConcentrationRate,
)
from tensorfleet.distributions.independent import Independent as Independent
from tensorfleet.distributions.mixtures import Mixture as Mixture, MixtureSameFamily as MixtureSameFamily
from tensorfleet.distributions.relaxed import (
    ExpRelaxedOneHotCategorical as ExpRelaxedOneHotCategorical,
    RelaxedBernoulli as RelaxedBernoulli,
    RelaxedOneHotCategorical as RelaxedOneHotCategorical,
)
from tensorfleet.distributions.softplus_parameters import (
    BetaWithSoftplusConcentration as BetaWithSoftplusConcentration,
    ExponentialWithSoftplusRate as ExponentialWithSoftplusRate,
    GammaWithSoftplusConcentrationRate as GammaWithSoftplusConcentrationRate,
    LaplaceWithSoftplusScale as LaplaceWithSoftplusScale,
    NormalWithSoftplusScale as NormalWithSoftplusScale,
    StudentTWithAbsDfSoftplusScale as StudentTWithAbsDfSoftplusScale,
)
from tensorfleet.distributions.tails import Gumbel as Gumbel, Logistic as Logistic
from tensorfleet.distributions.transformed import (
    ConditionalDistribution as ConditionalDistribution,
    ConditionalTransformedDistribution as ConditionalTransformedDistribution,
    TransformedDistribution as TransformedDistribution,
)
from tensorfleet.distributions.triangles import (
    fill_triangular as fill_triangular,
    fill_triangular_inverse as fill_triangular_inverse,
)
from tensorfleet.distributions.vectors import (
    MultivariateNormalDiag as MultivariateNormalDiag,
    MultivariateNormalTriL as MultivariateNormalTriL,
)
from tensorfleet.distributions.whole_numbers import (
    Binomial as Binomial,
    Geometric as Geometric,
    NegativeBinomial as NegativeBinomial,
    Poisson as Poisson,
)
from tensorfleet.distributions.wishart import (
    WishartCholesky as WishartCholesky,
    WishartFull as WishartFull,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__, modules=("bijectors",))
