"""TensorFlow's modules by their paths, public and internal, made from the names of this library.

Each module looks its names up in public namespaces: `tensorflow.contrib.layers` in the namespace of that
path, an internal one such as `tensorflow.python.ops.array_ops` in the places that `internal_modules.py` says.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from tensorfleet.core.public import missing_names
from tensorfleet.run.internal_modules import MODULES as INTERNAL
from tensorfleet.run.internal_names import NAMES as RENAMED

OURS, THEIRS = "tensorfleet", "tensorflow"
# TensorFlow brought its estimators along as a package of their own, whose modules have the same paths below
# it as below `tensorflow`.
PACKAGES = (THEIRS, "tensorflow_estimator")

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
        *(
            "train",
            "namedtuples",
            "losses",
            "losses_impl",
            "tuple_losses",
            "tuple_losses_impl",
            "eval",
            "features",
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
            "input_fn_utils",
            "run_config",
            "experiment",
            "learn_runner",
            *("dnn_linear_combined", "estimator", "metric_spec", "model_fn"),
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
        *("monitors", "saved_model_predictor", "contrib_estimator_predictor", "core_estimator_predictor"),
        *("dense_image_warp", "sparse_image_warp", "interpolate_spline"),
    )
)


_V2 = "compat.v2."


def _of_version_2(path: str) -> Any:
    """What version 2 has in a name that version 1 has otherwise; None if both are the same.

    Raises:
        AttributeError: this library lacks it.
    """
    v2 = import_module(f"{OURS}.run.python.v2")
    if path in v2.ABSENT:
        raise AttributeError(f"TensorFleet has no {THEIRS}.{_V2}{path}; {THEIRS}.compat.v1.{path} is another")
    return v2.adapted(path) if path in v2.SIGNATURES else None


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
        if (owner := self._owner_of_setting(name)) is not None:
            return getattr(owner, name)
        # The next look-up finds the value without a call.
        value = self._find(name)
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and (owner := self._owner_of_setting(name)) is not None:
            setattr(owner, name, value)
        else:
            super().__setattr__(name, value)

    def _owner_of_setting(self, name: str) -> Any:
        """The module of this library in which a name is a setting; None for other names."""
        for place in self._places:
            if place.startswith("client."):
                owner = namespace(place)
                if isinstance(getattr(type(owner), name, None), property):
                    return owner
        return None

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """All names with their values, for programs that go through the names of a module."""
        for name in dir(self):
            getattr(self, name, None)
        return super().__dict__

    def _find(self, name: str) -> Any:
        own = f"{self._path}.{name}" if self._path else name
        if own.startswith(_V2) and (value := _of_version_2(own.removeprefix(_V2))) is not None:
            return value
        if (full := RENAMED.get(own)) is not None:
            return _public(full)
        if own in INTERNAL and (inner := module(own)) is not None:
            return inner
        imported: ModuleType | None = None
        for place in self._places:
            value = attribute(namespace(place), name)
            if isinstance(value, ModuleType):
                if (inner := module(own)) is not None:
                    return inner
                # What a module of the implementation imports comes last: it is seldom meant.
                if place.startswith(("client.", "ours.")):
                    imported = imported or value
                    continue
            # tf.newaxis is None.
            if value is not None or name in _public_names(namespace(place)):
                return value
        if (inner := module(own)) is not None:
            return inner
        if self._path.startswith("python.") and (beside := _beside(name)) is not None:
            return module(beside)
        if imported is not None:
            return imported
        if self._path.startswith("python.") and (version := self._of_version(name)) is not None:
            return version
        raise AttributeError(
            f"TensorFleet has no {THEIRS}.{own}; see docs/missing.md, or ask `tensorfleet doctor`"
        )

    def _of_version(self, name: str) -> Any:
        """What `name_v1`, `NameV1`, `name_v2` or `NameV2` is called in public; None if there is no such name.

        Internal modules have functions of both versions side by side.
        """
        base, version = name[:-2].removesuffix("_"), name[-2:].lower()
        if not base or version not in ("v1", "v2"):
            return None
        if version == "v1" or name.endswith("V2"):  # classes differ by their defaults at most
            return getattr(self, base, None)
        for place in self._places:
            if place == "tf" or not place.startswith(("client", "ours.", "contrib")):
                inner = module((_V2 + place).removesuffix(".tf"))
                if inner is not None and (value := getattr(inner, base, None)) is not None:
                    return value
        return None

    def __dir__(self) -> list[str]:
        names = {*super().__dict__, *_named_below(self._path)}
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
def _named_below(path: str) -> frozenset[str]:
    """The names that the tables have for a module, beside those of its places."""
    pairs = (full.rpartition(".") for full in (*RENAMED, *INTERNAL))
    return frozenset(name for module_path, _, name in pairs if module_path == path)


@cache
def _beside(name: str) -> str | None:
    """The path of the internal module that others import by that name, so that it is one of their names."""
    places = ("framework", "ops", "util", "training")
    return next((path for place in places if (path := f"python.{place}.{name}") in INTERNAL), None)


@cache
def namespace(place: str) -> Any:
    """The namespace that a place stands for (see `internal_modules.py`); None if there is none."""
    if place == "tf":
        return import_module(OURS)
    if place.startswith("ours."):
        return import_module(f"{OURS}.{place.removeprefix('ours.')}")
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
    if parts[:2] == ["compat", "v2"] and path not in INTERNAL:
        if parts[2:3] == ["compat"]:
            return module(".".join(parts[2:]))
        place = ".".join(parts[2:]) or "tf"
        return Redirected(path, (place,)) if isinstance(namespace(place), ModuleType) else None
    # Keras lay in contrib before it came to `tf.keras`.
    if parts[:2] == ["contrib", "keras"] and parts[2:4] in (["python", "keras"], ["api", "keras"]):
        return module(".".join(["python", *parts[3:]]))
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
