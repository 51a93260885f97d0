"""`tf.nn`: activations, convolutions, pooling, normalization, losses, recurrent networks."""

import typing as _typing

from tensorfleet.losses.scaling import (
    compute_average_loss as compute_average_loss,
    scale_regularization_loss as scale_regularization_loss,
)
from tensorfleet.nn import experimental as experimental, rnn_cell as rnn_cell
from tensorfleet.ops.array.batching import (
    space_to_batch as space_to_batch,
)
from tensorfleet.ops.array.rearranging import (
    depth_to_space as depth_to_space,
    space_to_depth as space_to_depth,
)
from tensorfleet.ops.array.selection import (
    approx_max_k as approx_max_k,
    approx_min_k as approx_min_k,
    in_top_k as in_top_k,
    top_k as top_k,
)
from tensorfleet.ops.math.elementwise import sigmoid as sigmoid, tanh as tanh
from tensorfleet.ops.nn.activation import (
    bias_add as bias_add,
    crelu as crelu,
    elu as elu,
    l2_loss as l2_loss,
    leaky_relu as leaky_relu,
    log_softmax as log_softmax,
    relu as relu,
    relu6 as relu6,
    selu as selu,
    softmax as softmax,
    softplus as softplus,
    softsign as softsign,
)
from tensorfleet.ops.nn.candidate_sampling import (
    all_candidate_sampler as all_candidate_sampler,
    compute_accidental_hits as compute_accidental_hits,
    fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler,
    learned_unigram_candidate_sampler as learned_unigram_candidate_sampler,
    log_uniform_candidate_sampler as log_uniform_candidate_sampler,
    uniform_candidate_sampler as uniform_candidate_sampler,
)
from tensorfleet.ops.nn.conv import (
    conv2d as conv2d,
    conv2d_backprop_filter as conv2d_backprop_filter,
    conv2d_backprop_input as conv2d_backprop_input,
    conv2d_transpose as conv2d_transpose,
    depthwise_conv2d as depthwise_conv2d,
    depthwise_conv2d_native as depthwise_conv2d_native,
    depthwise_conv2d_native_backprop_filter as depthwise_conv2d_backprop_filter,
    depthwise_conv2d_native_backprop_filter as depthwise_conv2d_native_backprop_filter,
    depthwise_conv2d_native_backprop_input as depthwise_conv2d_backprop_input,
    depthwise_conv2d_native_backprop_input as depthwise_conv2d_native_backprop_input,
    separable_conv2d as separable_conv2d,
)
from tensorfleet.ops.nn.conv3d import (
    conv3d as conv3d,
    conv3d_backprop_filter as conv3d_backprop_filter,
    conv3d_backprop_filter as conv3d_backprop_filter_v2,
    conv3d_transpose as conv3d_transpose,
)
from tensorfleet.ops.nn.convolution import (
    atrous_conv2d as atrous_conv2d,
    atrous_conv2d_transpose as atrous_conv2d_transpose,
    avg_pool1d as avg_pool1d,
    conv1d as conv1d,
    conv1d_transpose as conv1d_transpose,
    conv_transpose as conv_transpose,
    convolution as convolution,
    max_pool1d as max_pool1d,
    pool as pool,
    with_space_to_batch as with_space_to_batch,
)
from tensorfleet.ops.nn.cross_entropy import (
    sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
    weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits,
)
from tensorfleet.ops.nn.ctc import (
    ctc_beam_search_decoder as ctc_beam_search_decoder,
    ctc_beam_search_decoder_v2 as ctc_beam_search_decoder_v2,
    ctc_greedy_decoder as ctc_greedy_decoder,
    ctc_loss as ctc_loss,
)
from tensorfleet.ops.nn.ctc_dense import (
    collapse_repeated as collapse_repeated,
    ctc_loss_v2 as ctc_loss_v2,
    ctc_unique_labels as ctc_unique_labels,
)
from tensorfleet.ops.nn.embedding import embedding_lookup as embedding_lookup
from tensorfleet.ops.nn.embedding_sparse import (
    embedding_lookup_sparse as embedding_lookup_sparse,
    safe_embedding_lookup_sparse as safe_embedding_lookup_sparse,
)
from tensorfleet.ops.nn.fractional_pool import (
    fractional_avg_pool as fractional_avg_pool,
    fractional_max_pool as fractional_max_pool,
)
from tensorfleet.ops.nn.layers import (
    dropout as dropout,
    relu_layer as relu_layer,
    xw_plus_b as xw_plus_b,
    zero_fraction as zero_fraction,
)
from tensorfleet.ops.nn.local import (
    local_response_normalization as local_response_normalization,
    local_response_normalization as lrn,
    max_pool_with_argmax as max_pool_with_argmax,
)
from tensorfleet.ops.nn.morphology import dilation2d as dilation2d, erosion2d as erosion2d
from tensorfleet.ops.nn.norm import (
    batch_normalization as batch_normalization,
    fused_batch_norm as fused_batch_norm,
    l2_normalize as l2_normalize,
    moments as moments,
)
from tensorfleet.ops.nn.pool import (
    avg_pool as avg_pool,
    avg_pool as avg_pool2d,
    avg_pool_v2 as avg_pool_v2,
    max_pool as max_pool,
    max_pool2d as max_pool2d,
    max_pool_v2 as max_pool_v2,
)
from tensorfleet.ops.nn.pool3d import avg_pool3d as avg_pool3d, max_pool3d as max_pool3d
from tensorfleet.ops.nn.quantized_layers import (
    quantized_avg_pool as quantized_avg_pool,
    quantized_conv2d as quantized_conv2d,
    quantized_max_pool as quantized_max_pool,
    quantized_relu_x as quantized_relu_x,
)
from tensorfleet.ops.nn.sampled_loss import nce_loss as nce_loss, sampled_softmax_loss as sampled_softmax_loss
from tensorfleet.ops.nn.statistics import (
    batch_norm_with_global_normalization as batch_norm_with_global_normalization,
    log_poisson_loss as log_poisson_loss,
    normalize_moments as normalize_moments,
    sufficient_statistics as sufficient_statistics,
    swish as silu,
    swish as swish,
    weighted_moments as weighted_moments,
)
from tensorfleet.rnn.dynamic import (
    bidirectional_dynamic_rnn as bidirectional_dynamic_rnn,
    dynamic_rnn as dynamic_rnn,
)
from tensorfleet.rnn.raw import raw_rnn as raw_rnn
from tensorfleet.rnn.static import (
    static_bidirectional_rnn as static_bidirectional_rnn,
    static_rnn as static_rnn,
    static_state_saving_rnn as static_state_saving_rnn,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__, modules=("experimental", "rnn_cell"))

__all__ = [
    "all_candidate_sampler",
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "avg_pool_v2",
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "bias_add",
    "bidirectional_dynamic_rnn",
    "compute_accidental_hits",
    "compute_average_loss",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
    "conv3d",
    "conv3d_backprop_filter",
    "conv3d_backprop_filter_v2",
    "conv3d_transpose",
    "conv_transpose",
    "convolution",
    "crelu",
    "ctc_beam_search_decoder",
    "ctc_beam_search_decoder_v2",
    "ctc_greedy_decoder",
    "ctc_loss",
    "depth_to_space",
    "depthwise_conv2d",
    "depthwise_conv2d_backprop_filter",
    "depthwise_conv2d_backprop_input",
    "depthwise_conv2d_native",
    "depthwise_conv2d_native_backprop_filter",
    "depthwise_conv2d_native_backprop_input",
    "dilation2d",
    "dropout",
    "dynamic_rnn",
    "elu",
    "embedding_lookup",
    "embedding_lookup_sparse",
    "erosion2d",
    "fixed_unigram_candidate_sampler",
    "experimental",
    "fractional_avg_pool",
    "fractional_max_pool",
    "fused_batch_norm",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "learned_unigram_candidate_sampler",
    "local_response_normalization",
    "log_poisson_loss",
    "log_softmax",
    "log_uniform_candidate_sampler",
    "lrn",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool_v2",
    "max_pool_with_argmax",
    "moments",
    "nce_loss",
    "normalize_moments",
    "pool",
    "raw_rnn",
    "relu",
    "relu6",
    "relu_layer",
    "rnn_cell",
    "safe_embedding_lookup_sparse",
    "sampled_softmax_loss",
    "scale_regularization_loss",
    "selu",
    "separable_conv2d",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "silu",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "softplus",
    "softsign",
    "space_to_batch",
    "space_to_depth",
    "sparse_softmax_cross_entropy_with_logits",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
    "sufficient_statistics",
    "swish",
    "tanh",
    "top_k",
    "uniform_candidate_sampler",
    "weighted_cross_entropy_with_logits",
    "weighted_moments",
    "xw_plus_b",
    "zero_fraction",
    "approx_max_k",
    "approx_min_k",
    "with_space_to_batch",
    "collapse_repeated",
    "ctc_loss_v2",
    "ctc_unique_labels",
    "quantized_avg_pool",
    "quantized_conv2d",
    "quantized_max_pool",
    "quantized_relu_x",
]
