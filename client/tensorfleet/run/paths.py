"""TensorFlow's modules by their paths, public and internal, made from the names of this library.

Each module looks its names up in public namespaces: `tensorflow.contrib.layers` in the namespace of that
path, an internal one such as `tensorflow.python.ops.array_ops` in those of the table `INTERNAL`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from tensorfleet.core.public import missing_names
from tensorfleet.run import internal_modules, internal_names

OURS, THEIRS = "tensorfleet", "tensorflow"

# The namespaces in which the names of an internal module are looked up; "tf" is the root of the others.
INTERNAL: dict[str, str] = {
    **internal_names.MODULES,
    **internal_modules.MODULES,
    "python": "tf",
    # Ops and gradients.
    "python.ops": "tf",
    "contrib.framework.python.ops.audio_ops": "audio",
    "python.ops.gen_audio_ops": "audio",
    "python.ops.array_ops": "tf linalg nn",
    "python.ops.candidate_sampling_ops": "nn",
    "python.ops.check_ops": "tf debugging",
    "python.ops.clip_ops": "tf",
    "python.ops.confusion_matrix": "tf math",
    "python.ops.control_flow_ops": "tf",
    "python.ops.ctc_ops": "nn",
    "python.ops.custom_gradient": "tf",
    "python.ops.data_flow_ops": "tf queue contrib.staging",
    "python.ops.embedding_ops": "nn",
    "python.ops.functional_ops": "tf",
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
    "python.framework.random_seed": "tf random",
    "python.framework.smart_cond": "contrib.framework",
    "python.framework.sparse_tensor": "tf sparse",
    "python.framework.tensor_shape": "tf",
    "python.framework.tensor_util": "tf",
    "python.framework.test_util": "client.test_util test",
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
    "python.training.summary_io": "summary train",
    "python.training.slot_creator": "client.slot_creator",
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
            *("preprocessing.sequence", "preprocessing.text", "datasets.mnist", "datasets.cifar10"),
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
    "python.keras.utils.np_utils": "keras.utils",
    "python.keras.utils.generic_utils": "keras.utils",
    "python.keras.utils.data_utils": "keras.utils",
    # Files, flags, logging.
    "python.lib": "io",
    "python.lib.io": "io",
    "python.lib.io.file_io": "client.file_io",
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
    "python.util.nest": "client.nest",
    # Datasets and exports.
    "python.data": "data",
    "python.data.ops": "data",
    "python.data.ops.dataset_ops": "data",
    "python.data.ops.iterator_ops": "data",
    "python.data.ops.readers": "data",
    "python.data.util": "data",
    "python.data.util.nest": "client.nest",
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
    "python.tools.freeze_graph": "client.freeze_graph",
    "python.tools.inspect_checkpoint": "client.inspect_checkpoint",
    "examples": "",
    "examples.tutorials": "",
    "core": "",
    "core.example": "",
    "core.framework": "",
    "core.protobuf": "",
    "core.util": "",
}

# Names of internal modules that differ from those of the namespace.
RENAMED: dict[str, str] = {
    **internal_names.NAMES,
    **internal_modules.NAMES,
    "python.framework.ops.convert_n_to_tensor_or_indexed_slices": "tf.convert_to_tensor_or_indexed_slices",
    **{
        f"{path}.{name}": f"client.{name}"
        for path in ("contrib.framework.python.ops.audio_ops", "python.ops.gen_audio_ops")
        for name in ("audio_spectrogram", "mfcc")
    },
    "python.framework.function.Defun": "client.Defun",
    "python.ops.data_flow_ops.Barrier": "client.Barrier",
    "python.framework.random_seed.get_seed": "tf.random.get_seed",
    "python.framework.tensor_util.constant_value": "tf.get_static_value",
    "python.framework.tensor_util.MakeNdarray": "tf.make_ndarray",
    "python.framework.tensor_shape.as_shape": "tf.TensorShape",
    "python.framework.smart_cond.smart_cond": "client.smart_cond",
    "python.framework.tensor_shape.matrix": "client.matrix_shape",
    "python.framework.tensor_shape.scalar": "client.scalar_shape",
    "python.framework.tensor_shape.unknown_shape": "client.unknown_shape",
    "python.framework.tensor_shape.vector": "client.vector_shape",
    "python.layers.utils.smart_cond": "client.smart_cond",
    "python.ops.control_flow_ops.with_dependencies": "client.with_dependencies",
    "python.training.moving_averages.assign_moving_average": "client.assign_moving_average",
    "python.ops.array_ops.concat_v2": "tf.concat",
    "python.ops.init_ops.Initializer": "client.Initializer",
    "python.ops.init_ops.Zeros": "tf.zeros_initializer",
    "python.ops.init_ops.Ones": "tf.ones_initializer",
    "python.ops.init_ops.Constant": "tf.constant_initializer",
    "python.ops.init_ops.RandomNormal": "tf.random_normal_initializer",
    "python.ops.init_ops.RandomUniform": "tf.random_uniform_initializer",
    "python.ops.init_ops.TruncatedNormal": "tf.truncated_normal_initializer",
    "python.ops.init_ops.VarianceScaling": "tf.variance_scaling_initializer",
    "python.ops.init_ops.Orthogonal": "tf.orthogonal_initializer",
    "python.training.training_util.write_graph": "tf.train.write_graph",
    **{
        f"{path}._linear": "client.linear"
        for path in (
            *("python.ops.rnn_cell", "python.ops.rnn_cell_impl", "nn.rnn_cell", "contrib.rnn"),
            *("contrib.rnn.python.ops.core_rnn_cell", "contrib.rnn.python.ops.core_rnn_cell_impl"),
        )
    },
    "python.training.server_lib.ClusterSpec": "tf.train.ClusterSpec",
    "python.util.nest.is_sequence": "client.nest.is_nested",
    "python.data.util.nest.is_sequence": "client.nest.is_nested",
}

# The directories and files of contrib's packages that programs import.
_CONTRIB_PARTS = frozenset(
    (
        *("python", "ops", "layers", "training", "learning", "learn", "estimators", "framework", "rnn"),
        *("add_arg_scope", "arg_scope", "attention_wrapper", "basic_decoder", "beam_search_decoder"),
        *(
            "checkpoint_ops",
            "core_rnn",
            "core_rnn_cell",
            "core_rnn_cell_impl",
            "decoder",
            "embedding_ops",
            "encoders",
            "evaluation",
        ),
        *(
            "feature_column",
            "gru_ops",
            "helper",
            "hparam",
            "initializers",
            "loss",
            "lstm_ops",
            "normalization",
        ),
        *("optimizers", "regularizers", "rnn_cell", "seq2seq", "slim", "summaries", "utils", "variables"),
        *(
            "initializers",
            "metric_ops",
            "metrics",
            "queues",
            "device_setter",
            "sequence_queueing_state_saver",
            "base",
            "datasets",
            "mnist",
            "preprocessing",
            *("data", "data_decoder", "data_provider", "dataset", "dataset_data_provider"),
            *("parallel_reader", "prefetch_queue", "tfexample_decoder"),
            "external_optimizer",
            "tpu",
            "tpu_config",
            "tpu_context",
            "tpu_estimator",
            "tpu_optimizer",
            "bfloat16",
            "sign_decay",
            "image_ops",
            "text",
            "categorical_vocabulary",
        ),
        *("nets", "alexnet", "inception", "inception_v1", "inception_v2", "inception_v3", "overfeat"),
        *(
            "resnet_utils",
            "resnet_v1",
            "resnet_v2",
            "vgg",
            "data",
            "dataset",
            "data_decoder",
            "data_provider",
        ),
        *("dataset_data_provider", "parallel_reader", "prefetch_queue", "tfexample_decoder"),
        *("cudnn_rnn", "cudnn_rnn_ops", "fused_rnn_cell", "rnn", "loss_ops", "metric_learning"),
        *("tpu", "tpu_config", "tpu_estimator", "tpu_optimizer", "util", "mirrored_strategy", "nn"),
        *("clustering_ops", "kmeans", "resampler_ops", "odes", "nccl_ops", "all_reduce", "cross_tower_ops"),
        *("loss_scale_manager", "loss_scale_optimizer", "linear", "dnn", "select", "subgraph", "transform"),
        *("reroute", "edit", "training_util", "bucket_ops", "alpha_dropout", "scaled_softplus", "jit", "xla"),
    )
)


class Redirected(ModuleType):
    """A module of TensorFlow whose names are looked up in public namespaces of this library."""

    def __init__(self, path: str, places: tuple[str, ...]) -> None:
        super().__init__(
            f"{THEIRS}.{path}" if path else THEIRS, f"Names of {THEIRS}.{path}, of this library."
        )
        self._path, self._places = path, places
        # The path makes it a package for the import machinery; the hook finds its modules.
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":  # for `from … import *`
            return [n for n in dir(self) if not n.startswith("_")]
        if name.startswith("__"):
            raise AttributeError(name)
        # The next look-up finds the value without a call.
        value = self.__dict__[name] = self._find(name)
        return value

    def _find(self, name: str) -> Any:
        own = f"{self._path}.{name}" if self._path else name
        if (full := RENAMED.get(own)) is not None:
            return _public(full)
        if own in INTERNAL and (inner := module(own)) is not None:
            return inner
        for place in self._places:
            value = attribute(namespace(place), name)
            if isinstance(value, ModuleType) and (inner := module(own)) is not None:
                return inner
            # tf.newaxis is None.
            if value is not None or name in _public_names(namespace(place)):
                return value
        if (inner := module(own)) is not None:
            return inner
        if self._path.startswith("python.") and (beside := _beside(name)) is not None:
            return module(beside)
        raise AttributeError(
            f"TensorFleet has no {THEIRS}.{own}; see docs/missing.md, or ask `tensorfleet doctor`"
        )

    def __dir__(self) -> list[str]:
        names: set[str] = set()
        for place in self._places:
            names.update(n for n in dir(namespace(place) or object()) if not n.startswith("_"))
        return sorted(names)


class RootModule(Redirected):
    """The module `tensorflow`."""

    def __init__(self) -> None:
        super().__init__("", ("tf",))

        ours = import_module(OURS)
        self.__version__, self.__git_version__ = ours.__version__, ours.__git_version__
        self.__compiler_version__ = ours.__compiler_version__

    def _find(self, name: str) -> Any:
        if name in missing_names():
            # The namespace raises the error for a missing name.
            return getattr(import_module(OURS), name)
        return super()._find(name)


@cache
def _beside(name: str) -> str | None:
    """The path of the internal module that others import by that name, so that it is one of their names."""
    places = ("framework", "ops", "util", "training")
    return next((path for place in places if (path := f"python.{place}.{name}") in INTERNAL), None)


@cache
def namespace(place: str) -> Any:
    """The public namespace with a path below `tf`; None if there is none."""
    if place == "tf":
        return import_module(OURS)
    if place == "client" or place.startswith("client."):
        value: Any = import_module(f"{OURS}.run.internals")
        return _walk(value, place.split(".")[1:])
    return _walk(import_module(OURS), place.split("."))


def _walk(value: Any, names: list[str]) -> Any:
    for name in names:
        value = attribute(value, name)
    return value


def attribute(value: Any, name: str) -> Any:
    """The value of a public name of a namespace, class or object; None if there is none.

    The modules of the implementation, which lie beside the namespaces, are not names of `tf`.
    """
    if isinstance(value, ModuleType) and not isinstance(value, Redirected) and name not in _names(value):
        return None
    return getattr(value, name, None)


def _public_names(value: Any) -> frozenset[str]:
    return _names(value) if isinstance(value, ModuleType) else frozenset()


@cache
def _names(value: ModuleType) -> frozenset[str]:
    return frozenset(dir(value))


def _public(full: str) -> Any:
    place, _, name = full.rpartition(".")
    return getattr(namespace(place.removeprefix("tf.") or "tf"), name)


@cache
def module(path: str) -> ModuleType | None:
    """This library's module for `tensorflow.<path>` ("" for `tensorflow`), or None.

    This neither imports TensorFlow nor runs a program's code.
    """
    if not path:
        return RootModule()
    parts = path.split(".")
    if parts[:2] == ["compat", "v1"]:
        return module(".".join(parts[2:]))
    if path in INTERNAL:
        places = tuple(INTERNAL[path].split())
        return Redirected(path, places) if not places or any(map(_is_there, places)) else None
    if parts[0] == "core" and path.rpartition(".")[0] in INTERNAL and parts[-1].endswith("_pb2"):
        full = f"{OURS}.proto.{parts[-1]}"
        return import_module(full) if find_spec(full) else None
    if parts[0] == "contrib" and len(parts) > 2 and _CONTRIB_PARTS.issuperset(parts[2:]):
        if (public := _public_module(path)) is not None:
            return public
        # `contrib.slim.python.slim.learning` has the names of `contrib.slim.learning`.
        place = ".".join(parts[:2])
        # `contrib.learn.python.learn.preprocessing.text` has those of `contrib.learn.preprocessing`.
        nested = [part for part in parts[2:] if part not in ("python", parts[1])]
        around = [".".join([place, *nested[:end]]) for end in range(len(nested), -1, -1)]
        inner = dict.fromkeys((f"{place}.{parts[-1]}", *around))
        found = tuple(p for p in inner if isinstance(namespace(p), ModuleType))
        return Redirected(path, found) if place in found else None
    return _public_module(path)


def _is_there(place: str) -> bool:
    return namespace(place) is not None


def _public_module(path: str) -> ModuleType | None:
    if path.startswith("examples.tutorials.") and _has_module(path):
        return import_module(f"{OURS}.{path}")
    # Not the namespace itself: it is not a package, and imports would set attributes on it.
    return Redirected(path, (path,)) if isinstance(namespace(path), ModuleType) else None


def _has_module(path: str) -> bool:
    """Whether this library has a module with that path."""
    try:
        return find_spec(f"{OURS}.{path}") is not None
    except ModuleNotFoundError:
        return False
