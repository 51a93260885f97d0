"""Names of TensorFlow's internal modules that are called otherwise here, or are in no public namespace.

By the path below `tensorflow`; the value is a name in one of the places that `internal_modules.py` tells of.
"""

from __future__ import annotations

from tensorfleet.run import modules_of_tests

_OPS = "python.framework.ops"
_RESOURCES = "python.ops.resource_variable_ops"
_METRICS = "python.ops.metrics_impl"
_RNN_CELLS = (
    *("python.ops.rnn_cell", "python.ops.rnn_cell_impl", "contrib.rnn.python.ops.rnn_cell"),
    *("contrib.rnn.python.ops.core_rnn_cell", "contrib.rnn.python.ops.core_rnn_cell_impl"),
)

_GRAPHS: dict[str, str] = {
    **{
        f"{_OPS}.{name}": f"client.ops.{name}"
        for name in (
            *("EagerTensor", "RegisterShape", "_gradient_registry", "convert_n_to_tensor"),
            *("get_all_collection_keys", "get_gradient_function", "get_name_scope", "inside_function"),
            *("is_dense_tensor_like", "register_dense_tensor_like_type"),
            *("set_shapes_for_outputs", "tensor_id", "uid"),
        )
    },
    **{
        f"{_OPS}.{name}": f"ours.contrib.framework_parts.{name}"
        for name in ("prepend_name_scope", "strip_name_scope")
    },
    f"{_OPS}._get_graph_from_inputs": "client.ops.graph_from_inputs",
    f"{_OPS}._TensorLike": "tf.Tensor",
    f"{_OPS}.convert_n_to_tensor_or_indexed_slices": "tf.convert_to_tensor_or_indexed_slices",
    f"{_OPS}.internal_convert_to_tensor": "tf.convert_to_tensor",
    f"{_OPS}.register_proto_function": "ours.export.meta_graph.register_proto_function",
    "python.client.session.register_session_run_conversion_functions": (
        "ours.session.fetches.register_session_run_conversion_functions"
    ),
    "python.framework.constant_op._tensor_shape_tensor_conversion_function": (
        "client.tensor_util.shape_to_tensor"
    ),
    "python.framework.device.canonical_name": "ours.core.device.canonical_name",
    "python.framework.device.from_string": "tf.DeviceSpec.from_string",
    "python.framework.device.merge_device": "ours.core.device.merge_device",
    "python.framework.device_spec.DeviceSpecV1": "tf.DeviceSpec",
    "python.framework.device_spec.DeviceSpecV2": "tf.DeviceSpec",
    **{
        f"python.framework.dtypes.{dtype}_ref": f"client.dtypes.{dtype}_ref"
        for dtype in ("bool", "float16", "float32", "float64", "int32", "int64", "string")
    },
    "python.framework.function.Defun": "client.Defun",
    "python.framework.function._DefinedFunction": "ours.functions.defun.DefinedFunction",
    "python.framework.function._OverloadedFunction": "ours.functions.defun.OverloadedFunction",
    "python.framework.function.from_library": "ours.functions.library.from_library",
    "python.framework.function.get_extra_args": "ours.functions.body.get_extra_args",
    "python.framework.function.get_extra_inputs": "ours.functions.body.get_extra_inputs",
    "python.framework.function.get_extra_vars": "ours.functions.body.get_extra_vars",
    "python.framework.random_seed.get_seed": "tf.random.get_seed",
    "python.framework.smart_cond.smart_case": "ours.ops.control_flow.smart_cond.smart_case",
    "python.framework.smart_cond.smart_cond": "ours.ops.control_flow.smart_cond.smart_cond",
    "python.framework.tensor_shape.as_dimension": "ours.core.dimension.as_dimension",
    "python.framework.tensor_shape.as_shape": "tf.TensorShape",
    "python.framework.tensor_shape.matrix": "client.matrix_shape",
    "python.framework.tensor_shape.scalar": "client.scalar_shape",
    "python.framework.tensor_shape.unknown_shape": "ours.core.shapes.unknown_shape",
    "python.framework.tensor_shape.vector": "client.vector_shape",
    "python.framework.tensor_util.MakeNdarray": "tf.make_ndarray",
    "python.framework.tensor_util.constant_value": "tf.get_static_value",
    "python.framework.tensor_util.constant_value_as_shape": "client.tensor_util.constant_value_as_shape",
    "python.framework.tensor_util.is_tf_type": "tf.is_tensor",
    "python.util.is_in_graph_mode.IS_IN_GRAPH_MODE": "client.context.in_graph_mode",
    "python.util.keyword_args.keyword_args_only": "client.keyword_args.keyword_args_only",
    "python.util.nest.is_sequence": "ours.core.nest.is_nested",
}

_OPERATIONS: dict[str, str] = {
    "compat.v2.Variable": "client.v2.Variable",
    "compat.v2.where": "tf.where_v2",
    "python.ops.nn_ops.Convolution": "client.convolutions.Convolution",
    "python.ops.random_ops.parameterized_truncated_normal": (
        "ours.ops.random.bounded.parameterized_truncated_normal"
    ),
    **{
        f"contrib.framework.{name}": f"client.deprecation.{name}"
        for name in ("deprecated", "deprecated_args", "deprecated_arg_values")
    },
    **{
        f"{path}.{name}": f"ours.ops.io.audio.{name}"
        for path in ("contrib.framework.python.ops.audio_ops", "python.ops.gen_audio_ops")
        for name in ("audio_spectrogram", "mfcc")
    },
    "python.ops.array_ops.concat_v2": "tf.concat",
    "python.ops.array_ops.prevent_gradient": "client.generated_ops.prevent_gradient",
    "python.ops.array_ops.shape_internal": "ours.ops.array.shaping.shape_tensor",
    "python.ops.cond_v2.cond_v2": "tf.cond",
    "python.ops.confusion_matrix.remove_squeezable_dimensions": (
        "ours.ops.nn.confusion.remove_squeezable_dimensions"
    ),
    "python.ops.control_flow_ops.merge": "ours.ops.control_flow.control_flow_nodes.merge",
    "python.ops.control_flow_ops.switch": "ours.ops.control_flow.control_flow_nodes.switch",
    "python.ops.control_flow_ops.with_dependencies": "ours.ops.control_flow.control.with_dependencies",
    "python.ops.data_flow_ops.Barrier": "client.Barrier",
    **{
        f"python.ops.distributions.{module}.{name}": f"ours.distributions.softplus_parameters.{name}"
        for module, name in (
            ("beta", "BetaWithSoftplusConcentration"),
            ("exponential", "ExponentialWithSoftplusRate"),
            ("gamma", "GammaWithSoftplusConcentrationRate"),
            ("laplace", "LaplaceWithSoftplusScale"),
            ("normal", "NormalWithSoftplusScale"),
            ("student_t", "StudentTWithAbsDfSoftplusScale"),
        )
    },
    "python.ops.gradients_impl._hessian_vector_product": "client.gradients.hessian_vector_product",
    "python.ops.summary_ops_v2._INVALID_SCOPE_CHARACTERS": "client.summary_op_util.INVALID_SCOPE_CHARACTERS",
    "python.ops.gradients_impl.gradients_v2": "tf.gradients",
    **{f"python.ops.io_ops.{name}": f"client.generated_ops.{name}" for name in ("restore_v2", "save_v2")},
    "python.ops.linalg.linear_operator_util.matmul_with_broadcast": "tf.linalg.matmul",
    **{
        f"python.ops.logging_ops.{kind}_summary": f"client.summary_op_util.{kind}_summary"
        for kind in ("histogram", "scalar")
    },
    "python.ops.math_ops._bucketize": "client.generated_ops.bucketize",
    f"{_METRICS}._aggregate_variable": "client.metrics_impl.aggregate_variable",
    f"{_METRICS}._confusion_matrix_at_thresholds": "client.metrics_impl.confusion_matrix_at_thresholds",
    f"{_METRICS}._remove_squeezable_dimensions": "ours.metrics.streaming.aligned",
    f"{_METRICS}._safe_div": "ours.metrics.streaming.safe_quotient",
    f"{_METRICS}._safe_scalar_div": "ours.metrics.streaming.quotient",
    f"{_METRICS}._streaming_confusion_matrix": "ours.metrics.confusion.streaming_confusion_matrix",
    f"{_METRICS}._streaming_sparse_average_precision_at_top_k": (
        "ours.metrics.ranking.average_precision_at_top_k"
    ),
    f"{_METRICS}.metric_variable": "ours.metrics.streaming.metric_variable",
    "python.ops.nn_impl._sum_rows": "ours.ops.nn.sampled_loss._sum_rows",
}

_VARIABLES: dict[str, str] = {
    "python.ops.init_ops.Constant": "tf.constant_initializer",
    "python.ops.init_ops.Initializer": "ours.ops.state.initializers.Initializer",
    "python.ops.init_ops.Ones": "tf.ones_initializer",
    "python.ops.init_ops.Orthogonal": "tf.orthogonal_initializer",
    "python.ops.init_ops.RandomNormal": "tf.random_normal_initializer",
    "python.ops.init_ops.RandomUniform": "tf.random_uniform_initializer",
    "python.ops.init_ops.TruncatedNormal": "tf.truncated_normal_initializer",
    "python.ops.init_ops.VarianceScaling": "tf.variance_scaling_initializer",
    "python.ops.init_ops.Zeros": "tf.zeros_initializer",
    "python.ops.init_ops._assert_float_dtype": "client.init_ops.assert_float_dtype",
    "python.ops.init_ops._compute_fans": "ours.ops.state.initializers.fans",
    **{
        f"{_RESOURCES}.{name}": "ours.ops.state.resource_variables.ResourceVariable"
        for name in ("BaseResourceVariable", "ResourceVariable")
    },
    f"{_RESOURCES}.is_resource_variable": "ours.train.slot_creator.is_resource",
    **{
        f"{_RESOURCES}.{name}": f"client.generated_ops.{name}"
        for name in (
            *("assign_add_variable_op", "assign_variable_op", "read_variable_op", "resource_scatter_add"),
            *("resource_scatter_update", "variable_shape"),
        )
    },
    "python.ops.state_ops.variable_op": "client.state_ops.variable_op",
    "python.ops.state_ops.variable_op_v2": "client.state_ops.variable_op",
    "python.ops.variable_scope._pure_variable_scope": "client.variable_scope.pure_variable_scope",
    "python.ops.variable_scope.variable": "tf.Variable",
    "python.ops.variables.PartitionedVariable": "ours.ops.state.partitioned_variables.PartitionedVariable",
    "python.ops.variables.RefVariable": "ours.ops.state.ref_variable.RefVariable",
    "python.ops.variables.VariableV1": "tf.Variable",
}

_LAYERS: dict[str, str] = {
    **{
        f"python.feature_column.feature_column.{name}": f"client.old_columns.{name[1:]}"
        for name in ("_CategoricalColumn", "_DenseColumn", "_FeatureColumn", "_LazyBuilder")
    },
    "python.feature_column.feature_column._transform_features": "client.old_columns.transform_features",
    "python.feature_column.feature_column_v2._StateManagerImpl": "client.old_columns.StateManager",
    "python.feature_column.feature_column_v2.FeatureTransformationCache": (
        "ours.feature_column.base.FeatureCache"
    ),
    "python.feature_column.feature_column_v2.StateManager": "ours.feature_column.base.ColumnVariables",
    **{
        f"python.feature_column.feature_column_v2.{name}": f"ours.feature_column.base.{name}"
        for name in ("CategoricalColumn", "DenseColumn", "FeatureColumn", "SequenceDenseColumn")
    },
    **{
        f"python.layers.convolutional.Convolution{kind}": f"tf.layers.Conv{kind}"
        for kind in ("1D", "2D", "3D", "2DTranspose", "3DTranspose")
    },
    **{
        f"python.layers.convolutional.SeparableConvolution{kind}": f"tf.layers.SeparableConv{kind}"
        for kind in ("1D", "2D")
    },
    **{
        f"python.layers.utils.{name}": f"client.layers_utils.{name}"
        for name in (
            *("conv_input_length", "conv_output_length", "convert_data_format", "deconv_output_length"),
            *("normalize_data_format", "normalize_padding", "normalize_tuple"),
        )
    },
    "python.layers.utils.smart_cond": "ours.ops.control_flow.smart_cond.smart_cond",
    "python.keras.utils.tf_utils.smart_cond": "ours.ops.control_flow.smart_cond.smart_cond",
    "python.keras.backend.get_graph": "tf.get_default_graph",
    "python.keras.backend.track_variable": "ours.keras.backend.state.track_variable",
    # Recurrent cells.
    "python.ops.rnn._best_effort_input_batch_size": "client.rnn.best_effort_input_batch_size",
    "python.ops.rnn._concat": "client.rnn_cell_impl.concat",
    "python.ops.rnn._infer_state_dtype": "ours.rnn.lengths.state_dtype",
    "python.ops.rnn._like_rnncell": "client.rnn_cell_impl.like_rnncell",
    "python.ops.rnn._reverse_seq": "client.rnn.reverse_seq",
    "python.ops.rnn._transpose_batch_time": "ours.rnn.dynamic.transposed",
    "contrib.seq2seq.python.ops.decoder._transpose_batch_time": "ours.rnn.dynamic.transposed",
    **{
        f"{path}.{name}": place
        for path in _RNN_CELLS
        for name, place in (
            ("LayerRNNCell", "ours.rnn.cell.LayerRNNCell"),
            ("_BIAS_VARIABLE_NAME", "client.rnn_cell_impl.BIAS_VARIABLE_NAME"),
            ("_Linear", "client.rnn_cell_impl.Linear"),
            ("_WEIGHTS_VARIABLE_NAME", "client.rnn_cell_impl.WEIGHTS_VARIABLE_NAME"),
            ("_check_rnn_cell_input_dtypes", "client.rnn_cell_impl.check_rnn_cell_input_dtypes"),
            ("_check_supported_dtypes", "ours.rnn.cell.check_dtype"),
            ("_concat", "client.rnn_cell_impl.concat"),
            ("_like_rnncell", "client.rnn_cell_impl.like_rnncell"),
            ("_zero_state_tensors", "ours.rnn.state.zero_states"),
            ("assert_like_rnncell", "client.rnn_cell_impl.assert_like_rnncell"),
        )
    },
    "python.ops.rnn_cell_impl._LayerRNNCell": "ours.rnn.cell.LayerRNNCell",
    "python.ops.rnn_cell_impl._RNNCell": "tf.nn.rnn_cell.RNNCell",
    "contrib.seq2seq.python.ops.attention_wrapper._zero_state_tensors": "ours.rnn.state.zero_states",
    **{
        f"{path}._linear": "ours.contrib.more_cells.linear"
        for path in (
            *("python.ops.rnn_cell", "python.ops.rnn_cell_impl", "nn.rnn_cell", "contrib.rnn"),
            *("contrib.rnn.python.ops.core_rnn_cell", "contrib.rnn.python.ops.core_rnn_cell_impl"),
        )
    },
}

_TRAINING: dict[str, str] = {
    **{f"python.data.ops.dataset_ops.Dataset{version}": "tf.data.Dataset" for version in ("V1", "V2")},
    **{
        f"python.data.ops.dataset_ops.get_legacy_output_{part}": f"tf.data.get_output_{part}"
        for part in ("classes", "shapes", "types")
    },
    # Columns had these names in version 1's module.
    **{
        f"python.feature_column.feature_column._{name}": f"tf.feature_column.{name}"
        for name in (
            *("bucketized_column", "categorical_column_with_hash_bucket", "categorical_column_with_identity"),
            *("categorical_column_with_vocabulary_file", "categorical_column_with_vocabulary_list"),
            *("crossed_column", "embedding_column", "indicator_column", "numeric_column"),
            "weighted_categorical_column",
        )
    },
    "python.estimator.canned.head._Head": "tf.estimator.Head",
    "python.estimator.model_fn.LOSS_METRIC_KEY": "ours.estimator.mode_keys.LOSS_METRIC_KEY",
    "python.estimator.canned.optimizers.get_optimizer_instance": ("ours.estimator.canned_parts.optimizer_of"),
    "python.pywrap_tensorflow.CheckpointReader": "ours.train.checkpoint_reader.CheckpointReader",
    "python.pywrap_tensorflow.EventsWriter": "client.pywrap_tensorflow.EventsWriter",
    "python.training.basic_session_run_hooks._as_graph_element": "client.training.as_graph_element",
    "python.training.device_setter._RoundRobinStrategy": "ours.train.device_setter.RoundRobinStrategy",
    "python.training.distribute.get_tower_context": "tf.distribute.get_replica_context",
    "python.training.device_setter.STANDARD_PS_OPS": "ours.train.device_setter.STANDARD_PS_OPS",
    "python.training.evaluation._StopAfterNEvalsHook": "ours.train.evaluation.StopAfterNEvalsHook",
    "python.training.evaluation._evaluate_once": "ours.contrib.monitored_training.evaluate_once",
    "python.training.evaluation._get_or_create_eval_step": "ours.train.evaluation.get_or_create_eval_step",
    "python.training.monitored_session.USE_DEFAULT": "ours.train.monitored_session.USE_DEFAULT",
    "python.training.monitored_session._HookedSession": "ours.train.wrapped_sessions.HookedSession",
    "python.training.monitored_session._MonitoredSession": "ours.train.monitored_session._MonitoredSession",
    "python.training.moving_averages.assign_moving_average": (
        "ours.train.moving_averages.assign_moving_average"
    ),
    "python.training.moving_averages.weighted_moving_average": "client.training.weighted_moving_average",
    "python.training.optimizer._deduplicate_indexed_slices": "ours.train.optimizer.summed_by_index",
    "python.training.optimizer._var_key": "client.training.var_key",
    "python.training.saver.BaseSaverBuilder": "ours.train.saver_builder.BaseSaverBuilder",
    "python.training.server_lib.ClusterSpec": "tf.train.ClusterSpec",
    "python.training.summary_io.SummaryWriterCache": "tf.summary.FileWriterCache",
    "python.training.training_ops.apply_gradient_descent": "client.generated_ops.apply_gradient_descent",
    "python.training.training_util._get_or_create_global_step_read": "client.training.global_step_read",
    "python.training.training_util._increment_global_step": "client.training.increment_global_step",
    "python.training.training_util.write_graph": "tf.train.write_graph",
}

NAMES: dict[str, str] = {
    **_GRAPHS,
    **_OPERATIONS,
    **_VARIABLES,
    **_LAYERS,
    **_TRAINING,
    **modules_of_tests.NAMES,
}
