"""Internal modules that tests written for TensorFlow's own parts import, beside those of programs.

`internal_modules.py` and `internal_names.py` add these to their tables, and say what the places mean.
"""

from __future__ import annotations

_RAGGED = (
    *("array_ops", "batch_gather_ops", "batch_gather_with_default_op", "concat_ops", "conversion_ops"),
    *("functional_ops", "gather_ops", "getitem", "map_ops", "math_ops", "operators", "squeeze_op"),
    *("string_ops", "tensor_shape", "tensor_value", "util", "where_op"),
)
_OPERATORS = (
    *("adjoint", "block_diag", "circulant", "composition", "diag", "full_matrix", "householder"),
    *("identity", "inversion", "kronecker", "low_rank_update", "lower_triangular", "toeplitz", "zeros"),
)

MODULES: dict[str, str] = {
    # Ops in one module each.
    **{
        f"python.ops.ragged.ragged_{name}": "ragged tf strings ours.ops.ragged.broadcasting"
        for name in _RAGGED
    },
    "python.ops.ragged.segment_id_ops": "ragged",
    **{f"python.ops.linalg.linear_operator_{name}": "linalg" for name in _OPERATORS},
    **{
        f"python.ops.signal.{name}_ops": "signal"
        for name in ("dct", "mel", "mfcc", "reconstruction", "shape", "spectral", "util", "window")
    },
    **{
        f"python.ops.gen_{name}_ops": "client.generated_ops"
        for name in (
            *(
                "batch",
                "boosted_trees",
                "checkpoint",
                "clustering",
                "collective",
                "cudnn_rnn",
                "decode_proto",
            ),
            *("encode_proto", "experimental_dataset", "nccl", "ragged_array", "ragged_conversion"),
            *("ragged_math", "rnn", "stateful_random", "tensor_forest", "tpu"),
        )
    },
    **{
        f"python.ops.distributions.{name}": (
            "contrib.distributions distributions contrib.distributions.bijectors"
        )
        for name in (
            *("bijector", "bijector_impl", "dirichlet_multinomial", "identity_bijector"),
            "transformed_distribution",
        )
    },
    "python.ops.distributions.util": "contrib.distributions distributions ours.distributions.parameters",
    "python.ops.losses.loss_reduction": "keras.losses losses",
    # Graphs.
    "python.framework.config": "config.threading config.experimental config",
    "python.framework.framework_lib": "tf",
    "python.framework.tensor_conversion_registry": "tf",
    "python.framework.composite_tensor_utils": "client.composite_tensor",
    "python.framework.combinations": "client.test_combinations",
    "python.framework.test_combinations": "client.test_combinations",
    "python.framework.registry": "client.registry",
    "python.framework.traceable_stack": "client.traceable_stack",
    "python.compat.v2_compat": "tf",
    # Features.
    "python.feature_column.dense_features": "keras.layers",
    # Datasets.
    "python.data.util.structure": "client.structure data.experimental data",
    "python.data.util.convert": "client.data_util",
    "python.data.util.random_seed": "client.data_util",
    "python.data.util.sparse": "client.data_util",
    "python.data.kernel_tests": "",
    "python.data.kernel_tests.test_base": "client.test_base",
    "python.data.experimental.kernel_tests": "",
    "python.data.experimental.kernel_tests.serialization": "",
    "python.data.experimental.kernel_tests.serialization.dataset_serialization_test_base": (
        "client.dataset_serialization_test_base"
    ),
    # Training.
    "python.training.saver_test_utils": "client.saver_test_utils",
    "python.tools.strip_unused": "ours.saved_model.strip_unused",
    # Python.
    "python.util.protobuf": "",
    "python.util.protobuf.compare": "client.protobuf_compare",
}

_COLUMNS = "ours.feature_column"
_COLUMN_CLASSES = {
    "BucketizedColumn": f"{_COLUMNS}.numeric.BucketizedColumn",
    "CrossedColumn": f"{_COLUMNS}.crossed.CrossedColumn",
    "EmbeddingColumn": f"{_COLUMNS}.embedding.EmbeddingColumn",
    "HashedCategoricalColumn": f"{_COLUMNS}.categorical.HashedCategoricalColumn",
    "IdentityCategoricalColumn": f"{_COLUMNS}.categorical.IdentityCategoricalColumn",
    "IndicatorColumn": f"{_COLUMNS}.embedding.IndicatorColumn",
    "NumericColumn": f"{_COLUMNS}.numeric.NumericColumn",
    "SequenceCategoricalColumn": f"{_COLUMNS}.sequences.SequenceCategoricalColumn",
    "SharedEmbeddingColumn": f"{_COLUMNS}.embedding.SharedEmbeddingColumn",
    "VocabularyFileCategoricalColumn": f"{_COLUMNS}.categorical.VocabularyFileCategoricalColumn",
    "VocabularyListCategoricalColumn": f"{_COLUMNS}.categorical.VocabularyListCategoricalColumn",
    "WeightedCategoricalColumn": f"{_COLUMNS}.categorical.WeightedCategoricalColumn",
}
_STREAMS = "python.ops.stateful_random_ops"

# Names that are called otherwise there, or are in no namespace, as in `internal_names.py`.
NAMES: dict[str, str] = {
    **{f"python.feature_column.feature_column_v2.{name}": place for name, place in _COLUMN_CLASSES.items()},
    **{f"python.feature_column.feature_column._{name}": place for name, place in _COLUMN_CLASSES.items()},
    "python.feature_column.feature_column_v2.is_feature_column_v2": "client.old_columns.is_feature_column_v2",
    "python.feature_column.sequence_feature_column.SequenceNumericColumn": (
        f"{_COLUMNS}.sequences.SequenceNumericColumn"
    ),
    # Graphs.
    **{
        f"python.framework.{module}.{name}": f"client.dtypes.{name}"
        for module in ("dtypes", "framework_lib")
        for name in ("QUANTIZED_DTYPES", "TF_VALUE_DTYPES", "dtype_range")
    },
    **{
        f"python.framework.dtypes.{dtype}_ref": f"client.dtypes.{dtype}_ref"
        for dtype in (
            *("bfloat16", "complex64", "complex128", "double", "half", "int8", "int16", "qint8", "qint16"),
            *("qint32", "quint8", "quint16", "resource", "uint8", "uint16", "uint32", "uint64", "variant"),
        )
    },
    "python.framework.device.MergeDevice": "ours.core.device.MergeDevice",
    "python.framework.device.check_valid": "client.device.check_valid",
    "python.framework.device.is_device_spec": "client.device.is_device_spec",
    "python.framework.constant_op.is_constant": "client.tensor_util.is_constant",
    "python.framework.ops.name_from_scope_name": "client.ops.name_from_scope_name",
    "python.framework.ops.has_default_graph": "client.ops.has_default_graph",
    **{
        f"python.framework.{module}.{name}": place
        for module in ("ops", "indexed_slices")
        for name, place in (
            ("internal_convert_n_to_tensor", "client.ops.convert_n_to_tensor"),
            ("internal_convert_to_tensor_or_indexed_slices", "tf.convert_to_tensor_or_indexed_slices"),
        )
    },
    **{
        f"python.framework.meta_graph.{name}": f"client.meta_graph.{name}"
        for name in (
            *("add_collection_def", "copy_scoped_meta_graph", "create_meta_graph_def"),
            *("export_scoped_meta_graph", "import_scoped_meta_graph"),
            *("import_scoped_meta_graph_with_return_elements", "ops_used_by_graph_def"),
            *("read_meta_graph_file", "strip_graph_default_valued_attrs", "stripped_op_list_for_graph"),
        )
    },
    "python.framework.random_seed.DEFAULT_GRAPH_SEED": "ours.graph.seeds.DEFAULT_GRAPH_SEED",
    "python.framework.random_seed.set_seed": "tf.set_random_seed",
    "python.framework.tensor_util.ShapeEquals": "client.tensor_util.shape_equals",
    "python.framework.tensor_util.TensorShapeProtoToList": "client.tensor_util.shape_proto_to_list",
    "python.framework.tensor_util.maybe_set_static_shape": "client.tensor_util.maybe_set_static_shape",
    **{
        f"python.framework.common_shapes.{name}": f"client.common_shapes.{name}"
        for name in ("has_fully_defined_shape", "is_broadcast_compatible", "rank")
    },
    # Ops.
    "python.ops.critical_section_ops.CRITICAL_SECTION_EXECUTIONS": (
        "ours.ops.control_flow.critical_section.EXECUTIONS"
    ),
    "python.ops.gradients_util.IsTrainable": "client.gradients.is_trainable",
    "python.ops.init_ops.GlorotNormal": "tf.glorot_normal_initializer",
    "python.ops.init_ops.GlorotUniform": "tf.glorot_uniform_initializer",
    "python.ops.init_ops.Identity": "tf.initializers.identity",
    "python.ops.init_ops.UniformUnitScaling": "tf.uniform_unit_scaling_initializer",
    "python.ops.nn_impl._compute_sampled_logits": "ours.ops.nn.sampled_loss.sampled_logits",
    "python.ops.nn_impl.normalize": "tf.linalg.normalize",
    "python.ops.ragged.ragged_array_ops.ragged_one_hot": "ours.ops.ragged.arrays.one_hot",
    "python.ops.ragged.ragged_string_ops.string_bytes_split": "tf.strings.bytes_split",
    "python.ops.ragged.ragged_string_ops.strings_split_v1": "tf.strings.split",
    **{
        f"python.ops.{module}.ASSERT_LIKE_RNNCELL_ERROR_REGEXP": (
            "client.rnn_cell_impl.ASSERT_LIKE_RNNCELL_ERROR_REGEXP"
        )
        for module in ("rnn_cell", "rnn_cell_impl")
    },
    "python.ops.sparse_ops.deserialize_sparse": "ours.ops.array.sparse_tensor.deserialize_sparse",
    "python.ops.sparse_ops.sparse_cross": "tf.sparse.cross",
    "python.ops.sparse_ops.sparse_cross_hashed": "tf.sparse.cross_hashed",
    "python.ops.sparse_ops.sparse_dense_cwise_add": "client.generated_ops.sparse_dense_cwise_add",
    "python.ops.sparse_ops.sparse_expand_dims": "tf.sparse.expand_dims",
    "python.ops.sparse_ops.sparse_eye": "tf.sparse.eye",
    **{
        f"{_STREAMS}.{name}": f"client.stateful_random_ops.{name}"
        for name in (
            *("DEFAULT_ALGORITHM", "MAX_INT64", "MIN_INT64", "PHILOX_STATE_SIZE", "RNG_ALG_PHILOX"),
            *("RNG_ALG_THREEFRY", "SEED_BIT_MASK", "SEED_MAX", "SEED_MIN", "SEED_SIZE", "SEED_TYPE"),
            *("SEED_TYPE_BITS", "SEED_UINT_SPAN", "STATE_TYPE", "THREEFRY_STATE_SIZE", "UINT64_SPAN"),
        )
    },
    "python.ops.template.Template": "ours.ops.state.template.Template",
    "python.ops.template.make_template_internal": "tf.make_template",
    "python.ops.variable_scope._VariableStore": "ours.ops.state.variable_store.VariableStore",
    "python.ops.variable_scope._get_default_variable_store": "ours.ops.state.variable_store.variable_store",
    **{
        f"python.ops.control_flow_util.{name}": f"client.control_flow_util.{name}"
        for name in (
            *("GetOutputContext", "IsCondMerge", "IsCondSwitch", "IsContainingContext", "IsLoopMerge"),
            *("IsLoopSwitch", "OpInContext", "TensorInContext"),
        )
    },
    # Layers, by their older names.
    **{
        f"python.layers.convolutional.{name}": f"tf.layers.{now}"
        for name, now in (
            *(("Deconv2D", "Conv2DTranspose"), ("Deconvolution2D", "Conv2DTranspose")),
            *(("Deconv3D", "Conv3DTranspose"), ("Deconvolution3D", "Conv3DTranspose")),
            *(("convolution1d", "conv1d"), ("convolution2d", "conv2d"), ("convolution3d", "conv3d")),
            *(("convolution2d_transpose", "conv2d_transpose"), ("deconv2d", "conv2d_transpose")),
            *(("convolution3d_transpose", "conv3d_transpose"), ("deconv3d", "conv3d_transpose")),
            *(("deconvolution2d", "conv2d_transpose"), ("deconvolution3d", "conv3d_transpose")),
            ("separable_convolution2d", "separable_conv2d"),
        )
    },
    "python.layers.core.FullyConnected": "tf.layers.Dense",
    "python.layers.core.fully_connected": "tf.layers.dense",
    "python.layers.normalization.BatchNorm": "tf.layers.BatchNormalization",
    "python.layers.normalization.batch_norm": "tf.layers.batch_normalization",
    "python.layers.pooling.AvgPool2D": "tf.layers.AveragePooling2D",
    "python.layers.pooling.MaxPool2D": "tf.layers.MaxPooling2D",
    "python.layers.pooling.avg_pool2d": "tf.layers.average_pooling2d",
    "python.layers.pooling.max_pool2d": "tf.layers.max_pooling2d",
    # Datasets.
    "python.data.experimental.ops.cardinality.INFINITE": "tf.data.experimental.INFINITE_CARDINALITY",
    "python.data.experimental.ops.cardinality.UNKNOWN": "tf.data.experimental.UNKNOWN_CARDINALITY",
    "python.data.ops.iterator_ops.get_next_as_optional": "tf.data.experimental.get_next_as_optional",
    "python.data.ops.optional_ops.OptionalSpec": "ours.data.nested.OptionalSpec",
    # Training.
    "python.training.basic_session_run_hooks.NeverTriggerTimer": "ours.train.timers.NeverTriggerTimer",
    **{
        f"python.training.checkpoint_management.{name}": f"ours.train.checkpoint_management.{place}"
        for name, place in (
            ("checkpoint_exists_internal", "checkpoint_exists"),
            ("meta_graph_filename", "meta_graph_filename"),
            ("update_checkpoint_state_internal", "update_state"),
        )
    },
    "python.training.checkpoint_utils.wait_for_new_checkpoint": (
        "ours.train.checkpoint_waiting.wait_for_new_checkpoint"
    ),
    **{
        f"python.training.monitored_session._{name}": f"ours.train.wrapped_sessions.{name}"
        for name in ("CoordinatedSession", "RecoverableSession", "WrappedSession")
    },
    "python.training.summary_io.SummaryWriter": "tf.summary.FileWriter",
    **{
        f"python.training.supervisor.{name}": f"ours.train.supervisor_threads.{place}"
        for name, place in (
            ("SVStepCounterThread", "StepCounterThread"),
            ("SVSummaryThread", "SummaryThread"),
            ("SVTimerCheckpointThread", "CheckpointThread"),
        )
    },
    "python.platform.googletest.GetTempDir": "tf.test.get_temp_dir",
    "python.platform.tf_logging.get_logger": "ours.core.logging.get_logger",
    # SavedModels.
    **{
        f"python.saved_model.{module}.{name}": f"client.saved_model_constants.{name}"
        for module, names in (
            (
                "constants",
                ("EXTRA_ASSETS_DIRECTORY", "INIT_OP_SIGNATURE_KEY", "TRAIN_OP_KEY", "TRAIN_OP_SIGNATURE_KEY"),
            ),
            (
                "signature_constants",
                (
                    *("DEFAULT_EVAL_SIGNATURE_DEF_KEY", "DEFAULT_TRAIN_SIGNATURE_DEF_KEY"),
                    *("SUPERVISED_EVAL_METHOD_NAME", "SUPERVISED_TRAIN_METHOD_NAME"),
                ),
            ),
            ("tag_constants", ("EVAL",)),
        )
        for name in names
    },
}
