"""`tf.contrib.slim.nets`: networks for the classification of images."""

import typing as _typing

from tensorfleet.contrib.slim.nets import (
    alexnet as alexnet,
    inception as inception,
    overfeat as overfeat,
    resnet_utils as resnet_utils,
    resnet_v1 as resnet_v1,
    resnet_v2 as resnet_v2,
    vgg as vgg,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(
        __name__,
        modules=(
            "alexnet",
            "inception",
            "overfeat",
            "resnet_utils",
            "resnet_v1",
            "resnet_v2",
            "vgg",
        ),
    )

__all__ = ["alexnet", "inception", "overfeat", "resnet_utils", "resnet_v1", "resnet_v2", "vgg"]
