"""`slim.nets.resnet_v2`: ResNets of version 2."""

import typing as _typing

from tensorfleet.contrib.slim_networks.residual import (
    bottleneck_v2 as bottleneck,
    resnet_arg_scope as resnet_arg_scope,
    resnet_v2 as resnet_v2,
    resnet_v2_50 as resnet_v2_50,
    resnet_v2_101 as resnet_v2_101,
    resnet_v2_152 as resnet_v2_152,
    resnet_v2_200 as resnet_v2_200,
    resnet_v2_block as resnet_v2_block,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "bottleneck",
    "resnet_arg_scope",
    "resnet_v2",
    "resnet_v2_50",
    "resnet_v2_101",
    "resnet_v2_152",
    "resnet_v2_200",
    "resnet_v2_block",
]
