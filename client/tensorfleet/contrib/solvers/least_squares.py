"""`tf.contrib.solvers.least_squares`: least squares by conjugate gradients."""

import typing as _typing

from tensorfleet.contrib.linear_solvers import (
    cgls as cgls,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
