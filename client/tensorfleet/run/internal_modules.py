"""TensorFlow's internal modules that programs and libraries import, and where their names are looked up.

Names that are called otherwise there, or are in no namespace, are in `internal_names.py`.
"""

from __future__ import annotations

from tensorfleet.run import modules_of_tests

_GENERATED = (
    *("array", "bitwise", "candidate_sampling", "control_flow", "ctc", "data_flow", "dataset", "functional"),
    *("image", "io", "linalg", "list", "logging", "lookup", "manip", "math", "nn", "parsing", "random"),
    *("resource_variable", "script", "sdca", "sendrecv", "set", "sparse", "spectral", "state"),
    *("stateless_random", "string", "summary", "training", "user"),
)

_EAGER = "contrib.eager"

# By the path below `tensorflow`: the places, in which a name is looked up one after the other. A place is
# - a public namespace below `tf`: "nn" is `tf.nn`, and "tf" the root;
# - "client.ops" and the like: a module of this room's folder `python`, or an object of `internals.py`;
# - "ours.train.slot_creator" and the like: a module of this library.
MODULES: dict[str, str] = {
    "python": "tf",
    # Ops and gradients.
    "python.ops": "tf",
    "contrib.framework.python.ops.audio_ops": "audio",
    "python.ops.gen_audio_ops": "audio",
    "python.ops.array_ops": "tf linalg nn",
    "python.ops.candidate_sampling_ops": "nn",
    "python.ops.check_ops": "tf debugging",
    "python.ops.clip_ops": "tf",
    "python.ops.collective_ops": "ours.ops.collective.collective_ops",
    "python.ops.confusion_matrix": "tf math",
    "python.ops.control_flow_ops": "tf",
    "python.ops.ctc_ops": "nn",
    "python.ops.custom_gradient": "tf",
    "python.ops.data_flow_ops": "tf queue contrib.staging",
    "python.ops.embedding_ops": "nn",
    "python.ops.functional_ops": "ours.functions.functional_ops tf",
    "python.ops.gradient_checker": "test",
    "python.ops.gradients": "tf",
    "python.ops.gradients_impl": "tf",
    "python.ops.histogram_ops": "tf",
    "python.ops.image_ops": "image",
    "python.ops.init_ops": "tf initializers",
    "python.ops.io_ops": "tf io",
    "python.ops.linalg_ops": "tf linalg",
    "python.ops.logging_ops": "tf",
    "python.ops.lookup_ops": "tf lookup contrib.lookup",
    "python.ops.losses": "losses",
    "python.ops.losses.losses": "losses",
    "python.ops.losses.losses_impl": "losses",
    "python.ops.losses.util": "losses",
    "python.ops.math_ops": "tf math",
    "python.ops.metrics": "metrics",
    "python.ops.metrics_impl": "metrics",
    "python.ops.nn": "nn tf",
    "python.ops.nn_impl": "nn tf",
    "python.ops.nn_ops": "nn tf",
    "python.ops.parsing_ops": "tf io",
    "python.ops.partitioned_variables": "tf",
    "python.ops.random_ops": "tf random",
    "python.ops.resource_variable_ops": "tf",
    "python.ops.rnn": "nn",
    "python.ops.rnn_cell": "nn.rnn_cell contrib.rnn",
    "python.ops.rnn_cell_impl": "nn.rnn_cell contrib.rnn",
    "python.ops.script_ops": "tf",
    "python.ops.seq2seq": "contrib.legacy_seq2seq",
    "python.ops.sets": "sets",
    "python.ops.sets_impl": "sets",
    "python.ops.sparse_ops": "tf sparse",
    "python.ops.special_math_ops": "tf math",
    "python.ops.state_ops": "tf",
    "python.ops.string_ops": "tf strings",
    "python.ops.template": "tf",
    "python.ops.tensor_array_ops": "tf",
    "python.ops.variable_scope": "tf",
    "python.ops.variables": "tf",
    "python.ops.standard_ops": "tf",
    "python.ops.distributions": "distributions",
    **{
        f"python.ops.distributions.{name}": "distributions"
        for name in (
            *(
                "bernoulli",
                "beta",
                "categorical",
                "dirichlet",
                "distribution",
                "distributions",
                "exponential",
            ),
            *("gamma", "kullback_leibler", "laplace", "multinomial", "normal", "student_t", "uniform"),
        )
    },
    "python.ops.image_ops_impl": "image",
    "python.ops.linalg": "linalg",
    "python.ops.linalg.linalg": "linalg",
    "python.ops.linalg.linalg_impl": "linalg",
    # Graphs and their parts.
    "python.framework": "tf",
    "python.framework.constant_op": "tf",
    "python.framework.device": "tf",
    "python.framework.dtypes": "dtypes tf",
    "python.framework.errors": "errors",
    "python.framework.errors_impl": "errors",
    "python.framework.function": "tf",
    "python.framework.graph_io": "io train",
    "python.framework.graph_util": "graph_util",
    "python.framework.graph_util_impl": "graph_util",
    "python.framework.importer": "tf",
    "python.framework.meta_graph": "train",
    "python.framework.ops": "tf",
    "python.framework.op_def_registry": "client.op_def_registry",
    "python.framework.random_seed": "tf random",
    "python.framework.smart_cond": "contrib.framework",
    "python.framework.sparse_tensor": "tf sparse",
    "python.framework.tensor_shape": "tf",
    "python.framework.tensor_util": "tf",
    "python.framework.test_util": "ours.run.test_util test",
    "python.framework.versions": "version tf",
    # Sessions and training.
    "python.client": "tf",
    "python.client.device_lib": "client.device_lib",
    "python.client.session": "tf",
    "python.client.timeline": "client.timeline",
    "python.pywrap_tensorflow": "train",
    "python.training": "train",
    **{
        f"python.training.{name}": "train"
        for name in (
            *(
                "adadelta",
                "adagrad",
                "adagrad_da",
                "adam",
                "ftrl",
                "gradient_descent",
                "momentum",
                "optimizer",
            ),
            *("proximal_adagrad", "proximal_gradient_descent", "rmsprop", "sync_replicas_optimizer"),
            *("basic_loops", "basic_session_run_hooks", "checkpoint_management", "checkpoint_utils"),
            *("coordinator", "device_setter", "input", "learning_rate_decay", "monitored_session"),
            *("moving_averages", "queue_runner", "queue_runner_impl", "saver", "server_lib"),
            *("session_manager", "session_run_hook", "supervisor", "training"),
            *("training_util", "warm_starting_util"),
        )
    },
    "python.training.tracking": "train",
    "python.training.tracking.data_structures": "ours.keras.engine.tracking",
    "python.training.summary_io": "summary train",
    "python.training.slot_creator": "ours.train.slot_creator",
    # Layers, columns.
    "python.feature_column": "feature_column",
    **{
        f"python.feature_column.{name}": "feature_column"
        for name in ("feature_column", "feature_column_lib", "feature_column_v2")
    },
    "python.feature_column.sequence_feature_column": "contrib.feature_column",
    "python.layers": "layers",
    **{
        f"python.layers.{name}": "layers"
        for name in ("base", "convolutional", "core", "layers", "normalization", "pooling")
    },
    "python.layers.utils": "contrib.layers.utils",
    "python.keras": "keras",
    **{
        f"python.keras.{name}": f"keras.{name}"
        for name in (
            *("activations", "backend", "callbacks", "constraints", "datasets", "estimator"),
            *("initializers", "layers", "losses", "metrics", "models", "optimizers"),
            *("preprocessing", "regularizers", "utils"),
            *(
                "preprocessing.image",
                "preprocessing.sequence",
                "preprocessing.text",
                "datasets.mnist",
                "datasets.cifar10",
            ),
        )
    },
    **{
        f"python.keras.{name}": f"keras.{name}"
        for name in (
            "applications",
            *(
                f"applications.{part}"
                for part in (
                    *("densenet", "imagenet_utils", "inception_resnet_v2", "inception_v3", "mobilenet"),
                    *("mobilenet_v2", "nasnet", "resnet", "resnet_v2", "vgg16", "vgg19", "xception"),
                )
            ),
        )
    },
    **{
        f"python.keras.{name}": "keras.layers keras"
        for name in (
            *("engine", "engine.base_layer", "engine.input_layer", "engine.training", "engine.sequential"),
            *("layers.core", "layers.convolutional", "layers.embeddings", "layers.merge", "layers.noise"),
            *("layers.normalization", "layers.pooling", "layers.recurrent", "layers.wrappers"),
            "layers.advanced_activations",
        )
    },
    "contrib.keras.api": "",
    "contrib.keras.python": "",
    "python.keras.utils.np_utils": "keras.utils",
    "python.keras.utils.generic_utils": "keras.utils",
    "python.keras.utils.data_utils": "keras.utils",
    "python.keras.utils.conv_utils": "client.layers_utils",
    "python.keras.utils.tf_utils": "client.tf_utils contrib.framework",
    # Files, flags, logging.
    "python.lib": "io",
    "python.lib.io": "io",
    "python.lib.io.file_io": "ours.run.file_io",
    "python.lib.io.tf_record": "python_io io",
    "python.platform": "tf",
    "python.platform.app": "app",
    "python.platform.flags": "flags",
    "python.platform.gfile": "gfile",
    "python.platform.googletest": "test",
    "python.platform.resource_loader": "resource_loader",
    "python.platform.benchmark": "test",
    "python.platform.test": "test",
    "python.platform.tf_logging": "logging",
    "python.summary": "summary",
    "python.summary.summary": "summary",
    "python.summary.summary_iterator": "train",
    "python.summary.writer": "summary",
    "python.summary.writer.writer": "summary",
    "python.summary.writer.writer_cache": "summary",
    "python.util": "tf",
    "python.util.compat": "compat",
    "python.util.nest": "ours.core.nest",
    # Datasets and exports.
    "python.data": "data",
    "python.data.ops": "data",
    "python.data.ops.dataset_ops": "data",
    "python.data.ops.iterator_ops": "data",
    "python.data.ops.readers": "data",
    "python.data.util": "data",
    "python.data.util.nest": "client.data_util.nest",
    "python.estimator": "estimator",
    "python.estimator.estimator": "estimator",
    "python.estimator.export": "estimator.export",
    "python.estimator.export.export": "estimator.export",
    "python.estimator.inputs": "estimator.inputs",
    "python.estimator.inputs.inputs": "estimator.inputs",
    "python.estimator.model_fn": "estimator",
    "python.estimator.run_config": "estimator",
    "python.estimator.training": "estimator",
    "python.saved_model": "saved_model",
    **{
        f"python.saved_model.{name}{ending}": f"saved_model.{name} saved_model"
        for name in (
            *("builder", "constants", "loader", "main_op", "signature_constants", "signature_def_utils"),
            *("simple_save", "tag_constants", "utils"),
        )
        for ending in ("", "_impl")
    },
    **{f"contrib.slim.python.slim.nets.inception_v{v}": "contrib.slim.nets.inception" for v in (1, 2, 3)},
    "python.tools": "",
    "python.tools.freeze_graph": "ours.saved_model.freeze_graph",
    "python.tools.inspect_checkpoint": "ours.run.inspect_checkpoint",
    "python.tools.optimize_for_inference_lib": "ours.saved_model.optimize_for_inference",
    "python.tools.strip_unused_lib": "ours.saved_model.strip_unused",
    "tools": "",
    "examples": "",
    "examples.tutorials": "",
    "core": "",
    "core.example": "",
    "core.framework": "",
    "core.protobuf": "",
    "core.util": "",
    # Python functions for op types: `gen_nn_ops.max_pool_grad`.
    **{f"python.ops.gen_{name}_ops": "client.generated_ops" for name in _GENERATED},
    "python.training.gen_training_ops": "client.generated_ops",
    "python.training.training_ops": "client.generated_ops train",
    # Gradients, which the ops here declare elsewhere: programs import the modules for their effect.
    **{
        f"python.ops.{name}_grad": ""
        for name in (
            *("array", "control_flow", "cudnn_rnn", "data_flow", "image", "linalg", "manip", "math", "nn"),
            *("optional", "random", "rnn", "sdca", "sparse", "state", "tensor_array"),
        )
    },
    # Further ops.
    "python.ops.bitwise_ops": "bitwise",
    "python.ops.control_flow_util": "client.control_flow_util",
    "python.ops.control_flow_v2_toggles": "tf",
    "python.ops.critical_section_ops": "tf",
    # Branches and loops are of Switch and Merge here, with the same results.
    **{f"python.ops.{name}": "tf" for name in ("cond_v2", "while_v2")},
    "python.ops.gradient_checker_v2": "client.gradient_checker_v2",
    "python.ops.gradients_util": "tf",
    "python.ops.init_ops_v2": "keras.initializers initializers",
    "python.ops.initializers_ns": "initializers",
    "python.ops.linalg_ops_impl": "tf linalg",
    "python.ops.inplace_ops": "client.inplace_ops tf client.generated_ops",
    "python.ops.linalg.linear_operator": "linalg",
    "python.ops.linalg.linear_operator_addition": "",
    "python.ops.linalg.linear_operator_util": "",
    "python.ops.list_ops": "client.generated_ops",
    "python.ops.manip_ops": "manip tf",
    "python.ops.map_fn": "tf",
    "python.ops.numerics": "tf",
    "python.ops.parallel_for": "client.gradients",
    "python.ops.parallel_for.control_flow_ops": "tf",
    "python.ops.parallel_for.gradients": "client.gradients",
    "python.ops.ragged": "ragged",
    "python.ops.ragged.ragged_factory_ops": "ragged",
    "python.ops.rnn_cell_wrapper_impl": "nn.rnn_cell",
    "python.ops.session_ops": "tf",
    "python.ops.sort_ops": "tf",
    "python.ops.stateful_random_ops": "random.experimental random",
    "python.ops.ragged.ragged_tensor": "tf ragged",
    "python.ops.resources": "client.resources",
    "python.ops.signal": "signal",
    "python.ops.signal.fft_ops": "signal",
    "python.ops.signal.signal": "signal",
    "python.ops.spectral_ops": "spectral signal",
    "python.ops.stateless_random_ops": "random",
    "python.ops.summary_op_util": "client.summary_op_util",
    "python.ops.summary_ops": "summary",
    "python.ops.summary_ops_v2": "contrib.summary",
    "python.ops.unconnected_gradients": "tf",
    "python.ops.weights_broadcast_ops": "ours.ops.debugging.weights",
    # Further parts of graphs.
    "python.framework.common_shapes": "client.common_shapes",
    "python.framework.composite_tensor": "client.composite_tensor",
    "python.framework.func_graph": "ours.graph.func_graph",
    "python.framework.device_spec": "tf",
    "python.framework.indexed_slices": "tf",
    "python.framework.load_library": "tf",
    "python.framework.tensor_spec": "tf",
    "python.framework.type_spec": "tf",
    # Eager mode, which there is not.
    "python.eager": "client.context",
    "python.eager.backprop": "tf",
    "python.eager.context": "client.context",
    "python.eager.def_function": "tf",
    "python.eager.test": "test",
    "python.eager.tape": "client.tape",
    "python.tf2": "client.tf2",
    **{path: "contrib.eager client.tfe" for path in (_EAGER, f"{_EAGER}.python", f"{_EAGER}.python.tfe")},
    # Utilities of Python.
    **{
        f"python.util.{name}": f"client.{name}"
        for name in (
            *("all_util", "deprecation", "function_utils", "keyword_args", "lazy_loader", "object_identity"),
            *("tf_contextlib", "tf_export", "tf_inspect", "tf_should_use"),
        )
    },
    "python.util.is_in_graph_mode": "",
    "python.util.tf_decorator": "flags.tf_decorator",
    "python.platform.sysconfig": "sysconfig",
    # Further training.
    "python.training.distribute": "distribute",
    "python.training.distribution_strategy_context": "distribute",
    "python.training.evaluation": "",
    "python.training.checkpoint_ops": "contrib.framework",
    "python.training.checkpoint_state_pb2": "ours.proto.checkpoint_state_pb2",
    "python.training.saveable_object": "ours.train.saveables",
    "python.training.saving": "",
    "python.training.saving.saveable_object": "ours.train.saveables",
    "python.training.tracking.util": "train",
    "python.summary.writer.event_file_writer": "ours.summary.event_file_writer",
    "python.lib.io.python_io": "python_io",
    "python.compat": "compat",
    "python.compat.compat": "compat",
    "python.module": "tf",
    "python.module.module": "tf",
    "python.training.py_checkpoint_reader": "train",
    "python.distribute": "distribute",
    **{
        f"python.distribute.{name}": "distribute distribute.experimental"
        for name in (
            *("central_storage_strategy", "collective_all_reduce_strategy", "cross_device_ops"),
            *("distribute_lib", "mirrored_strategy", "one_device_strategy", "parameter_server_strategy"),
            "reduce_util",
        )
    },
    "python.distribute.cluster_resolver": "distribute.cluster_resolver",
    **{
        f"python.distribute.cluster_resolver.{name}": "distribute.cluster_resolver"
        for name in ("cluster_resolver", "kubernetes_cluster_resolver", "tfconfig_cluster_resolver")
    },
    "python.distribute.distribution_strategy_context": "distribute",
    # Debugging, profiles.
    **{
        f"python.debug{name}": "client.debug"
        for name in (
            "",
            ".lib",
            ".lib.debug_data",
            ".wrappers",
            ".wrappers.hooks",
            ".wrappers.local_cli_wrapper",
        )
    },
    "python.profiler": "profiler",
    "python.profiler.model_analyzer": "profiler",
    "python.profiler.option_builder": "profiler",
    # Further parts of datasets and estimators.
    "python.data.experimental": "data.experimental",
    "python.data.experimental.ops": "data.experimental",
    **{
        f"python.data.experimental.ops.{name}": "data.experimental"
        for name in (
            *("batching", "cardinality", "counter", "distribute_options", "enumerate_ops", "error_ops"),
            *("get_single_element", "grouping", "indexed_dataset_ops", "interleave_ops", "iterator_ops"),
            *("map_defun", "matching_files", "optimization", "optimization_options", "parsing_ops"),
            *(
                "prefetching_ops",
                "random_ops",
                "readers",
                "resampling",
                "scan_ops",
                "shuffle_ops",
                "snapshot",
            ),
            *("sleep", "stats_aggregator", "stats_ops", "stats_options", "take_while_ops", "testing"),
            *("threading_options", "threadpool", "unique", "writers"),
        )
    },
    "python.data.ops.optional_ops": "data.experimental",
    "python.estimator.canned": "estimator",
    **{
        f"python.estimator.canned.{name}": "estimator" for name in ("baseline", "dnn_linear_combined", "head")
    },
    **{f"python.estimator.canned.{name}": "estimator estimator.experimental" for name in ("dnn", "linear")},
    "python.estimator.canned.metric_keys": "client.metric_keys",
    "python.estimator.canned.optimizers": "",
    "python.estimator.canned.prediction_keys": "client.prediction_keys",
    "python.estimator.estimator_lib": "estimator",
    "python.estimator.head": "estimator",
    **{
        f"python.estimator.head.{name}": "estimator"
        for name in ("base_head", "binary_class_head", "multi_class_head", "multi_head", "multi_label_head")
    },
    "python.estimator.head.regression_head": "estimator",
    "python.estimator.export.export_output": "estimator.export",
    "python.estimator.exporter": "estimator",
    "python.estimator.inputs.numpy_io": "estimator.inputs",
    "python.estimator.mode_keys": "ours.estimator.mode_keys",
    "python.estimator.inputs.pandas_io": "estimator.inputs",
    **{
        f"python.estimator.{name}": "estimator.experimental"
        for name in ("early_stopping", "extenders", "hooks.hooks")
    },
    **{
        f"python.estimator.hooks{name}": "train estimator.experimental"
        for name in ("", ".basic_session_run_hooks", ".session_run_hook")
    },
    "python.estimator.canned.kmeans": "estimator.experimental",
    "python.estimator.canned.parsing_utils": "estimator",
    "python.estimator.export.export_lib": "estimator.export",
    "python.estimator.keras": "keras.estimator",
    "python.estimator.tpu": "contrib.tpu",
    **{
        f"python.estimator.tpu.{name}": "contrib.tpu"
        for name in ("tpu_config", "tpu_context", "tpu_estimator")
    },
    "python.saved_model.model_utils": "estimator.export",
    "python.saved_model.model_utils.export_output": "estimator.export",
    "python.saved_model.model_utils.mode_keys": "ours.estimator.mode_keys",
    "python.estimator.util": "client.function_utils",
    "python.keras.engine.input_spec": "layers",
    "python.keras.saving": "keras.models",
    "python.keras.saving.hdf5_format": "client.hdf5_format keras.models",
    "python.keras.saving.save": "keras.models",
    # Of TPUs, which there are not: computations are in one shard, and their ops have no kernels.
    **{
        path: "client.tpu_function"
        for path in ("python.tpu.tpu_function", "contrib.tpu.python.tpu.tpu_function")
    },
    "python.tpu": "contrib.tpu",
    "python.tpu.topology": "client.topology",
    **{
        f"python.tpu.{name}": "contrib.tpu"
        for name in ("tpu_config", "tpu_context", "tpu_estimator", "tpu_optimizer")
    },
    **{path: "" for path in ("python.tpu.ops", "python.tpu.ops.tpu_ops", "contrib.tpu.python.ops.tpu_ops")},
    # Version 2, where it differs from `tf` by more than arguments; summaries of version 2 need eager writers.
    "compat.v2.initializers": "keras.initializers initializers",
    **{f"compat.v2.{name}": f"keras.{name}" for name in ("losses", "metrics", "optimizers")},
    "compat.v2.summary": "",
    "core.lib": "",
    "core.lib.core": "",
    "core.profiler": "",
    **modules_of_tests.MODULES,
}
