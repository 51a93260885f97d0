"""`slim.nets.resnet_v1`: ResNets of version 1."""

import typing as _typing

from tensorfleet.contrib.slim_networks.residual import (
    bottleneck_v1 as bottleneck,
    resnet_arg_scope as resnet_arg_scope,
    resnet_v1 as resnet_v1,
    resnet_v1_50 as resnet_v1_50,
    resnet_v1_101 as resnet_v1_101,
    resnet_v1_152 as resnet_v1_152,
    resnet_v1_200 as resnet_v1_200,
    resnet_v1_block as resnet_v1_block,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "bottleneck",
    "resnet_arg_scope",
    "resnet_v1",
    "resnet_v1_50",
    "resnet_v1_101",
    "resnet_v1_152",
    "resnet_v1_200",
    "resnet_v1_block",
]
