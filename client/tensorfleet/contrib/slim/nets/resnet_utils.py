"""`slim.nets.resnet_utils`: parts of ResNets."""

import typing as _typing

from tensorfleet.contrib.slim_networks.residual import (
    Block as Block,
    conv2d_same as conv2d_same,
    resnet_arg_scope as resnet_arg_scope,
    stack_blocks_dense as stack_blocks_dense,
    subsample as subsample,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["Block", "conv2d_same", "resnet_arg_scope", "stack_blocks_dense", "subsample"]
