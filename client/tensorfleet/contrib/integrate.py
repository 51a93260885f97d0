"""`tf.contrib.integrate`: ordinary differential equations."""

import typing as _typing

from tensorfleet.contrib.odes import odeint as odeint, odeint_fixed as odeint_fixed

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["odeint", "odeint_fixed"]
