"""`tf.contrib.solvers.util`: operators and norms."""

import typing as _typing

from tensorfleet.contrib.linear_solvers import (
    create_operator as create_operator,
    dot as dot,
    identity_operator as identity_operator,
    l2norm as l2norm,
    l2norm_squared as l2norm_squared,
    l2normalize as l2normalize,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
