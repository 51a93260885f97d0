"""`slim.nets.alexnet`: AlexNet."""

import typing as _typing

from tensorfleet.contrib.slim_networks.plain import (
    alexnet_v2 as alexnet_v2,
    alexnet_v2_arg_scope as alexnet_v2_arg_scope,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["alexnet_v2", "alexnet_v2_arg_scope"]
