"""TensorFlow 1.x's public names, served by a TensorFleet cluster.

Every name is written here beside the module that defines it. Namespaces such as `tf.train` are modules of
this package that hold names only; they are imported at their first use.
"""

import typing as _typing
from importlib import import_module as _import_module

from tensorfleet.api.behavior import (
    control_flow_v2_enabled as control_flow_v2_enabled,
    disable_control_flow_v2 as disable_control_flow_v2,
    disable_eager_execution as disable_eager_execution,
    disable_tensor_equality as disable_tensor_equality,
    disable_v2_behavior as disable_v2_behavior,
    disable_v2_tensorshape as disable_v2_tensorshape,
    enable_control_flow_v2 as enable_control_flow_v2,
    enable_eager_execution as enable_eager_execution,
    enable_tensor_equality as enable_tensor_equality,
    enable_v2_behavior as enable_v2_behavior,
    enable_v2_tensorshape as enable_v2_tensorshape,
    executing_eagerly as executing_eagerly,
    executing_eagerly_outside_functions as executing_eagerly_outside_functions,
)
from tensorfleet.api.libraries import (
    load_file_system_library as load_file_system_library,
    load_library as load_library,
    load_op_library as load_op_library,
)
from tensorfleet.autodiff.custom_gradient import (
    custom_gradient as custom_gradient,
    grad_pass_through as grad_pass_through,
    recompute_grad as recompute_grad,
)
from tensorfleet.autodiff.gradient_tape import GradientTape as GradientTape
from tensorfleet.autodiff.gradients import (
    AggregationMethod as AggregationMethod,
    UnconnectedGradients as UnconnectedGradients,
    gradients as gradients,
    hessians as hessians,
)
from tensorfleet.core.composite_specs import (
    IndexedSlicesSpec as IndexedSlicesSpec,
    NoneTensorSpec as NoneTensorSpec,
    TensorArraySpec as TensorArraySpec,
)
from tensorfleet.core.device import DeviceSpec as DeviceSpec
from tensorfleet.core.dimension import Dimension as Dimension, dimension_value as dimension_value
from tensorfleet.core.dispatch import versions_from as _versions_from
from tensorfleet.core.dtypes import (
    QUANTIZED_DTYPES as QUANTIZED_DTYPES,
    DType as DType,
    as_dtype as as_dtype,
    bfloat16 as bfloat16,
    bool as bool,
    complex64 as complex64,
    complex128 as complex128,
    double as double,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    half as half,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    qint8 as qint8,
    qint16 as qint16,
    qint32 as qint32,
    quint8 as quint8,
    quint16 as quint16,
    resource as resource,
    string as string,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    variant as variant,
)
from tensorfleet.core.errors import OpError as OpError
from tensorfleet.core.logging import get_logger as get_logger
from tensorfleet.core.shapes import TensorShape as TensorShape, dimension_at_index as dimension_at_index
from tensorfleet.core.tensor_util import make_ndarray as make_ndarray, make_tensor_proto as make_tensor_proto
from tensorfleet.core.type_specs import (
    SparseTensorSpec as SparseTensorSpec,
    TensorSpec as TensorSpec,
    TypeSpec as TypeSpec,
)
from tensorfleet.core.version import (
    API_VERSION as _API_VERSION,
    COMPILER_VERSION as COMPILER_VERSION,
    GIT_VERSION as GIT_VERSION,
)
from tensorfleet.functions import serving as _serving  # noqa: F401
from tensorfleet.graph import graph as _graph
from tensorfleet.graph.convert import (
    constant as constant,
    convert_to_tensor as convert_to_tensor,
    register_tensor_conversion_function as register_tensor_conversion_function,
)
from tensorfleet.graph.default_session import get_default_session as get_default_session
from tensorfleet.graph.framework import (
    add_to_collection as add_to_collection,
    add_to_collections as add_to_collections,
    colocate_with as colocate_with,
    container as container,
    control_dependencies as control_dependencies,
    device as device,
    get_collection as get_collection,
    get_collection_ref as get_collection_ref,
    name_scope as name_scope,
    op_scope as op_scope,
)
from tensorfleet.graph.gradient_registry import (
    NoGradient as NoGradient,
    NotDifferentiable as NotDifferentiable,
    RegisterGradient as RegisterGradient,
    no_gradient as no_gradient,
)
from tensorfleet.graph.graph import (
    Graph as Graph,
    get_default_graph as get_default_graph,
    reset_default_graph as reset_default_graph,
)
from tensorfleet.graph.graph_keys import GraphKeys as GraphKeys
from tensorfleet.graph.import_graph import import_graph_def as import_graph_def
from tensorfleet.graph.init_scope import init_scope as init_scope, is_symbolic_tensor as is_symbolic_tensor
from tensorfleet.graph.operation import Operation as Operation
from tensorfleet.graph.seeds import get_seed as get_seed
from tensorfleet.graph.tensor import Tensor as Tensor, is_tensor as is_tensor
from tensorfleet.ops.array.batching import (
    batch_to_space as batch_to_space,
    batch_to_space_nd as batch_to_space_nd,
    required_space_to_batch_paddings as required_space_to_batch_paddings,
    space_to_batch as space_to_batch,
    space_to_batch_nd as space_to_batch_nd,
)
from tensorfleet.ops.array.casting import (
    bitcast as bitcast,
    cast as cast,
    saturate_cast as saturate_cast,
    to_bfloat16 as to_bfloat16,
    to_complex64 as to_complex64,
    to_complex128 as to_complex128,
    to_double as to_double,
    to_float as to_float,
    to_int32 as to_int32,
    to_int64 as to_int64,
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
    check_numerics as check_numerics,
    ensure_shape as ensure_shape,
    guarantee_const as guarantee_const,
    identity as identity,
    identity_n as identity_n,
    placeholder as placeholder,
    placeholder_with_default as placeholder_with_default,
    stop_gradient as stop_gradient,
)
from tensorfleet.ops.array.indexed_slices import (
    IndexedSlices as IndexedSlices,
    IndexedSlicesValue as IndexedSlicesValue,
    convert_to_tensor_or_indexed_slices as convert_to_tensor_or_indexed_slices,
)
from tensorfleet.ops.array.indexing import (
    batch_gather as batch_gather,
    gather as gather,
    gather_nd as gather_nd,
    one_hot as one_hot,
    scatter_nd as scatter_nd,
    tensor_scatter_add as tensor_scatter_add,
    tensor_scatter_nd_add as tensor_scatter_nd_add,
    tensor_scatter_nd_max as tensor_scatter_nd_max,
    tensor_scatter_nd_min as tensor_scatter_nd_min,
    tensor_scatter_nd_sub as tensor_scatter_nd_sub,
    tensor_scatter_nd_update as tensor_scatter_nd_update,
    tensor_scatter_sub as tensor_scatter_sub,
    tensor_scatter_update as tensor_scatter_update,
)
from tensorfleet.ops.array.joining import (
    concat as concat,
    pack as pack,
    parallel_stack as parallel_stack,
    split as split,
    stack as stack,
    unpack as unpack,
    unstack as unstack,
)
from tensorfleet.ops.array.linspace import lin_space as lin_space, linspace as linspace
from tensorfleet.ops.array.padding import pad as pad, tile as tile
from tensorfleet.ops.array.rearranging import (
    depth_to_space as depth_to_space,
    invert_permutation as invert_permutation,
    matrix_transpose as matrix_transpose,
    meshgrid as meshgrid,
    reverse as reverse,
    reverse_sequence as reverse_sequence,
    reverse_v2 as reverse_v2,
    roll as roll,
    space_to_depth as space_to_depth,
    transpose as transpose,
)
from tensorfleet.ops.array.selection import (
    approx_top_k as approx_top_k,
    boolean_mask as boolean_mask,
    in_top_k as in_top_k,
    select as select,
    sequence_mask as sequence_mask,
    top_k as top_k,
    where as where,
    where_v2 as where_v2,
)
from tensorfleet.ops.array.shaping import (
    broadcast_dynamic_shape as broadcast_dynamic_shape,
    broadcast_static_shape as broadcast_static_shape,
    broadcast_to as broadcast_to,
    expand_dims as expand_dims,
    get_static_value as get_static_value,
    rank as rank,
    reshape as reshape,
    shape as shape,
    shape_n as shape_n,
    size as size,
    squeeze as squeeze,
)
from tensorfleet.ops.array.slicing import newaxis as newaxis, slice as slice, strided_slice as strided_slice
from tensorfleet.ops.array.sorting import (
    argsort as argsort,
    searchsorted as searchsorted,
    sort as sort,
)
from tensorfleet.ops.array.sparse_elements import (
    sparse_fill_empty_rows as sparse_fill_empty_rows,
    sparse_mask as sparse_mask,
    sparse_retain as sparse_retain,
)
from tensorfleet.ops.array.sparse_parts import (
    sparse_concat as sparse_concat,
    sparse_reshape as sparse_reshape,
    sparse_slice as sparse_slice,
    sparse_split as sparse_split,
    sparse_transpose as sparse_transpose,
)
from tensorfleet.ops.array.sparse_tensor import (
    SparseTensor as SparseTensor,
    SparseTensorValue as SparseTensorValue,
    convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor,
    deserialize_many_sparse as deserialize_many_sparse,
    serialize_many_sparse as serialize_many_sparse,
    serialize_sparse as serialize_sparse,
    sparse_placeholder as sparse_placeholder,
    sparse_reorder as sparse_reorder,
    sparse_tensor_to_dense as sparse_tensor_to_dense,
)
from tensorfleet.ops.control_flow.control import group as group, no_op as no_op, tuple as tuple
from tensorfleet.ops.control_flow.control_flow import (
    case as case,
    cond as cond,
    switch_case as switch_case,
    while_loop as while_loop,
)
from tensorfleet.ops.control_flow.critical_section import CriticalSection as CriticalSection
from tensorfleet.ops.data_flow.accumulators import (
    ConditionalAccumulator as ConditionalAccumulator,
    ConditionalAccumulatorBase as ConditionalAccumulatorBase,
    SparseConditionalAccumulator as SparseConditionalAccumulator,
)
from tensorfleet.ops.data_flow.partition import (
    dynamic_partition as dynamic_partition,
    dynamic_stitch as dynamic_stitch,
    histogram_fixed_width as histogram_fixed_width,
    setdiff1d as setdiff1d,
    sparse_to_dense as sparse_to_dense,
    unique as unique,
    unique_with_counts as unique_with_counts,
)
from tensorfleet.ops.data_flow.queue_base import QueueBase as QueueBase
from tensorfleet.ops.data_flow.queues import (
    FIFOQueue as FIFOQueue,
    PaddingFIFOQueue as PaddingFIFOQueue,
    PriorityQueue as PriorityQueue,
    RandomShuffleQueue as RandomShuffleQueue,
)
from tensorfleet.ops.data_flow.session_handles import (
    delete_session_tensor as delete_session_tensor,
    get_session_handle as get_session_handle,
    get_session_tensor as get_session_tensor,
)
from tensorfleet.ops.data_flow.tensor_array import TensorArray as TensorArray
from tensorfleet.ops.debugging.checks import (
    add_check_numerics_ops as add_check_numerics_ops,
    assert_equal as assert_equal,
    assert_greater as assert_greater,
    assert_greater_equal as assert_greater_equal,
    assert_less as assert_less,
    assert_less_equal as assert_less_equal,
    assert_near as assert_near,
    assert_negative as assert_negative,
    assert_non_negative as assert_non_negative,
    assert_non_positive as assert_non_positive,
    assert_none_equal as assert_none_equal,
    assert_positive as assert_positive,
    assert_rank as assert_rank,
    assert_rank_at_least as assert_rank_at_least,
    assert_rank_in as assert_rank_in,
    assert_scalar as assert_scalar,
    is_non_decreasing as is_non_decreasing,
    is_strictly_increasing as is_strictly_increasing,
    verify_tensor_all_finite as verify_tensor_all_finite,
)
from tensorfleet.ops.debugging.sparse_shapes import sparse_reset_shape as sparse_reset_shape
from tensorfleet.ops.debugging.type_checks import (
    assert_integer as assert_integer,
    assert_proper_iterable as assert_proper_iterable,
    assert_same_float_dtype as assert_same_float_dtype,
    assert_type as assert_type,
    is_numeric_tensor as is_numeric_tensor,
)
from tensorfleet.ops.functional.histogram import histogram_fixed_width_bins as histogram_fixed_width_bins
from tensorfleet.ops.functional.map_fn import foldl as foldl, foldr as foldr, map_fn as map_fn, scan as scan
from tensorfleet.ops.functional.vectorized_map import vectorized_map as vectorized_map
from tensorfleet.ops.image.patches import (
    extract_image_patches as extract_image_patches,
    extract_volume_patches as extract_volume_patches,
)
from tensorfleet.ops.io.decoding import (
    decode_compressed as decode_compressed,
    decode_csv as decode_csv,
    decode_json_example as decode_json_example,
    parse_tensor as parse_tensor,
    serialize_tensor as serialize_tensor,
)
from tensorfleet.ops.io.eager_values import py_function as py_function
from tensorfleet.ops.io.features import (
    FixedLenFeature as FixedLenFeature,
    FixedLenSequenceFeature as FixedLenSequenceFeature,
    SparseFeature as SparseFeature,
    VarLenFeature as VarLenFeature,
)
from tensorfleet.ops.io.logging import (
    Assert as Assert,
    Print as Print,
    print as print,
    timestamp as timestamp,
)
from tensorfleet.ops.io.parsing import (
    parse_example as parse_example,
    parse_single_example as parse_single_example,
    parse_single_sequence_example as parse_single_sequence_example,
    sparse_merge as sparse_merge,
    sparse_to_indicator as sparse_to_indicator,
)
from tensorfleet.ops.io.readers import (
    FixedLengthRecordReader as FixedLengthRecordReader,
    IdentityReader as IdentityReader,
    ReaderBase as ReaderBase,
    TextLineReader as TextLineReader,
    TFRecordReader as TFRecordReader,
    WholeFileReader as WholeFileReader,
    matching_files as matching_files,
    read_file as read_file,
    write_file as write_file,
)
from tensorfleet.ops.io.script import numpy_function as numpy_function, py_func as py_func
from tensorfleet.ops.linalg.factors import (
    matrix_solve_ls as matrix_solve_ls,
    matrix_square_root as matrix_square_root,
)
from tensorfleet.ops.linalg.linalg import (
    cholesky as cholesky,
    cholesky_solve as cholesky_solve,
    matrix_determinant as matrix_determinant,
    matrix_inverse as matrix_inverse,
    matrix_solve as matrix_solve,
    matrix_triangular_solve as matrix_triangular_solve,
    norm as norm,
    qr as qr,
    self_adjoint_eig as self_adjoint_eig,
    self_adjoint_eigvals as self_adjoint_eigvals,
    svd as svd,
)
from tensorfleet.ops.linalg.matrix_parts import (
    diag as diag,
    diag_part as diag_part,
    matrix_band_part as matrix_band_part,
    matrix_diag as matrix_diag,
    matrix_diag_part as matrix_diag_part,
    matrix_set_diag as matrix_set_diag,
    trace as trace,
)
from tensorfleet.ops.math import operators as _operators  # noqa: F401  the operators of tensors
from tensorfleet.ops.math.add_n import accumulate_n as accumulate_n, add_n as add_n
from tensorfleet.ops.math.arithmetic import (
    add as add,
    div as div,
    div_no_nan as div_no_nan,
    divide as divide,
    floor_div as floor_div,
    floordiv as floordiv,
    floormod as floormod,
    maximum as maximum,
    minimum as minimum,
    mod as mod,
    mul as mul,
    multiply as multiply,
    pow as pow,
    realdiv as realdiv,
    scalar_mul as scalar_mul,
    squared_difference as squared_difference,
    sub as sub,
    subtract as subtract,
    truediv as truediv,
    truncatediv as truncatediv,
    truncatemod as truncatemod,
)
from tensorfleet.ops.math.bessel import (
    betainc as betainc,
    igamma as igamma,
    igammac as igammac,
)
from tensorfleet.ops.math.clip import (
    clip_by_average_norm as clip_by_average_norm,
    clip_by_global_norm as clip_by_global_norm,
    clip_by_norm as clip_by_norm,
    clip_by_value as clip_by_value,
    global_norm as global_norm,
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
    logical_xor as logical_xor,
    not_equal as not_equal,
)
from tensorfleet.ops.math.complex_numbers import (
    angle as angle,
    complex as complex,
    complex_abs as complex_abs,
    conj as conj,
    imag as imag,
    real as real,
)
from tensorfleet.ops.math.counting import (
    bincount as bincount,
    repeat as repeat,
    unravel_index as unravel_index,
)
from tensorfleet.ops.math.einsum import (
    einsum as einsum,
)
from tensorfleet.ops.math.elementwise import (
    abs as abs,
    acos as acos,
    acosh as acosh,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    ceil as ceil,
    cos as cos,
    cosh as cosh,
    exp as exp,
    expm1 as expm1,
    floor as floor,
    inv as inv,
    is_finite as is_finite,
    is_inf as is_inf,
    is_nan as is_nan,
    log as log,
    log1p as log1p,
    log_sigmoid as log_sigmoid,
    neg as neg,
    negative as negative,
    reciprocal as reciprocal,
    rint as rint,
    round as round,
    rsqrt as rsqrt,
    sigmoid as sigmoid,
    sign as sign,
    sin as sin,
    sinh as sinh,
    sqrt as sqrt,
    square as square,
    tan as tan,
    tanh as tanh,
)
from tensorfleet.ops.math.extrema import (
    arg_max as arg_max,
    arg_min as arg_min,
    argmax as argmax,
    argmin as argmin,
)
from tensorfleet.ops.math.fourier import (
    fft as fft,
    fft2d as fft2d,
    fft3d as fft3d,
    fftnd as fftnd,
    ifft as ifft,
    ifft2d as ifft2d,
    ifft3d as ifft3d,
    ifftnd as ifftnd,
    irfftnd as irfftnd,
    rfftnd as rfftnd,
)
from tensorfleet.ops.math.matmul import batch_matmul as batch_matmul, matmul as matmul, tensordot as tensordot
from tensorfleet.ops.math.reduction import (
    count_nonzero as count_nonzero,
    reduce_all as reduce_all,
    reduce_any as reduce_any,
    reduce_logsumexp as reduce_logsumexp,
    reduce_max as reduce_max,
    reduce_mean as reduce_mean,
    reduce_min as reduce_min,
    reduce_prod as reduce_prod,
    reduce_sum as reduce_sum,
)
from tensorfleet.ops.math.scan import cumprod as cumprod, cumsum as cumsum
from tensorfleet.ops.math.segment import (
    segment_max as segment_max,
    segment_mean as segment_mean,
    segment_min as segment_min,
    segment_prod as segment_prod,
    segment_sum as segment_sum,
    sparse_segment_mean as sparse_segment_mean,
    sparse_segment_sqrt_n as sparse_segment_sqrt_n,
    sparse_segment_sum as sparse_segment_sum,
    unsorted_segment_max as unsorted_segment_max,
    unsorted_segment_mean as unsorted_segment_mean,
    unsorted_segment_min as unsorted_segment_min,
    unsorted_segment_prod as unsorted_segment_prod,
    unsorted_segment_sqrt_n as unsorted_segment_sqrt_n,
    unsorted_segment_sum as unsorted_segment_sum,
)
from tensorfleet.ops.math.sparse_arithmetic import (
    sparse_add as sparse_add,
    sparse_matmul as sparse_matmul,
    sparse_maximum as sparse_maximum,
    sparse_minimum as sparse_minimum,
    sparse_reduce_max as sparse_reduce_max,
    sparse_reduce_max_sparse as sparse_reduce_max_sparse,
    sparse_reduce_sum as sparse_reduce_sum,
    sparse_reduce_sum_sparse as sparse_reduce_sum_sparse,
    sparse_softmax as sparse_softmax,
    sparse_tensor_dense_matmul as sparse_tensor_dense_matmul,
)
from tensorfleet.ops.math.special import (
    digamma as digamma,
    erf as erf,
    erfc as erfc,
    lgamma as lgamma,
    polygamma as polygamma,
    zeta as zeta,
)
from tensorfleet.ops.math.vectors import (
    cross as cross,
    lbeta as lbeta,
)
from tensorfleet.ops.nn.confusion import confusion_matrix as confusion_matrix
from tensorfleet.ops.nn.quantization import (
    fake_quant_with_min_max_args as fake_quant_with_min_max_args,
    fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient,
    fake_quant_with_min_max_vars as fake_quant_with_min_max_vars,
    fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient,
    fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
    fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient,
)
from tensorfleet.ops.nn.quantize import (
    dequantize as dequantize,
    quantize as quantize,
    quantize_v2 as quantize_v2,
)
from tensorfleet.ops.ragged import operators as _ragged_operators  # noqa: F401  those of RaggedTensors
from tensorfleet.ops.ragged.filling import (
    ragged_fill_empty_rows as ragged_fill_empty_rows,
    ragged_fill_empty_rows_grad as ragged_fill_empty_rows_grad,
)
from tensorfleet.ops.ragged.ragged_tensor import RaggedTensor as RaggedTensor
from tensorfleet.ops.ragged.spec import RaggedTensorSpec as RaggedTensorSpec
from tensorfleet.ops.ragged.strings import string_split as string_split
from tensorfleet.ops.random.bounded import random_index_shuffle as random_index_shuffle
from tensorfleet.ops.random.random_ops import (
    multinomial as multinomial,
    random_crop as random_crop,
    random_gamma as random_gamma,
    random_normal as random_normal,
    random_poisson as random_poisson,
    random_shuffle as random_shuffle,
    random_uniform as random_uniform,
    set_random_seed as set_random_seed,
    truncated_normal as truncated_normal,
)
from tensorfleet.ops.state.batch_scatter import batch_scatter_update as batch_scatter_update
from tensorfleet.ops.state.get_variable import (
    get_local_variable as get_local_variable,
    get_variable as get_variable,
)
from tensorfleet.ops.state.initializers import (
    constant_initializer as constant_initializer,
    glorot_normal_initializer as glorot_normal_initializer,
    glorot_uniform_initializer as glorot_uniform_initializer,
    he_normal as he_normal,
    he_uniform as he_uniform,
    identity_initializer as identity_initializer,
    lecun_normal as lecun_normal,
    lecun_uniform as lecun_uniform,
    ones_initializer as ones_initializer,
    orthogonal_initializer as orthogonal_initializer,
    random_normal_initializer as random_normal_initializer,
    random_uniform_initializer as random_uniform_initializer,
    truncated_normal_initializer as truncated_normal_initializer,
    uniform_unit_scaling_initializer as uniform_unit_scaling_initializer,
    variance_scaling_initializer as variance_scaling_initializer,
    zeros_initializer as zeros_initializer,
)
from tensorfleet.ops.state.modules import Module as Module
from tensorfleet.ops.state.partitioners import (
    fixed_size_partitioner as fixed_size_partitioner,
    min_max_variable_partitioner as min_max_variable_partitioner,
    variable_axis_size_partitioner as variable_axis_size_partitioner,
)
from tensorfleet.ops.state.template import (
    make_template as make_template,
)
from tensorfleet.ops.state.variable_collections import (
    all_variables as all_variables,
    assert_variables_initialized as assert_variables_initialized,
    global_variables as global_variables,
    global_variables_initializer as global_variables_initializer,
    initialize_all_tables as initialize_all_tables,
    initialize_all_variables as initialize_all_variables,
    initialize_local_variables as initialize_local_variables,
    initialize_variables as initialize_variables,
    local_variables as local_variables,
    local_variables_initializer as local_variables_initializer,
    model_variables as model_variables,
    moving_average_variables as moving_average_variables,
    report_uninitialized_variables as report_uninitialized_variables,
    tables_initializer as tables_initializer,
    trainable_variables as trainable_variables,
    variables_initializer as variables_initializer,
)
from tensorfleet.ops.state.variable_creation import (
    create_partitioned_variables as create_partitioned_variables,
)
from tensorfleet.ops.state.variable_ops import (
    assign as assign,
    assign_add as assign_add,
    assign_sub as assign_sub,
    count_up_to as count_up_to,
    is_variable_initialized as is_variable_initialized,
    scatter_add as scatter_add,
    scatter_div as scatter_div,
    scatter_max as scatter_max,
    scatter_min as scatter_min,
    scatter_mul as scatter_mul,
    scatter_nd_add as scatter_nd_add,
    scatter_nd_sub as scatter_nd_sub,
    scatter_nd_update as scatter_nd_update,
    scatter_sub as scatter_sub,
    scatter_update as scatter_update,
)
from tensorfleet.ops.state.variable_options import (
    VariableAggregation as VariableAggregation,
    VariableSynchronization as VariableSynchronization,
    disable_resource_variables as disable_resource_variables,
    enable_resource_variables as enable_resource_variables,
    resource_variables_enabled as resource_variables_enabled,
)
from tensorfleet.ops.state.variable_scope import (
    AUTO_REUSE as AUTO_REUSE,
    VariableScope as VariableScope,
    get_variable_scope as get_variable_scope,
    no_regularizer as no_regularizer,
    variable_creator_scope as variable_creator_scope,
    variable_op_scope as variable_op_scope,
    variable_scope as variable_scope,
)
from tensorfleet.ops.state.variables import Variable as Variable
from tensorfleet.ops.text.edit_distance import edit_distance as edit_distance
from tensorfleet.ops.text.hashing import (
    fingerprint as fingerprint,
    string_to_hash_bucket as string_to_hash_bucket,
    string_to_hash_bucket_fast as string_to_hash_bucket_fast,
    string_to_hash_bucket_strong as string_to_hash_bucket_strong,
)
from tensorfleet.ops.text.strings import (
    as_string as as_string,
    decode_base64 as decode_base64,
    decode_raw as decode_raw,
    encode_base64 as encode_base64,
    reduce_join as reduce_join,
    regex_replace as regex_replace,
    string_join as string_join,
    string_strip as string_strip,
    string_to_number as string_to_number,
    substr as substr,
)
from tensorfleet.proto.attr_value_pb2 import AttrValue as AttrValue, NameAttrList as NameAttrList
from tensorfleet.proto.config_pb2 import (
    ConfigProto as ConfigProto,
    GPUOptions as GPUOptions,
    GraphOptions as GraphOptions,
    OptimizerOptions as OptimizerOptions,
    RunMetadata as RunMetadata,
    RunOptions as RunOptions,
)
from tensorfleet.proto.graph_pb2 import GraphDef as GraphDef
from tensorfleet.proto.node_def_pb2 import NodeDef as NodeDef
from tensorfleet.session.session import InteractiveSession as InteractiveSession, Session as Session

_versions_from(lambda: _import_module("tensorfleet.api.ragged_versions"))
_versions_from(lambda: _import_module("tensorfleet.api.operator_versions"))
_versions_from(lambda: _import_module("tensorfleet.api.sparse_versions"))

VERSION = __version__ = _API_VERSION
__git_version__ = GIT_VERSION
__compiler_version__ = COMPILER_VERSION
CXX11_ABI_FLAG = __cxx11_abi_flag__ = 0
CXX_VERSION = 0
MONOLITHIC_BUILD = __monolithic_build__ = 0
GRAPH_DEF_VERSION = _graph.PRODUCER_VERSION
GRAPH_DEF_VERSION_MIN_CONSUMER = _graph.MIN_CONSUMER_VERSION
GRAPH_DEF_VERSION_MIN_PRODUCER = 0

if _typing.TYPE_CHECKING:
    from tensorfleet import (
        app as app,
        audio as audio,
        autograph as autograph,
        bitwise as bitwise,
        compat as compat,
        config as config,
        contrib as contrib,
        data as data,
        debugging as debugging,
        distribute as distribute,
        distributions as distributions,
        dtypes as dtypes,
        errors as errors,
        estimator as estimator,
        feature_column as feature_column,
        flags as flags,
        gfile as gfile,
        graph_util as graph_util,
        image as image,
        initializers as initializers,
        io as io,
        keras as keras,
        layers as layers,
        linalg as linalg,
        logging as logging,
        lookup as lookup,
        losses as losses,
        manip as manip,
        math as math,
        metrics as metrics,
        nest as nest,
        nn as nn,
        profiler as profiler,
        python_io as python_io,
        quantization as quantization,
        queue as queue,
        ragged as ragged,
        random as random,
        resource_loader as resource_loader,
        saved_model as saved_model,
        sets as sets,
        signal as signal,
        sparse as sparse,
        spectral as spectral,
        strings as strings,
        summary as summary,
        sysconfig as sysconfig,
        test as test,
        train as train,
        user_ops as user_ops,
        version as version,
    )
    from tensorfleet.api.raw_ops import raw_ops as raw_ops
    from tensorfleet.data.nested import OptionalSpec as OptionalSpec
    from tensorfleet.data.specs import type_spec_from_value as type_spec_from_value
    from tensorfleet.functions.polymorphic import function as function
    from tensorfleet.ops.nn.general_conv import (
        conv as conv,
        conv2d_backprop_filter_v2 as conv2d_backprop_filter_v2,
        conv2d_backprop_input_v2 as conv2d_backprop_input_v2,
    )
    from tensorfleet.ops.nn.quantized_layers import quantized_concat as quantized_concat
    from tensorfleet.proto.event_pb2 import Event as Event, LogMessage as LogMessage, SessionLog as SessionLog
    from tensorfleet.proto.histogram_pb2 import HistogramProto as HistogramProto
    from tensorfleet.proto.meta_graph_pb2 import MetaGraphDef as MetaGraphDef, TensorInfo as TensorInfo
    from tensorfleet.proto.summary_pb2 import Summary as Summary, SummaryMetadata as SummaryMetadata
else:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(
        __name__,
        modules=(
            "app",
            "audio",
            "autograph",
            "bitwise",
            "compat",
            "config",
            "contrib",
            "data",
            "debugging",
            "distribute",
            "distributions",
            "dtypes",
            "errors",
            "estimator",
            "feature_column",
            "flags",
            "gfile",
            "graph_util",
            "image",
            "initializers",
            "io",
            "keras",
            "layers",
            "linalg",
            "logging",
            "lookup",
            "losses",
            "manip",
            "math",
            "metrics",
            "nest",
            "nn",
            "quantization",
            "queue",
            "profiler",
            "python_io",
            "ragged",
            "random",
            "resource_loader",
            "saved_model",
            "sets",
            "signal",
            "spectral",
            "sparse",
            "strings",
            "summary",
            "sysconfig",
            "test",
            "train",
            "user_ops",
            "version",
        ),
        names={
            "conv": "tensorfleet.ops.nn.general_conv",
            "conv2d_backprop_filter_v2": "tensorfleet.ops.nn.general_conv",
            "conv2d_backprop_input_v2": "tensorfleet.ops.nn.general_conv",
            "quantized_concat": "tensorfleet.ops.nn.quantized_layers",
            "Event": "tensorfleet.proto.event_pb2",
            "HistogramProto": "tensorfleet.proto.histogram_pb2",
            "LogMessage": "tensorfleet.proto.event_pb2",
            "MetaGraphDef": "tensorfleet.proto.meta_graph_pb2",
            "SessionLog": "tensorfleet.proto.event_pb2",
            "Summary": "tensorfleet.proto.summary_pb2",
            "SummaryMetadata": "tensorfleet.proto.summary_pb2",
            "TensorInfo": "tensorfleet.proto.meta_graph_pb2",
            "raw_ops": "tensorfleet.api.raw_ops",
            "OptionalSpec": "tensorfleet.data.nested",
            "function": "tensorfleet.functions.polymorphic",
            "type_spec_from_value": "tensorfleet.data.specs",
        },
    )
