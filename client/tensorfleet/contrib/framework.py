"""`tf.contrib.framework`: argument scopes, variables of models, the global step."""

import typing as _typing

from tensorfleet.contrib import nest as nest
from tensorfleet.contrib.arg_scopes import (
    add_arg_scope as add_arg_scope,
    arg_scope as arg_scope,
    arg_scope_func_key as arg_scope_func_key,
    arg_scoped_arguments as arg_scoped_arguments,
    current_arg_scope as current_arg_scope,
    has_arg_scope as has_arg_scope,
)
from tensorfleet.contrib.framework_parts import (
    fuse_op as fuse_op,
    load_variable_slot_initializer as load_variable_slot_initializer,
    prepend_name_scope as prepend_name_scope,
    py_func as py_func,
    strip_name_scope as strip_name_scope,
    zero_initializer as zero_initializer,
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
from tensorfleet.contrib.small_parts import (
    VariableDeviceChooser as VariableDeviceChooser,
    assert_or_get_global_step as assert_or_get_global_step,
    assert_scalar as assert_scalar,
    assert_scalar_int as assert_scalar_int,
    get_graph_from_inputs as get_graph_from_inputs,
    get_name_scope as get_name_scope,
    get_placeholders as get_placeholders,
    reduce_sum_n as reduce_sum_n,
    remove_squeezable_dimensions as remove_squeezable_dimensions,
    with_same_shape as with_same_shape,
    with_shape as with_shape,
)
from tensorfleet.core.type_specs import TensorSpec as TensorSpec
from tensorfleet.graph.tensor import is_tensor as is_tensor
from tensorfleet.ops.array.sorting import argsort as argsort, sort as sort
from tensorfleet.ops.array.sparse_tensor import (
    convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor,
)
from tensorfleet.ops.control_flow.smart_cond import (
    known_predicate as smart_constant_value,
    smart_case as smart_case,
    smart_cond as smart_cond,
)
from tensorfleet.ops.debugging.type_checks import assert_same_float_dtype as assert_same_float_dtype
from tensorfleet.train.checkpoint_reader import (
    list_variables as list_variables,
    load_checkpoint as load_checkpoint,
    load_variable as load_variable,
)
from tensorfleet.train.initializing import init_from_checkpoint as init_from_checkpoint
from tensorfleet.train.remapping import (
    load_and_remap_matrix as load_and_remap_matrix,
    load_and_remap_matrix_initializer as load_and_remap_matrix_initializer,
    load_embedding_initializer as load_embedding_initializer,
    load_linear_multiclass_bias_initializer as load_linear_multiclass_bias_initializer,
)
from tensorfleet.train.step_count import (
    assert_global_step as assert_global_step,
    create_global_step as create_global_step,
    get_global_step as get_global_step,
    get_or_create_global_step as get_or_create_global_step,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__, modules=("nest",))

__all__ = [
    "TensorSpec",
    "VariableDeviceChooser",
    "add_arg_scope",
    "add_model_variable",
    "arg_scope",
    "arg_scope_func_key",
    "arg_scoped_arguments",
    "argsort",
    "assert_global_step",
    "assert_or_get_global_step",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_scalar_int",
    "assign_from_checkpoint",
    "assign_from_checkpoint_fn",
    "assign_from_values",
    "assign_from_values_fn",
    "convert_to_tensor_or_sparse_tensor",
    "create_global_step",
    "current_arg_scope",
    "filter_variables",
    "fuse_op",
    "get_global_step",
    "get_graph_from_inputs",
    "get_local_variables",
    "get_model_variables",
    "get_name_scope",
    "get_or_create_global_step",
    "get_placeholders",
    "get_trainable_variables",
    "get_unique_variable",
    "get_variable_full_name",
    "get_variables",
    "get_variables_by_name",
    "get_variables_by_suffix",
    "get_variables_to_restore",
    "global_variable",
    "has_arg_scope",
    "init_from_checkpoint",
    "is_tensor",
    "list_variables",
    "load_and_remap_matrix",
    "load_and_remap_matrix_initializer",
    "load_checkpoint",
    "load_embedding_initializer",
    "load_linear_multiclass_bias_initializer",
    "load_variable",
    "load_variable_slot_initializer",
    "local_variable",
    "model_variable",
    "nest",
    "prepend_name_scope",
    "py_func",
    "reduce_sum_n",
    "remove_squeezable_dimensions",
    "smart_case",
    "smart_cond",
    "smart_constant_value",
    "sort",
    "strip_name_scope",
    "variable",
    "with_same_shape",
    "with_shape",
    "zero_initializer",
]
