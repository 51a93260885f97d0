"""`tf.contrib.slim`: layers, losses, loops of training and evaluation, with argument scopes."""

import typing as _typing

from tensorfleet.contrib import layer_utils as utils, metrics as metrics
from tensorfleet.contrib.arg_scopes import (
    add_arg_scope as add_arg_scope,
    arg_scope as arg_scope,
    arg_scope_func_key as arg_scope_func_key,
    arg_scoped_arguments as arg_scoped_arguments,
    current_arg_scope as current_arg_scope,
    has_arg_scope as has_arg_scope,
)
from tensorfleet.contrib.model_variables import (
    add_model_variable as add_model_variable,
    assign_from_checkpoint as assign_from_checkpoint,
    assign_from_checkpoint_fn as assign_from_checkpoint_fn,
    assign_from_values as assign_from_values,
    assign_from_values_fn as assign_from_values_fn,
    filter_variables as filter_variables,
    get_local_variables as get_local_variables,
    get_model_variables as get_model_variables,
    get_trainable_variables as get_trainable_variables,
    get_unique_variable as get_unique_variable,
    get_variable_full_name as get_variable_full_name,
    get_variables as get_variables,
    get_variables_by_name as get_variables_by_name,
    get_variables_by_suffix as get_variables_by_suffix,
    get_variables_to_restore as get_variables_to_restore,
    global_variable as global_variable,
    local_variable as local_variable,
    model_variable as model_variable,
    variable as variable,
)
from tensorfleet.contrib.norm_layers import (
    batch_norm as batch_norm,
    layer_norm as layer_norm,
    unit_norm as unit_norm,
)
from tensorfleet.contrib.optimizing import (
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
from tensorfleet.contrib.scaling import (
    variance_scaling_initializer as variance_scaling_initializer,
    xavier_initializer as xavier_initializer,
    xavier_initializer as xavier_initializer_conv2d,
)
from tensorfleet.contrib.slim import (
    evaluation as evaluation,
    learning as learning,
    losses as losses,
    queues as queues,
)
from tensorfleet.contrib.summarizing import (
    summarize_activation as summarize_activation,
    summarize_activations as summarize_activations,
    summarize_biases as summarize_biases,
    summarize_collection as summarize_collection,
    summarize_tensor as summarize_tensor,
    summarize_tensors as summarize_tensors,
    summarize_variables as summarize_variables,
    summarize_weights as summarize_weights,
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
from tensorfleet.train.step_count import (
    assert_global_step as assert_global_step,
    create_global_step as create_global_step,
    get_global_step as get_global_step,
    get_or_create_global_step as get_or_create_global_step,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(
        __name__, modules=("evaluation", "learning", "losses", "metrics", "queues", "utils")
    )
