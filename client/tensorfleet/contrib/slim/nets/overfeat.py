"""`slim.nets.overfeat`: OverFeat."""

import typing as _typing

from tensorfleet.contrib.slim_networks.plain import (
    overfeat as overfeat,
    overfeat_arg_scope as overfeat_arg_scope,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["overfeat", "overfeat_arg_scope"]
