"""`tf.keras.applications`: networks for images; their weights come from files, as nothing is downloaded."""

import typing as _typing

from tensorfleet.keras.networks.dense import (
    DenseNet121 as DenseNet121,
    DenseNet169 as DenseNet169,
    DenseNet201 as DenseNet201,
)
from tensorfleet.keras.networks.inception import (
    InceptionResNetV2 as InceptionResNetV2,
    InceptionV3 as InceptionV3,
    Xception as Xception,
)
from tensorfleet.keras.networks.mobile import (
    MobileNet as MobileNet,
    MobileNetV2 as MobileNetV2,
)
from tensorfleet.keras.networks.nas import (
    NASNetLarge as NASNetLarge,
    NASNetMobile as NASNetMobile,
)
from tensorfleet.keras.networks.residual import (
    ResNet50 as ResNet50,
    ResNet50V2 as ResNet50V2,
    ResNet101 as ResNet101,
    ResNet101V2 as ResNet101V2,
    ResNet152 as ResNet152,
    ResNet152V2 as ResNet152V2,
)
from tensorfleet.keras.networks.vgg import (
    VGG16 as VGG16,
    VGG19 as VGG19,
)

if _typing.TYPE_CHECKING:
    from tensorfleet.keras.applications import (
        densenet as densenet,
        imagenet_utils as imagenet_utils,
        inception_resnet_v2 as inception_resnet_v2,
        inception_v3 as inception_v3,
        mobilenet as mobilenet,
        mobilenet_v2 as mobilenet_v2,
        nasnet as nasnet,
        resnet as resnet,
        resnet50 as resnet50,
        resnet_v2 as resnet_v2,
        vgg16 as vgg16,
        vgg19 as vgg19,
        xception as xception,
    )
else:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(
        __name__,
        modules=(
            "densenet",
            "imagenet_utils",
            "inception_resnet_v2",
            "inception_v3",
            "mobilenet",
            "mobilenet_v2",
            "nasnet",
            "resnet",
            "resnet50",
            "resnet_v2",
            "vgg16",
            "vgg19",
            "xception",
        ),
    )
