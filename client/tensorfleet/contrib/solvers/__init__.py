"""`tf.contrib.solvers`: iterative solutions of linear equations."""

import typing as _typing

from tensorfleet.contrib.solvers import (
    least_squares as least_squares,
    linear_equations as linear_equations,
    util as util,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__, modules=("least_squares", "linear_equations", "util"))
