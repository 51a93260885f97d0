"""`tf.contrib.layers`: regularizers, initializers, and layers with the older arguments."""

import typing as _typing

from tensorfleet.contrib import layer_utils as utils
from tensorfleet.contrib.norm_layers import (
    batch_norm as batch_norm,
    layer_norm as layer_norm,
    unit_norm as unit_norm,
)
from tensorfleet.contrib.optimize_loss import (
    OPTIMIZER_CLS_NAMES as OPTIMIZER_CLS_NAMES,
    OPTIMIZER_SUMMARIES as OPTIMIZER_SUMMARIES,
    optimize_loss as optimize_loss,
)
from tensorfleet.contrib.plain_layers import (
    avg_pool2d as avg_pool2d,
    avg_pool3d as avg_pool3d,
    bias_add as bias_add,
    dropout as dropout,
    embed_sequence as embed_sequence,
    embedding_lookup_unique as embedding_lookup_unique,
    flatten as flatten,
    max_pool2d as max_pool2d,
    max_pool3d as max_pool3d,
    one_hot_encoding as one_hot_encoding,
    repeat as repeat,
    softmax as softmax,
    stack as stack,
)
from tensorfleet.contrib.regularizers import (
    apply_regularization as apply_regularization,
    l1_l2_regularizer as l1_l2_regularizer,
    l1_regularizer as l1_regularizer,
    l2_regularizer as l2_regularizer,
    sum_regularizer as sum_regularizer,
)
from tensorfleet.contrib.summaries import (
    summarize_activation as summarize_activation,
    summarize_activations as summarize_activations,
    summarize_biases as summarize_biases,
    summarize_collection as summarize_collection,
    summarize_tensor as summarize_tensor,
    summarize_tensors as summarize_tensors,
    summarize_variables as summarize_variables,
    summarize_weights as summarize_weights,
)
from tensorfleet.contrib.variance_scaling import (
    variance_scaling_initializer as variance_scaling_initializer,
    xavier_initializer as xavier_initializer,
    xavier_initializer as xavier_initializer_conv2d,
)
from tensorfleet.contrib.weighted_layers import (
    conv1d as conv1d,
    conv2d as conv2d,
    conv2d_transpose as conv2d_transpose,
    conv3d as conv3d,
    conv3d_transpose as conv3d_transpose,
    convolution as convolution,
    convolution1d as convolution1d,
    convolution2d as convolution2d,
    convolution2d_transpose as convolution2d_transpose,
    convolution3d as convolution3d,
    convolution3d_transpose as convolution3d_transpose,
    fully_connected as fully_connected,
    linear as linear,
    relu as relu,
    relu6 as relu6,
    separable_conv2d as separable_conv2d,
    separable_convolution2d as separable_convolution2d,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__, modules=("utils",))

__all__ = [
    "OPTIMIZER_CLS_NAMES",
    "OPTIMIZER_SUMMARIES",
    "apply_regularization",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bias_add",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "convolution",
    "convolution1d",
    "convolution2d",
    "convolution2d_transpose",
    "convolution3d",
    "convolution3d_transpose",
    "dropout",
    "embed_sequence",
    "embedding_lookup_unique",
    "flatten",
    "fully_connected",
    "l1_l2_regularizer",
    "l1_regularizer",
    "l2_regularizer",
    "layer_norm",
    "linear",
    "max_pool2d",
    "max_pool3d",
    "one_hot_encoding",
    "optimize_loss",
    "relu",
    "relu6",
    "repeat",
    "separable_conv2d",
    "separable_convolution2d",
    "softmax",
    "stack",
    "sum_regularizer",
    "summarize_activation",
    "summarize_activations",
    "summarize_biases",
    "summarize_collection",
    "summarize_tensor",
    "summarize_tensors",
    "summarize_variables",
    "summarize_weights",
    "unit_norm",
    "utils",
    "variance_scaling_initializer",
    "xavier_initializer",
    "xavier_initializer_conv2d",
]
