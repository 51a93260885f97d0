"""Internal modules of TensorFlow that libraries import, and where their names are looked up.

`client.…` are names of `tensorfleet.run.internals` and, below it, of the modules in `tensorfleet.run.python`.
"""

from __future__ import annotations

_GENERATED = (
    *("array", "bitwise", "candidate_sampling", "control_flow", "ctc", "data_flow", "dataset", "functional"),
    *("image", "io", "linalg", "list", "logging", "lookup", "manip", "math", "nn", "parsing", "random"),
    *("resource_variable", "script", "sdca", "sendrecv", "set", "sparse", "spectral", "state"),
    *("stateless_random", "string", "summary", "training", "user"),
)

MODULES: dict[str, str] = {
    **{f"python.ops.gen_{name}_ops": "client.generated_ops" for name in _GENERATED},
    "python.eager": "client.eager",
    "python.eager.backprop": "tf",
    "python.eager.context": "client.context client.eager",
    "contrib.eager": "contrib.eager client.eager_functions",
    "contrib.eager.python": "contrib.eager client.eager_functions",
    "contrib.eager.python.tfe": "contrib.eager client.eager_functions",
    "python.estimator.util": "client.function_utils client.util",
    "python.framework.common_shapes": "client.framework_ops client.ops",
    "python.framework.composite_tensor": "client.composite_tensor client.ops",
    "python.framework.device_spec": "tf",
    "python.framework.indexed_slices": "tf",
    "python.framework.tensor_spec": "tf",
    "python.framework.type_spec": "tf",
    "python.keras": "",
    "python.keras.engine": "",
    "python.keras.engine.input_spec": "layers",
    "python.ops.bitwise_ops": "bitwise",
    "python.ops.control_flow_util": "client.control_flow_util client.ops",
    "python.ops.inplace_ops": "tf client.generated_ops client.ops",
    "python.ops.linalg.linear_operator": "linalg",
    "python.ops.linalg.linear_operator_addition": "",
    "python.ops.linalg.linear_operator_util": "",
    "python.ops.list_ops": "client.generated_ops",
    "python.ops.manip_ops": "manip tf",
    "python.ops.map_fn": "tf",
    "python.ops.numerics": "tf",
    "python.ops.ragged": "ragged",
    "python.ops.ragged.ragged_tensor": "tf ragged",
    "python.ops.resources": "client.resources",
    "python.ops.signal": "signal",
    "python.ops.spectral_ops": "spectral signal",
    "python.ops.stateless_random_ops": "random",
    "python.ops.summary_ops": "summary",
    "python.ops.unconnected_gradients": "tf",
    "python.ops.weights_broadcast_ops": "client.weights",
    "python.tf2": "client.behavior client.eager",
    "python.training.evaluation": "",
    "python.util.all_util": "client.all_util client.util",
    "python.util.deprecation": "client.deprecation client.util",
    "python.util.function_utils": "client.function_utils",
    "python.util.keyword_args": "client.decorating",
    "python.util.lazy_loader": "client.lazy_loader client.util",
    "python.util.tf_contextlib": "client.decorating client.util",
    "python.util.tf_decorator": "flags.tf_decorator client.util",
    "python.util.tf_export": "client.tf_export client.util",
    "python.util.tf_inspect": "client.tf_inspect client.util",
    "python.util.tf_should_use": "client.decorating",
}

_OPS = "python.framework.ops"

NAMES: dict[str, str] = {
    f"{_OPS}._get_graph_from_inputs": "client.framework_ops.graph_from_inputs",
    f"{_OPS}._TensorLike": "tf.Tensor",
    **{
        f"{_OPS}.{name}": f"client.framework_ops.{name}"
        for name in (
            *("inside_function", "is_dense_tensor_like", "prepend_name_scope"),
            *("register_dense_tensor_like_type", "set_shapes_for_outputs", "strip_name_scope", "uid"),
        )
    },
    f"{_OPS}.register_proto_function": "client.meta_graph.register_proto_function",
    "python.framework.constant_op._tensor_shape_tensor_conversion_function": (
        "client.framework_ops.shape_to_tensor"
    ),
    "python.framework.smart_cond.smart_case": "client.smart_case",
    f"{_OPS}.internal_convert_to_tensor": "tf.convert_to_tensor",
    "python.framework.tensor_util.constant_value_as_shape": "client.framework_ops.constant_value_as_shape",
    "python.client.session.register_session_run_conversion_functions": (
        "client.fetches.register_session_run_conversion_functions"
    ),
    **{
        f"python.layers.utils.{name}": f"client.layer_sizes.{name}"
        for name in (
            *("conv_input_length", "conv_output_length", "convert_data_format", "deconv_output_length"),
            *("normalize_data_format", "normalize_padding", "normalize_tuple"),
        )
    },
    "python.ops.array_ops.prevent_gradient": "client.generated_ops.prevent_gradient",
    "python.ops.array_ops.shape_internal": "client.shaping.shape",
    "python.ops.confusion_matrix.remove_squeezable_dimensions": "client.private_metrics.squeezed_labels",
    **{
        f"python.ops.distributions.{module}.{name}": f"client.softplus_parameters.{name}"
        for module, name in (
            ("beta", "BetaWithSoftplusConcentration"),
            ("exponential", "ExponentialWithSoftplusRate"),
            ("gamma", "GammaWithSoftplusConcentrationRate"),
            ("laplace", "LaplaceWithSoftplusScale"),
            ("normal", "NormalWithSoftplusScale"),
            ("student_t", "StudentTWithAbsDfSoftplusScale"),
        )
    },
    "python.ops.linalg.linear_operator_util.matmul_with_broadcast": "tf.linalg.matmul",
    "python.ops.gradients_impl.gradients_v2": "tf.gradients",
    "python.ops.control_flow_ops.merge": "client.control_flow_nodes.merge",
    "python.ops.control_flow_ops.switch": "client.control_flow_nodes.switch",
    "python.ops.math_ops._bucketize": "client.generated_ops.bucketize",
    **{
        f"python.framework.dtypes.{dtype}_ref": f"client.framework_ops.{dtype}_ref"
        for dtype in ("bool", "float16", "float32", "float64", "int32", "int64", "string")
    },
    "python.framework.device_spec.DeviceSpecV1": "tf.DeviceSpec",
    "python.ops.metrics_impl.metric_variable": "client.private_metrics.metric_variable",
    "python.ops.metrics_impl._aggregate_variable": "client.private_metrics.aggregate_variable",
    "python.ops.metrics_impl._streaming_sparse_average_precision_at_top_k": (
        "client.private_metrics.average_precision_at_top_k"
    ),
    "python.ops.metrics_impl._confusion_matrix_at_thresholds": (
        "client.private_metrics.confusion_matrix_at_thresholds"
    ),
    "python.ops.metrics_impl._remove_squeezable_dimensions": (
        "client.private_metrics.remove_squeezable_dimensions"
    ),
    "python.ops.metrics_impl._safe_scalar_div": "client.private_metrics.safe_div",
    "python.ops.resource_variable_ops.ResourceVariable": "client.resource_variables.ResourceVariable",
    "python.ops.resource_variable_ops.is_resource_variable": "client.variable_kinds.is_resource_variable",
    "python.ops.resource_variable_ops.resource_scatter_add": "client.generated_ops.resource_scatter_add",
    "python.ops.rnn._transpose_batch_time": "client.rnn_layouts.transposed",
    "python.ops.rnn_cell_impl._zero_state_tensors": "client.rnn_states.zero_states",
    "contrib.seq2seq.python.ops.decoder._transpose_batch_time": "client.rnn_layouts.transposed",
    "python.training.training_ops.apply_gradient_descent": "client.generated_ops.apply_gradient_descent",
    "python.ops.io_ops.restore_v2": "client.generated_ops.restore_v2",
    "python.ops.io_ops.save_v2": "client.generated_ops.save_v2",
    "python.ops.variable_scope.variable": "tf.Variable",
    "python.ops.variables.PartitionedVariable": "client.partitioned_variables.PartitionedVariable",
    "python.ops.variables.RefVariable": "client.ref_variable.RefVariable",
    "python.ops.variables.VariableV1": "tf.Variable",
    "python.training.evaluation._StopAfterNEvalsHook": "client.evaluation.StopAfterNEvalsHook",
    "python.training.evaluation._evaluate_once": "client.checkpoint_evaluation.evaluate_once",
    "python.training.evaluation._get_or_create_eval_step": "client.evaluation.get_or_create_eval_step",
    "python.util.keyword_args.keyword_args_only": "client.decorating.keyword_args_only",
}
for _layer in ("1D", "2D", "3D", "2DTranspose", "3DTranspose"):
    NAMES[f"python.layers.convolutional.Convolution{_layer}"] = f"tf.layers.Conv{_layer}"
for _layer in ("1D", "2D"):
    NAMES[f"python.layers.convolutional.SeparableConvolution{_layer}"] = f"tf.layers.SeparableConv{_layer}"
NAMES["python.ops.nn_ops.Convolution"] = "client.convolutions.Convolution"
NAMES["python.ops.random_ops.parameterized_truncated_normal"] = (
    "client.bounded_random.parameterized_truncated_normal"
)
for _name in ("deprecated", "deprecated_args", "deprecated_arg_values"):
    NAMES[f"contrib.framework.{_name}"] = f"client.deprecation.{_name}"
