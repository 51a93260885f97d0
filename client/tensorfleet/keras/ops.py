"""The functions of this library that layers, losses and metrics are made of, under one name."""

from __future__ import annotations

from tensorfleet.graph.apply import (
    apply_none as apply_none,
)
from tensorfleet.graph.convert import (
    constant as constant,
)
from tensorfleet.graph.framework import (
    colocate_with as colocate_with,
    control_dependencies as control_dependencies,
    name_scope as name_scope,
)
from tensorfleet.graph.graph import (
    get_default_graph as get_default_graph,
)
from tensorfleet.graph.init_scope import (
    init_scope as init_scope,
)
from tensorfleet.ops.array.casting import (
    cast as cast,
)
from tensorfleet.ops.array.constants import (
    eye as eye,
    fill as fill,
    ones as ones,
    ones_like as ones_like,
    range as range,
    zeros as zeros,
    zeros_like as zeros_like,
)
from tensorfleet.ops.array.identity import (
    identity as identity,
    placeholder as placeholder,
    placeholder_with_default as placeholder_with_default,
    stop_gradient as stop_gradient,
)
from tensorfleet.ops.array.indexed_slices import (
    IndexedSlices as IndexedSlices,
)
from tensorfleet.ops.array.indexing import (
    gather as gather,
    gather_nd as gather_nd,
    one_hot as one_hot,
)
from tensorfleet.ops.array.joining import (
    concat as concat,
    split as split,
    stack as stack,
    unstack as unstack,
)
from tensorfleet.ops.array.padding import (
    pad as pad,
    tile as tile,
)
from tensorfleet.ops.array.rearranging import (
    reverse as reverse,
    transpose as transpose,
)
from tensorfleet.ops.array.selection import (
    in_top_k as in_top_k,
    sequence_mask as sequence_mask,
    top_k as top_k,
    where as where,
    where_v2 as where_v2,
)
from tensorfleet.ops.array.shaping import (
    expand_dims as expand_dims,
    reshape as reshape,
    shape as shape,
    size as size,
    squeeze as squeeze,
)
from tensorfleet.ops.array.sparse_parts import (
    sparse_concat as sparse_concat,
)
from tensorfleet.ops.array.sparse_tensor import (
    SparseTensor as SparseTensor,
    sparse_placeholder as sparse_placeholder,
    sparse_tensor_to_dense as sparse_tensor_to_dense,
)
from tensorfleet.ops.control_flow.control import (
    group as group,
)
from tensorfleet.ops.control_flow.control_flow import (
    cond as cond,
    while_loop as while_loop,
)
from tensorfleet.ops.control_flow.smart_cond import (
    known_predicate as known_predicate,
    smart_cond as smart_cond,
)
from tensorfleet.ops.data_flow.partition import (
    sparse_to_dense as sparse_to_dense,
    unique as unique,
)
from tensorfleet.ops.data_flow.tensor_array import (
    TensorArray as TensorArray,
)
from tensorfleet.ops.functional.map_fn import (
    foldl as foldl,
    foldr as foldr,
    map_fn as map_fn,
)
from tensorfleet.ops.image.resize_ops import (
    resize_bilinear as resize_bilinear,
    resize_nearest_neighbor as resize_nearest_neighbor,
)
from tensorfleet.ops.io.logging import (
    Print as Print,
)
from tensorfleet.ops.linalg.matrix_parts import (
    diag_part as diag_part,
)
from tensorfleet.ops.math.arithmetic import (
    add as add,
    div_no_nan as div_no_nan,
    maximum as maximum,
    minimum as minimum,
    pow as pow,
    squared_difference as squared_difference,
)
from tensorfleet.ops.math.clip import (
    clip_by_norm as clip_by_norm,
    clip_by_value as clip_by_value,
)
from tensorfleet.ops.math.comparison import (
    equal as equal,
    greater as greater,
    greater_equal as greater_equal,
    less as less,
    less_equal as less_equal,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    not_equal as not_equal,
)
from tensorfleet.ops.math.counting import (
    repeat as repeat,
)
from tensorfleet.ops.math.elementwise import (
    abs as abs,
    cos as cos,
    exp as exp,
    log as log,
    round as round,
    sigmoid as sigmoid,
    sign as sign,
    sin as sin,
    sqrt as sqrt,
    square as square,
    tanh as tanh,
)
from tensorfleet.ops.math.extrema import (
    argmax as argmax,
    argmin as argmin,
)
from tensorfleet.ops.math.matmul import (
    matmul as matmul,
    tensordot as tensordot,
)
from tensorfleet.ops.math.reduction import (
    reduce_all as reduce_all,
    reduce_any as reduce_any,
    reduce_logsumexp as reduce_logsumexp,
    reduce_max as reduce_max,
    reduce_mean as reduce_mean,
    reduce_min as reduce_min,
    reduce_prod as reduce_prod,
    reduce_std as reduce_std,
    reduce_sum as reduce_sum,
    reduce_variance as reduce_variance,
)
from tensorfleet.ops.math.scan import (
    cumprod as cumprod,
    cumsum as cumsum,
)
from tensorfleet.ops.math.segment import (
    unsorted_segment_sum as unsorted_segment_sum,
)
from tensorfleet.ops.math.sparse_arithmetic import (
    sparse_tensor_dense_matmul as sparse_tensor_dense_matmul,
)
from tensorfleet.ops.nn.activation import (
    bias_add as bias_add,
    elu as elu,
    leaky_relu as leaky_relu,
    relu as relu,
    relu6 as relu6,
    selu as selu,
    softmax as softmax,
    softplus as softplus,
    softsign as softsign,
)
from tensorfleet.ops.nn.confusion import (
    confusion_matrix as confusion_matrix,
)
from tensorfleet.ops.nn.conv import (
    conv2d_transpose as conv2d_transpose,
    depthwise_conv2d as depthwise_conv2d,
    separable_conv2d as separable_conv2d,
)
from tensorfleet.ops.nn.conv3d import (
    conv3d_transpose as conv3d_transpose,
)
from tensorfleet.ops.nn.convolution import (
    convolution as convolution,
    pool as pool,
)
from tensorfleet.ops.nn.cross_entropy import (
    sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
)
from tensorfleet.ops.nn.ctc import (
    ctc_beam_search_decoder as ctc_beam_search_decoder,
    ctc_greedy_decoder as ctc_greedy_decoder,
    ctc_loss as ctc_loss,
)
from tensorfleet.ops.nn.embedding import (
    embedding_lookup as embedding_lookup,
)
from tensorfleet.ops.nn.layers import (
    dropout as dropout,
)
from tensorfleet.ops.nn.norm import (
    batch_normalization as batch_normalization,
    fused_batch_norm as fused_batch_norm,
    l2_normalize as l2_normalize,
    moments as moments,
)
from tensorfleet.ops.random.random_ops import (
    random_normal as random_normal,
    random_uniform as random_uniform,
    truncated_normal as truncated_normal,
)
from tensorfleet.ops.state.variable_collections import (
    variables_initializer as variables_initializer,
)
from tensorfleet.ops.state.variable_ops import (
    assign as assign,
    assign_add as assign_add,
    assign_sub as assign_sub,
    is_variable_initialized as is_variable_initialized,
)
