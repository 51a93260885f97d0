"""`tf.contrib.solvers.linear_equations`: linear equations by conjugate gradients."""

import typing as _typing

from tensorfleet.contrib.linear_solvers import (
    conjugate_gradient as conjugate_gradient,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
