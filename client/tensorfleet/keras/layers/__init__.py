"""`tf.keras.layers`: the layers of Keras."""

import typing as _typing

from tensorfleet.keras.engine.base_layer import (
    Layer as Layer,
)
from tensorfleet.keras.engine.input_layer import (
    Input as Input,
    InputLayer as InputLayer,
)
from tensorfleet.keras.layer_registry import (
    deserialize as deserialize,
    serialize as serialize,
)
from tensorfleet.keras.layers.activation_layers import (
    ELU as ELU,
    LeakyReLU as LeakyReLU,
    PReLU as PReLU,
    ReLU as ReLU,
    Softmax as Softmax,
    ThresholdedReLU as ThresholdedReLU,
)
from tensorfleet.keras.layers.attention import (
    AdditiveAttention as AdditiveAttention,
    Attention as Attention,
)
from tensorfleet.keras.layers.convolutional import (
    Conv1D as Conv1D,
    Conv2D as Conv2D,
    Conv2DTranspose as Conv2DTranspose,
    Conv3D as Conv3D,
    Conv3DTranspose as Conv3DTranspose,
    DepthwiseConv2D as DepthwiseConv2D,
)
from tensorfleet.keras.layers.convolutional_recurrent import (
    ConvLSTM2D as ConvLSTM2D,
)
from tensorfleet.keras.layers.core import (
    Activation as Activation,
    ActivityRegularization as ActivityRegularization,
    Dense as Dense,
    Dropout as Dropout,
    Flatten as Flatten,
    Lambda as Lambda,
    Masking as Masking,
    Permute as Permute,
    RepeatVector as RepeatVector,
    Reshape as Reshape,
    SpatialDropout1D as SpatialDropout1D,
    SpatialDropout2D as SpatialDropout2D,
    SpatialDropout3D as SpatialDropout3D,
)
from tensorfleet.keras.layers.dense_features import DenseFeatures as DenseFeatures
from tensorfleet.keras.layers.embeddings import (
    Embedding as Embedding,
)
from tensorfleet.keras.layers.local import (
    LocallyConnected1D as LocallyConnected1D,
    LocallyConnected2D as LocallyConnected2D,
)
from tensorfleet.keras.layers.merge import (
    Add as Add,
    Average as Average,
    Concatenate as Concatenate,
    Dot as Dot,
    Maximum as Maximum,
    Minimum as Minimum,
    Multiply as Multiply,
    Subtract as Subtract,
    add as add,
    average as average,
    concatenate as concatenate,
    dot as dot,
    maximum as maximum,
    minimum as minimum,
    multiply as multiply,
    subtract as subtract,
)
from tensorfleet.keras.layers.noise import (
    AlphaDropout as AlphaDropout,
    GaussianDropout as GaussianDropout,
    GaussianNoise as GaussianNoise,
)
from tensorfleet.keras.layers.normalization import (
    BatchNormalization as BatchNormalization,
    LayerNormalization as LayerNormalization,
)
from tensorfleet.keras.layers.pooling import (
    AveragePooling1D as AveragePooling1D,
    AveragePooling2D as AveragePooling2D,
    AveragePooling3D as AveragePooling3D,
    GlobalAveragePooling1D as GlobalAveragePooling1D,
    GlobalAveragePooling2D as GlobalAveragePooling2D,
    GlobalAveragePooling3D as GlobalAveragePooling3D,
    GlobalMaxPooling1D as GlobalMaxPooling1D,
    GlobalMaxPooling2D as GlobalMaxPooling2D,
    GlobalMaxPooling3D as GlobalMaxPooling3D,
    MaxPooling1D as MaxPooling1D,
    MaxPooling2D as MaxPooling2D,
    MaxPooling3D as MaxPooling3D,
)
from tensorfleet.keras.layers.recurrent import (
    GRU as GRU,
    LSTM as LSTM,
    RNN as RNN,
    SimpleRNN as SimpleRNN,
)
from tensorfleet.keras.layers.recurrent_cells import (
    GRUCell as GRUCell,
    LSTMCell as LSTMCell,
    SimpleRNNCell as SimpleRNNCell,
    StackedRNNCells as StackedRNNCells,
)
from tensorfleet.keras.layers.resizing import (
    Cropping1D as Cropping1D,
    Cropping2D as Cropping2D,
    Cropping3D as Cropping3D,
    UpSampling1D as UpSampling1D,
    UpSampling2D as UpSampling2D,
    UpSampling3D as UpSampling3D,
    ZeroPadding1D as ZeroPadding1D,
    ZeroPadding2D as ZeroPadding2D,
    ZeroPadding3D as ZeroPadding3D,
)
from tensorfleet.keras.layers.separable import (
    SeparableConv1D as SeparableConv1D,
    SeparableConv2D as SeparableConv2D,
)
from tensorfleet.keras.layers.wrappers import (
    Bidirectional as Bidirectional,
    TimeDistributed as TimeDistributed,
    Wrapper as Wrapper,
)
from tensorfleet.layers.input_spec import (
    InputSpec as InputSpec,
)

AvgPool1D = AveragePooling1D
AvgPool2D = AveragePooling2D
AvgPool3D = AveragePooling3D
Convolution1D = Conv1D
Convolution2D = Conv2D
Convolution2DTranspose = Conv2DTranspose
Convolution3D = Conv3D
Convolution3DTranspose = Conv3DTranspose
GlobalAvgPool1D = GlobalAveragePooling1D
GlobalAvgPool2D = GlobalAveragePooling2D
GlobalAvgPool3D = GlobalAveragePooling3D
GlobalMaxPool1D = GlobalMaxPooling1D
GlobalMaxPool2D = GlobalMaxPooling2D
GlobalMaxPool3D = GlobalMaxPooling3D
MaxPool1D = MaxPooling1D
MaxPool2D = MaxPooling2D
MaxPool3D = MaxPooling3D
SeparableConvolution1D = SeparableConv1D
SeparableConvolution2D = SeparableConv2D

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
