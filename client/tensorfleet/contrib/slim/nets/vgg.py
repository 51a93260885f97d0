"""`slim.nets.vgg`: the networks of the Visual Geometry Group."""

import typing as _typing

from tensorfleet.contrib.slim_networks.plain import (
    vgg_16 as vgg_16,
    vgg_19 as vgg_19,
    vgg_a as vgg_a,
    vgg_arg_scope as vgg_arg_scope,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["vgg_16", "vgg_19", "vgg_a", "vgg_arg_scope"]
