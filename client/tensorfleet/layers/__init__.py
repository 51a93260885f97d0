"""`tf.layers`: layers with variables, as functions and as classes."""

import typing as _typing

from tensorfleet.layers.base import Layer as Layer
from tensorfleet.layers.convolution import (
    Conv1D as Conv1D,
    Conv2D as Conv2D,
    Conv3D as Conv3D,
    conv1d as conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
)
from tensorfleet.layers.convolution_others import (
    Conv2DTranspose as Conv2DTranspose,
    Conv3DTranspose as Conv3DTranspose,
    SeparableConv1D as SeparableConv1D,
    SeparableConv2D as SeparableConv2D,
    conv2d_transpose as conv2d_transpose,
    conv3d_transpose as conv3d_transpose,
    separable_conv1d as separable_conv1d,
    separable_conv2d as separable_conv2d,
)
from tensorfleet.layers.core import (
    Dense as Dense,
    Dropout as Dropout,
    Flatten as Flatten,
    dense as dense,
    dropout as dropout,
    flatten as flatten,
)
from tensorfleet.layers.input_spec import InputSpec as InputSpec
from tensorfleet.layers.normalization import (
    BatchNormalization as BatchNormalization,
    batch_normalization as batch_normalization,
)
from tensorfleet.layers.pooling import (
    AveragePooling1D as AveragePooling1D,
    AveragePooling2D as AveragePooling2D,
    AveragePooling3D as AveragePooling3D,
    MaxPooling1D as MaxPooling1D,
    MaxPooling2D as MaxPooling2D,
    MaxPooling3D as MaxPooling3D,
    average_pooling1d as average_pooling1d,
    average_pooling2d as average_pooling2d,
    average_pooling3d as average_pooling3d,
    max_pooling1d as max_pooling1d,
    max_pooling2d as max_pooling2d,
    max_pooling3d as max_pooling3d,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
