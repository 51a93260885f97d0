"""`tf.distributions`: random variables with their densities, statistics and divergences."""

import typing as _typing

from tensorfleet.distributions.class_counts import (
    DirichletMultinomial as DirichletMultinomial,
    Multinomial as Multinomial,
)
from tensorfleet.distributions.classes import Bernoulli as Bernoulli, Categorical as Categorical
from tensorfleet.distributions.distribution import (
    FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED as NOT_REPARAMETERIZED,
    Distribution as Distribution,
    ReparameterizationType as ReparameterizationType,
)
from tensorfleet.distributions.gamma import Exponential as Exponential, Gamma as Gamma
from tensorfleet.distributions.kullback_leibler import (
    RegisterKL as RegisterKL,
    kl_divergence as kl_divergence,
)
from tensorfleet.distributions.normal import Laplace as Laplace, Normal as Normal, StudentT as StudentT
from tensorfleet.distributions.simplex import Beta as Beta, Dirichlet as Dirichlet, Uniform as Uniform

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
