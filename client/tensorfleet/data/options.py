"""`tf.data.Options`: hints for the execution of a pipeline."""

from __future__ import annotations

import enum
from typing import Any


class _Hints:
    """Attributes that are None until they are set: those that a class declares."""

    def __init__(self) -> None:
        for name in type(self).__annotations__:
            self.__dict__[name] = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        self.__dict__[name] = value


class ThreadingOptions(_Hints):
    """The number of threads that a pipeline should use (`tf.data.ThreadingOptions`)."""

    max_intra_op_parallelism: Any
    private_threadpool_size: Any


class AutoShardPolicy(enum.IntEnum):
    """How a dataset is divided among workers (`tf.data.experimental.AutoShardPolicy`)."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class AutotuneAlgorithm(enum.Enum):
    """How TensorFlow chooses numbers of calls (`tf.data.experimental.AutotuneAlgorithm`)."""

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class ExternalStatePolicy(enum.Enum):
    """What to do about state outside of a saved pipeline (`tf.data.experimental.ExternalStatePolicy`)."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class AutotuneOptions(_Hints):
    """How TensorFlow chooses numbers of calls (`tf.data.experimental.AutotuneOptions`)."""

    autotune_algorithm: Any
    cpu_budget: Any
    enabled: Any
    initial_parallelism: Any
    min_parallelism: Any
    ram_budget: Any


class DistributeOptions(_Hints):
    """How a dataset is divided among workers (`tf.data.experimental.DistributeOptions`)."""

    auto_shard_policy: Any
    num_devices: Any

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["auto_shard_policy"] = AutoShardPolicy.AUTO


class OptimizationOptions(_Hints):
    """Rewriting of pipelines by TensorFlow (`tf.data.experimental.OptimizationOptions`)."""

    apply_default_optimizations: Any
    filter_fusion: Any
    filter_parallelization: Any
    inject_prefetch: Any
    map_and_batch_fusion: Any
    map_and_filter_fusion: Any
    map_fusion: Any
    map_parallelization: Any
    noop_elimination: Any
    parallel_batch: Any
    seq_interleave_prefetch: Any
    shuffle_and_repeat_fusion: Any


class ServiceOptions(_Hints):
    """Where a dataset service keeps what it sends (`tf.data.experimental.ServiceOptions`)."""

    pinned: Any


class Options(_Hints):
    """Hints for the execution of a pipeline (`tf.data.Options`).

    They are kept with the dataset but have no effect: the order is always deterministic, and the threads are
    those of the task.
    """

    autotune: Any
    dataset_name: Any
    deterministic: Any
    experimental_deterministic: Any
    experimental_distribute: Any
    experimental_external_state_policy: Any
    experimental_optimization: Any
    experimental_service: Any
    experimental_slack: Any
    experimental_symbolic_checkpoint: Any
    experimental_threading: Any
    experimental_warm_start: Any
    framework_type: Any
    threading: Any

    def __init__(self) -> None:
        super().__init__()
        for name, kind in _PARTS.items():
            self.__dict__[name] = kind()
        self.__dict__["experimental_threading"] = self.__dict__["threading"]

    def merge(self, options: Options) -> Options:
        """Options with what is set in these, and in place of it what is set in `options`."""
        made = Options()
        for source in (self, options):
            for name, value in source.__dict__.items():
                if name in _PARTS or name == "experimental_threading":
                    part = made.__dict__[name].__dict__
                    # The defaults of parts, such as AutoShardPolicy.AUTO, count as not set.
                    unset = type(value)().__dict__
                    part.update({key: v for key, v in value.__dict__.items() if v != unset[key]})
                elif value is not None:
                    made.__dict__[name] = value
        return made


_PARTS: dict[str, type[_Hints]] = {
    "autotune": AutotuneOptions,
    "experimental_distribute": DistributeOptions,
    "experimental_optimization": OptimizationOptions,
    "experimental_service": ServiceOptions,
    "threading": ThreadingOptions,
}
