"""The internal modules and names of TensorFlow that programs import, beside those of the public namespaces.

`client.util`, `client.ops`, … are modules of this room: `internals.py` says which.
"""

from __future__ import annotations

# The namespaces in which the names of an internal module are looked up.
MODULES: dict[str, str] = {
    # Python functions for op types: `gen_nn_ops.max_pool_grad`.
    **{
        f"python.ops.gen_{family}_ops": "client.generated_ops"
        for family in (
            *("array", "candidate_sampling", "control_flow", "ctc", "data_flow", "dataset", "functional"),
            *(
                "image",
                "io",
                "linalg",
                "logging",
                "lookup",
                "math",
                "nn",
                "parsing",
                "random",
                "resource_variable",
            ),
            *("script", "sparse", "spectral", "state", "stateless_random", "string", "training"),
        )
    },
    "python.training.gen_training_ops": "client.generated_ops",
    "python.training.training_ops": "client.generated_ops train",
    "python.ops.array_grad": "",
    "python.ops.linalg_grad": "",
    "python.ops.math_grad": "",
    "python.ops.nn_grad": "",
    "python.ops.parallel_for": "client.ops",
    "python.ops.parallel_for.control_flow_ops": "client.ops tf",
    "python.ops.parallel_for.gradients": "client.ops",
    "python.ops.signal.fft_ops": "signal",
    "python.ops.signal.signal": "signal",
    "python.ops.summary_op_util": "client.ops",
    "python.framework.load_library": "tf",
    "python.eager.def_function": "tf",
    "python.eager.tape": "client.eager",
    # Utilities of Python.
    **{
        f"python.util.{name}": "client.util"
        for name in (
            *("all_util", "deprecation", "is_in_graph_mode", "lazy_loader", "object_identity"),
            *("tf_contextlib", "tf_decorator", "tf_export", "tf_inspect"),
        )
    },
    "python.platform.sysconfig": "sysconfig",
    # Training.
    "python.training.distribute": "distribute",
    "python.training.distribution_strategy_context": "distribute",
    "python.training.py_checkpoint_reader": "train",
    "python.distribute": "distribute",
    "python.distribute.distribute_lib": "distribute",
    "python.distribute.distribution_strategy_context": "distribute",
    # Debugging, profiles.
    "python.debug": "client.debug",
    "python.debug.lib": "client.debug",
    "python.debug.lib.debug_data": "client.debug",
    "python.debug.wrappers": "client.debug",
    "python.debug.wrappers.hooks": "client.debug",
    "python.debug.wrappers.local_cli_wrapper": "client.debug",
    "python.profiler": "profiler",
    "python.profiler.model_analyzer": "profiler",
    "python.profiler.option_builder": "profiler",
    # Estimators, also in the distribution of their own.
    "python.data.experimental": "data.experimental",
    "python.data.experimental.ops": "data.experimental",
    "python.estimator.canned": "estimator",
    **{
        f"python.estimator.canned.{name}": "estimator"
        for name in ("baseline", "dnn", "dnn_linear_combined", "head", "linear")
    },
    "python.estimator.canned.optimizers": "",
    "python.estimator.estimator_lib": "estimator",
    "python.estimator.export.export_output": "estimator.export",
    "python.estimator.exporter": "estimator",
    "python.estimator.inputs.numpy_io": "estimator.inputs",
    "python.estimator.inputs.pandas_io": "estimator.inputs",
    "core.lib": "",
    "core.lib.core": "",
    "core.profiler": "",
}

# Names of internal modules that differ from those of the namespace.
NAMES: dict[str, str] = {
    # Graphs.
    **{
        f"python.framework.ops.{name}": f"client.ops.{name}"
        for name in (
            *("EagerTensor", "RegisterShape", "_get_graph_from_inputs", "_gradient_registry"),
            *("convert_n_to_tensor", "get_all_collection_keys", "get_gradient_function", "get_name_scope"),
            *("inside_function", "prepend_name_scope", "strip_name_scope", "tensor_id", "uid"),
        )
    },
    "python.framework.device.canonical_name": "client.device.canonical_name",
    "python.framework.device.merge_device": "client.device.merge_device",
    "python.framework.device.from_string": "tf.DeviceSpec.from_string",
    "python.framework.device_spec.DeviceSpecV2": "tf.DeviceSpec",
    "python.framework.tensor_shape.as_dimension": "client.ops.as_dimension",
    "python.framework.tensor_util.is_tf_type": "tf.is_tensor",
    # Ops.
    "python.ops.gradients_impl._hessian_vector_product": "client.ops.hessian_vector_product",
    "python.ops.init_ops._assert_float_dtype": "client.ops.assert_float_dtype",
    "python.ops.init_ops._compute_fans": "client.ops.compute_fans",
    "python.ops.logging_ops.histogram_summary": "client.ops.histogram_summary",
    "python.ops.logging_ops.scalar_summary": "client.ops.scalar_summary",
    "python.ops.metrics_impl._safe_div": "client.metrics.safe_quotient",
    "python.ops.nn_impl._sum_rows": "client.ops.sum_rows",
    "python.ops.resource_variable_ops.BaseResourceVariable": "client.ResourceVariable",
    **{
        f"python.ops.resource_variable_ops.{name}": f"client.generated_ops.{name}"
        for name in ("assign_add_variable_op", "assign_variable_op", "resource_scatter_update")
    },
    "python.ops.resource_variable_ops.read_variable_op": "client.generated_ops.read_variable_op",
    "python.ops.resource_variable_ops.variable_shape": "client.generated_ops.variable_shape",
    "python.ops.state_ops.variable_op": "client.ops.variable_op",
    "python.ops.state_ops.variable_op_v2": "client.ops.variable_op",
    "python.ops.variable_scope._pure_variable_scope": "client.ops.pure_variable_scope",
    # Recurrent cells.
    **{
        f"{path}.{name}": f"client.rnn.{name.lstrip('_')}"
        for path, names in {
            "python.ops.rnn": (
                *("_best_effort_input_batch_size", "_concat", "_infer_state_dtype", "_like_rnncell"),
                *("_reverse_seq", "_transpose_batch_time"),
            ),
            **dict.fromkeys(
                (
                    *("python.ops.rnn_cell", "python.ops.rnn_cell_impl", "contrib.rnn.python.ops.rnn_cell"),
                    *(
                        "contrib.rnn.python.ops.core_rnn_cell",
                        "contrib.rnn.python.ops.core_rnn_cell_impl",
                    ),
                ),
                (
                    *("LayerRNNCell", "_BIAS_VARIABLE_NAME", "_Linear", "_WEIGHTS_VARIABLE_NAME"),
                    *("_check_rnn_cell_input_dtypes", "_check_supported_dtypes", "_concat"),
                    *("_like_rnncell", "_zero_state_tensors", "assert_like_rnncell"),
                ),
            ),
        }.items()
        for name in names
    },
    "python.ops.rnn_cell_impl._LayerRNNCell": "client.rnn.LayerRNNCell",
    "python.ops.rnn_cell_impl._RNNCell": "tf.nn.rnn_cell.RNNCell",
    "contrib.seq2seq.python.ops.attention_wrapper._zero_state_tensors": "client.rnn.zero_state_tensors",
    # Layers.
    # Training.
    "python.training.distribute.get_tower_context": "tf.distribute.get_replica_context",
    "python.training.basic_session_run_hooks._as_graph_element": "client.training.as_graph_element",
    "python.training.device_setter._RoundRobinStrategy": "client.training.RoundRobinStrategy",
    "python.training.monitored_session.USE_DEFAULT": "client.training.USE_DEFAULT",
    "python.training.monitored_session._HookedSession": "client.training.HookedSession",
    "python.training.monitored_session._MonitoredSession": "client.training.MonitoredSession",
    "python.training.moving_averages.weighted_moving_average": "client.training.weighted_moving_average",
    "python.training.optimizer._deduplicate_indexed_slices": "client.training.summed_by_index",
    "python.training.optimizer._var_key": "client.training.var_key",
    "python.training.saver.BaseSaverBuilder": "client.training.BaseSaverBuilder",
    "python.training.summary_io.SummaryWriterCache": "tf.summary.FileWriterCache",
    "python.training.training_util._get_or_create_global_step_read": "client.training.global_step_read",
    "python.training.training_util._increment_global_step": "client.training.increment_global_step",
    "python.estimator.canned.optimizers.get_optimizer_instance": "client.optimizer_of",
    "python.util.is_in_graph_mode.IS_IN_GRAPH_MODE": "client.eager.in_graph_mode",
    "python.data.ops.dataset_ops.DatasetV1": "tf.data.Dataset",
    "python.data.ops.dataset_ops.get_legacy_output_classes": "tf.data.get_output_classes",
    "python.data.ops.dataset_ops.get_legacy_output_shapes": "tf.data.get_output_shapes",
    "python.data.ops.dataset_ops.get_legacy_output_types": "tf.data.get_output_types",
    "python.pywrap_tensorflow.EventsWriter": "client.training.EventsWriter",
    "python.pywrap_tensorflow.CheckpointReader": "client.training.CheckpointReader",
}
