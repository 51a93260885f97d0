"""`tf.estimator.tpu`: estimators that are written for TPUs, run on CPUs and GPUs (`use_tpu=False`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from enum import IntEnum
from typing import Any, NamedTuple

from tensorfleet.core import structures
from tensorfleet.estimator import input_fns
from tensorfleet.estimator.estimator import Estimator
from tensorfleet.estimator.mode_keys import ModeKeys
from tensorfleet.estimator.run_config import RunConfig as EstimatorRunConfig
from tensorfleet.estimator.spec import EstimatorSpec
from tensorfleet.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook

NO_TPUS = "there are no TPUs: leave use_tpu at False, and the same model runs on CPUs and GPUs"
_BATCH_SIZE, _USE_TPU = "batch_size", "use_tpu"
_RESERVED = (_BATCH_SIZE, "context")


class InputPipelineConfig(IntEnum):
    """How TPUs are fed (`tf.estimator.tpu.InputPipelineConfig`); without effect here."""

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


class TPUConfig(NamedTuple):
    """How TPUs are used (`tf.estimator.tpu.TPUConfig`); without effect here, as there are none."""

    iterations_per_loop: int = 2
    num_shards: int | None = None
    num_cores_per_replica: int | None = None
    per_host_input_for_training: Any = True
    tpu_job_name: str | None = None
    initial_infeed_sleep_secs: int | None = None
    input_partition_dims: Any = None
    eval_training_input_configuration: Any = InputPipelineConfig.PER_HOST_V1
    experimental_host_call_every_n_steps: int = 1
    experimental_allow_per_host_v2_parallel_get_next: bool = False
    experimental_feed_hook: Any = None


class RunConfig(EstimatorRunConfig):
    """How and where an estimator for TPUs runs (`tf.estimator.tpu.RunConfig`).

    Args:
        tpu_config: without effect.
        evaluation_master, master: sessions' targets; they come from TF_CONFIG here.
        cluster: a ClusterResolver of TPUs; there are none.
        kwargs: as `tf.estimator.RunConfig`.

    Raises:
        ValueError: a master is given.
        NotImplementedError: a cluster of TPUs is given.
    """

    def __init__(
        self,
        tpu_config: TPUConfig | None = None,
        evaluation_master: str | None = None,
        master: str | None = None,
        cluster: Any = None,
        **kwargs: Any,
    ) -> None:
        if cluster is not None:
            raise NotImplementedError(f"RunConfig(cluster={cluster!r}): {NO_TPUS}")
        if master or evaluation_master:
            raise ValueError(
                f"RunConfig(master={master!r}, evaluation_master={evaluation_master!r}): the cluster of an "
                "estimator is told by TF_CONFIG; leave both out"
            )
        super().__init__(**kwargs)
        self._tpu_config = tpu_config or TPUConfig()

    @property
    def tpu_config(self) -> TPUConfig:
        """How TPUs would be used."""
        return self._tpu_config

    @property
    def cluster(self) -> None:
        """None: there are no TPUs."""
        return None


class _Fields(NamedTuple):
    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metrics: Any = None
    export_outputs: Any = None
    scaffold_fn: Callable[[], Any] | None = None
    host_call: Any = None
    training_hooks: Any = None
    evaluation_hooks: Any = None
    prediction_hooks: Any = None


class TPUEstimatorSpec(_Fields):
    """What a `model_fn` of a TPUEstimator returns (`tf.estimator.tpu.TPUEstimatorSpec`).

    Args:
        mode, predictions, loss, train_op, export_outputs, training_hooks, evaluation_hooks, prediction_hooks:
            as in `tf.estimator.EstimatorSpec`.
        eval_metrics: a function to the metrics by their names, and its arguments: a list of tensors, or a
            dict of them.
        scaffold_fn: makes the Scaffold.
        host_call: a function and its tensors [batch, …]; what it returns is run in each step.
    """

    __slots__ = ()

    def as_estimator_spec(self) -> EstimatorSpec:
        """The EstimatorSpec that does the same on CPUs and GPUs."""
        metrics = None if self.eval_metrics is None else _called(self.eval_metrics)
        hooks: tuple[SessionRunHook, ...] = ()
        if self.host_call is not None:
            hooks = (_HostCallHook(_called(self.host_call)),)
        return EstimatorSpec(
            mode=self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=self.train_op,
            eval_metric_ops=metrics,
            export_outputs=self.export_outputs,
            scaffold=self.scaffold_fn() if self.scaffold_fn else None,
            training_hooks=(*(self.training_hooks or ()), *hooks),
            evaluation_hooks=(*(self.evaluation_hooks or ()), *hooks),
            prediction_hooks=(*(self.prediction_hooks or ()), *hooks),
        )


def _called(given: Any) -> Any:
    """The result of a function that is given with its arguments.

    Raises:
        ValueError: it is not.
    """
    if not (isinstance(given, (list, tuple)) and len(given) == 2 and callable(given[0])):
        raise ValueError(f"expected a tuple of a function, and its tensors in a list or dict; got {given!r}")
    function, tensors = given
    return function(**tensors) if isinstance(tensors, dict) else function(*tensors)


class _HostCallHook(SessionRunHook):
    """Runs the operations of a host call in each step."""

    def __init__(self, fetches: Any) -> None:
        self._fetches = [fetch for fetch in structures.flatten(fetches) if fetch is not None]

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._fetches)


class TPUEstimator(Estimator):
    """An estimator whose model and inputs are written for TPUs, on CPUs and GPUs
    (`tf.estimator.tpu.TPUEstimator`).

    Args:
        model_fn: as for `tf.estimator.Estimator`; its `params` have "batch_size" and "use_tpu" as well, and
            it may return a TPUEstimatorSpec.
        model_dir, config, params, warm_start_from: as for `tf.estimator.Estimator`.
        use_tpu: must be False.
        train_batch_size, eval_batch_size, predict_batch_size: of each mode, for `params["batch_size"]` of
            `model_fn` and `input_fn`.
        batch_axis, eval_on_tpu, export_to_tpu, export_to_cpu, embedding_config_spec,
            export_saved_model_api_version: without effect.

    Raises:
        NotImplementedError: use_tpu is True.
        ValueError: `params` has a key that is reserved, or as for `tf.estimator.Estimator`.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: Any = None,
        config: EstimatorRunConfig | None = None,
        params: Mapping[str, Any] | None = None,
        use_tpu: bool = True,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
        batch_axis: Any = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        export_to_cpu: bool = True,
        warm_start_from: Any = None,
        embedding_config_spec: Any = None,
        export_saved_model_api_version: Any = None,
    ) -> None:
        if use_tpu:
            raise NotImplementedError(f"TPUEstimator(use_tpu={use_tpu!r}): {NO_TPUS}")
        if params is not None and any(key in params for key in _RESERVED):
            raise ValueError(f"{_RESERVED} are reserved keys but existed in params {params}.")
        self._batch_sizes = {
            ModeKeys.TRAIN: train_batch_size,
            ModeKeys.EVAL: eval_batch_size,
            ModeKeys.PREDICT: predict_batch_size,
        }
        super().__init__(model_fn, model_dir, config, params, warm_start_from)

    def _params_of(self, mode: str, **more: Any) -> Any:
        """A copy of the parameters, with the batch size of the mode."""
        params: Any = deepcopy(self._params)
        if self._batch_sizes.get(mode) is not None:
            more[_BATCH_SIZE] = self._batch_sizes[mode]
        for name, value in more.items():
            if not hasattr(params, "set_hparam"):
                params[name] = value
            elif name in params:
                params.set_hparam(name, value)
            else:
                params.add_hparam(name, value)
        return params

    def _input(self, input_fn: Callable[..., Any], mode: str) -> Any:
        return input_fns.call(input_fn, mode, self._params_of(mode), self.config)

    def _given_params(self, mode: str) -> Any:
        return self._params_of(mode, **{_USE_TPU: False})

    def _checked_spec(self, spec: Any) -> EstimatorSpec:
        return super()._checked_spec(spec.as_estimator_spec() if isinstance(spec, TPUEstimatorSpec) else spec)
