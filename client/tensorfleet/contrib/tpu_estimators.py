"""`tf.contrib.tpu` without TPUs: estimators whose programs run on CPUs and GPUs with `use_tpu=False`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tensorfleet.core import dtypes
from tensorfleet.estimator import input_fns
from tensorfleet.estimator.estimator import Estimator
from tensorfleet.estimator.mode_keys import ModeKeys
from tensorfleet.estimator.run_config import RunConfig
from tensorfleet.estimator.spec import EstimatorSpec
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.state.variable_scope import variable_scope
from tensorfleet.train.optimizer import Optimizer
from tensorfleet.train.session_run_hook import SessionRunArgs, SessionRunHook


class InputPipelineConfig:
    """Where TPU programs call their input functions (`tf.contrib.tpu.InputPipelineConfig`).

    Attributes:
        PER_SHARD_V1, PER_HOST_V1, PER_HOST_V2, BROADCAST: for each core, each host, …; without effect.
    """

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4


class TPUConfig(NamedTuple):
    """Settings of TPUs, without effect (`tf.contrib.tpu.TPUConfig`)."""

    iterations_per_loop: int = 2
    num_shards: int | None = None
    num_cores_per_replica: int | None = None
    per_host_input_for_training: Any = True
    tpu_job_name: str | None = None
    initial_infeed_sleep_secs: int | None = None
    input_partition_dims: Any = None
    eval_training_input_configuration: int = InputPipelineConfig.PER_HOST_V1
    experimental_host_call_every_n_steps: int = 1


class TPURunConfig(RunConfig):
    """`tf.estimator.RunConfig` with settings of TPUs (`tf.contrib.tpu.RunConfig`).

    Args:
        tpu_config: a TPUConfig.
        evaluation_master, master: must be those of TF_CONFIG, so None or "".
        cluster: a ClusterResolver, without effect.
    """

    def __init__(
        self,
        tpu_config: TPUConfig | None = None,
        evaluation_master: str | None = None,
        master: str | None = None,
        cluster: Any = None,
        **kwargs: Any,
    ) -> None:
        if master:
            raise ValueError(
                f"master={master!r}: the master of a cluster is that of TF_CONFIG; leave it out."
            )
        super().__init__(**kwargs)
        self._tpu_config = tpu_config or TPUConfig()
        self._resolver = cluster

    @property
    def tpu_config(self) -> TPUConfig:
        """The settings of TPUs."""
        return self._tpu_config

    @property
    def cluster(self) -> Any:
        """The resolver that was given."""
        return self._resolver


class TPUEstimatorSpec(NamedTuple):
    """What a `model_fn` returns (`tf.contrib.tpu.TPUEstimatorSpec`).

    Attributes:
        eval_metrics: a function that returns metrics, and its tensors: a list, or a dict of arguments.
        scaffold_fn: a function that returns a Scaffold.
        host_call: without effect.

    The others are those of `tf.estimator.EstimatorSpec`.
    """

    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metrics: Any = None
    export_outputs: Any = None
    scaffold_fn: Any = None
    host_call: Any = None
    training_hooks: Any = None
    evaluation_hooks: Any = None
    prediction_hooks: Any = None

    def as_estimator_spec(self) -> EstimatorSpec:
        """The same for `tf.estimator`."""
        metrics = None
        if self.eval_metrics is not None:
            function, tensors = self.eval_metrics
            metrics = function(**tensors) if isinstance(tensors, dict) else function(*tensors)
        hooks = self.training_hooks
        if self.host_call is not None and self.mode == ModeKeys.TRAIN:
            function, tensors = self.host_call
            called = function(**tensors) if isinstance(tensors, dict) else function(*tensors)
            hooks = [*(hooks or ()), _HostCallHook(called)]
        return EstimatorSpec(
            self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=self.train_op,
            eval_metric_ops=metrics,
            export_outputs=self.export_outputs,
            scaffold=self.scaffold_fn() if self.scaffold_fn else None,
            training_hooks=hooks,
            evaluation_hooks=self.evaluation_hooks,
            prediction_hooks=self.prediction_hooks,
        )


class _HostCallHook(SessionRunHook):
    """Runs with each step what a model wants to be run on its host, such as the writing of summaries."""

    def __init__(self, operations: Any) -> None:
        self._operations = operations

    def before_run(self, run_context: Any) -> Any:
        return SessionRunArgs(self._operations)


class TPUEstimator(Estimator):
    """`tf.estimator.Estimator` that gives `params["batch_size"]` to its functions
    (`tf.contrib.tpu.TPUEstimator`).

    Args:
        model_fn: a function of `features`, `labels`, `mode`, `params` and `config`, that returns a
            TPUEstimatorSpec or EstimatorSpec.
        use_tpu: must be False: there are no TPUs.
        train_batch_size, eval_batch_size, predict_batch_size: the batch size of each mode.
        batch_axis, eval_on_tpu, export_to_tpu, export_to_cpu: without effect.

    Raises:
        ValueError: `use_tpu`, or `params` has a `batch_size` of its own.
    """

    def __init__(
        self,
        model_fn: Any = None,
        model_dir: Any = None,
        config: Any = None,
        params: Any = None,
        use_tpu: bool = True,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
        batch_axis: Any = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        export_to_cpu: bool = True,
        warm_start_from: Any = None,
        **kwargs: Any,
    ) -> None:
        if use_tpu:
            raise ValueError("There are no TPUs here; pass use_tpu=False to TPUEstimator.")
        if params is not None and any(key in params for key in ("batch_size", "context")):
            raise ValueError("batch_size and context are reserved in params of a TPUEstimator.")
        super().__init__(model_fn, model_dir, config, dict(params or {}), warm_start_from)
        self._batch_sizes = {
            ModeKeys.TRAIN: train_batch_size,
            ModeKeys.EVAL: eval_batch_size,
            ModeKeys.PREDICT: predict_batch_size,
        }

    def _params_of(self, mode: str) -> dict[str, Any]:
        size = self._batch_sizes.get(mode)
        return {**self.params, **({} if size is None else {"batch_size": size})}

    def _input(self, input_fn: Callable[..., Any], mode: str) -> Any:
        return input_fns.call(input_fn, mode, self._params_of(mode), self.config)

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        given: dict[str, Any] = {}
        if "labels" in self._parameters:
            given["labels"] = labels
        for name, value in (("mode", mode), ("params", self._params_of(mode)), ("config", config)):
            if name in self._parameters:
                given[name] = value
        spec = self._model_fn(features=features, **given)
        if isinstance(spec, TPUEstimatorSpec):
            return spec.as_estimator_spec()
        if not isinstance(spec, EstimatorSpec):
            raise ValueError(f"model_fn should return a TPUEstimatorSpec; it returned {spec!r}.")
        return spec


class CrossShardOptimizer(Optimizer):
    """The given optimizer: there is one shard (`tf.contrib.tpu.CrossShardOptimizer`)."""

    def __init__(
        self,
        opt: Optimizer,
        reduction: str = "mean",
        name: str = "CrossShardOptimizer",
        group_assignment: Any = None,
    ) -> None:
        super().__init__(False, name)
        self._opt = opt

    def compute_gradients(self, loss: Any, var_list: Any = None, **kwargs: Any) -> Any:  # type: ignore[override]
        """The optimizer's gradients."""
        return self._opt.compute_gradients(loss, var_list=var_list, **kwargs)

    def apply_gradients(  # type: ignore[override]
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """The optimizer's update."""
        return self._opt.apply_gradients(grads_and_vars, global_step, name)

    def get_slot(self, var: Any, name: str) -> Any:
        """The optimizer's slot."""
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """The names of the optimizer's slots."""
        return self._opt.get_slot_names()

    def variables(self) -> list[Any]:
        """The optimizer's variables."""
        return self._opt.variables()


@contextmanager
def bfloat16_scope(name: str | None = None) -> Iterator[Any]:
    """Variables in it are float32, and read as bfloat16 where that is asked for
    (`tf.contrib.tpu.bfloat16_scope`)."""

    def getter(getter: Any, *args: Any, **kwargs: Any) -> Any:
        if dtypes.as_dtype(kwargs.get("dtype") or dtypes.float32) is not dtypes.bfloat16:
            return getter(*args, **kwargs)
        return cast(getter(*args, **{**kwargs, "dtype": dtypes.float32}), dtypes.bfloat16)

    with variable_scope(name or "", custom_getter=getter) as scope:
        yield scope
