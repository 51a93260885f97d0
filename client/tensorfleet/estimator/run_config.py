"""`tf.estimator.RunConfig`: how an estimator runs."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any

from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet.estimator import task_environment
from tensorfleet.estimator.arguments import parameter_names
from tensorfleet.proto import config_pb2
from tensorfleet.train.device_setter import replica_device_setter

_DEFAULT: Any = object()
_PROTOCOLS = (None, "grpc", "grpc+stream")
_REPLACEABLE = (
    *("model_dir", "tf_random_seed", "save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs"),
    *("session_config", "keep_checkpoint_max", "keep_checkpoint_every_n_hours", "log_step_count_steps"),
    *("train_distribute", "device_fn", "protocol", "eval_distribute", "experimental_distribute"),
    *("experimental_max_worker_delay_secs", "session_creation_timeout_secs", "checkpoint_save_graph_def"),
)
_STRATEGIES = ("train_distribute", "eval_distribute", "experimental_distribute")


class RunConfig:
    """How and where an estimator runs (`tf.estimator.RunConfig`).

    The cluster and this process's place in it are read from the environment variable TF_CONFIG:

        {"cluster": {"chief": ["host:port"], "ps": ["host:port"], "worker": ["host:port"]},
         "task": {"type": "worker", "index": 0}}

    An evaluator has the type "evaluator", and is not in the cluster.

    Args:
        model_dir: where checkpoints and summaries go.
        tf_random_seed: the graph's seed.
        save_summary_steps: steps between summaries.
        save_checkpoints_steps, save_checkpoints_secs: steps or seconds between checkpoints, by default 600 s.
        session_config: ConfigProto of sessions; by default, on a cluster, each process sees the parameter
            servers and itself.
        keep_checkpoint_max: how many checkpoints are kept; None or 0: all.
        keep_checkpoint_every_n_hours: one of so many hours is kept beside them.
        log_step_count_steps: steps between reports of the loss and of the steps per second.
        train_distribute: a `tf.distribute.Strategy` to train by, such as a MirroredStrategy.
        eval_distribute: a strategy; evaluation takes one replica, with the same results.
        experimental_distribute: must be None.
        device_fn: from an operation to its device; by default variables are spread over the
            parameter servers.
        protocol: of servers: "grpc", or "grpc+stream", which is the default.
        experimental_max_worker_delay_secs: the longest time that a worker waits before it begins.
        session_creation_timeout_secs: how long to wait for the cluster, and for the chief.
        checkpoint_save_graph_def: write the graph beside checkpoints.

    Raises:
        ValueError: an argument is out of range, contradicts another one, or TF_CONFIG does.
        NotImplementedError: a strategy is given.
    """

    def __init__(
        self,
        model_dir: Any = None,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_steps: int | None = _DEFAULT,
        save_checkpoints_secs: float | None = _DEFAULT,
        session_config: config_pb2.ConfigProto | None = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100,
        train_distribute: Any = None,
        device_fn: Callable[[Any], Any] | None = None,
        protocol: str | None = None,
        eval_distribute: Any = None,
        experimental_distribute: Any = None,
        experimental_max_worker_delay_secs: float | None = None,
        session_creation_timeout_secs: float = 7200,
        checkpoint_save_graph_def: bool = True,
    ) -> None:
        steps, secs = save_checkpoints_steps, save_checkpoints_secs
        if steps is _DEFAULT and secs is _DEFAULT:
            steps, secs = None, 600
        self._environment = self._read_environment(worker_count(train_distribute) > 1)
        self._values: dict[str, Any] = {
            "model_dir": _model_dir(model_dir, self._environment.model_dir),
            "tf_random_seed": tf_random_seed,
            "save_summary_steps": save_summary_steps,
            "save_checkpoints_steps": None if steps is _DEFAULT else steps,
            "save_checkpoints_secs": None if secs is _DEFAULT else secs,
            "session_config": session_config or task_environment.session_config(self._environment),
            "keep_checkpoint_max": keep_checkpoint_max,
            "keep_checkpoint_every_n_hours": keep_checkpoint_every_n_hours,
            "log_step_count_steps": log_step_count_steps,
            "train_distribute": train_distribute,
            "device_fn": device_fn,
            "protocol": protocol,
            "eval_distribute": eval_distribute,
            "experimental_distribute": experimental_distribute,
            "experimental_max_worker_delay_secs": experimental_max_worker_delay_secs,
            "session_creation_timeout_secs": session_creation_timeout_secs,
            "checkpoint_save_graph_def": checkpoint_save_graph_def,
        }
        _check(self._values)

    def _read_environment(self, in_step: bool) -> task_environment.TaskEnvironment:
        return task_environment.read(in_step)

    @property
    def cluster_spec(self) -> ClusterSpec:
        """The cluster; empty where there is none, and for an evaluator."""
        return self._environment.cluster_spec

    @property
    def task_type(self) -> str:
        """The job of this process."""
        return self._environment.task_type

    @property
    def task_id(self) -> int:
        """Its number in the job."""
        return self._environment.task_id

    @property
    def global_id_in_cluster(self) -> int | None:
        """Its number in the cluster: the chief, then workers, then parameter servers; None: not in it."""
        return self._environment.global_id_in_cluster

    @property
    def master(self) -> str:
        """The target of sessions that train."""
        return self._environment.master

    @property
    def evaluation_master(self) -> str:
        """The target of sessions that evaluate."""
        return self._environment.evaluation_master

    @property
    def is_chief(self) -> bool:
        """Whether this process initializes and saves the variables."""
        return self._environment.is_chief

    @property
    def num_ps_replicas(self) -> int:
        """The number of parameter servers."""
        return self._environment.num_ps_replicas

    @property
    def num_worker_replicas(self) -> int:
        """The number of processes that train, the chief among them."""
        return self._environment.num_worker_replicas

    @property
    def service(self) -> dict[str, Any] | None:
        """The entry "service" of TF_CONFIG."""
        return self._environment.service

    @property
    def model_dir(self) -> str | None:
        """Where checkpoints and summaries go."""
        value: str | None = self._values["model_dir"]
        return value

    @property
    def tf_random_seed(self) -> int | None:
        """The graph's seed."""
        value: int | None = self._values["tf_random_seed"]
        return value

    @property
    def save_summary_steps(self) -> int | None:
        """Steps between summaries."""
        value: int | None = self._values["save_summary_steps"]
        return value

    @property
    def save_checkpoints_steps(self) -> int | None:
        """Steps between checkpoints, or None."""
        value: int | None = self._values["save_checkpoints_steps"]
        return value

    @property
    def save_checkpoints_secs(self) -> float | None:
        """Seconds between checkpoints, or None."""
        value: float | None = self._values["save_checkpoints_secs"]
        return value

    @property
    def session_config(self) -> config_pb2.ConfigProto | None:
        """ConfigProto of sessions."""
        value: config_pb2.ConfigProto | None = self._values["session_config"]
        return value

    @property
    def keep_checkpoint_max(self) -> int | None:
        """How many checkpoints are kept."""
        value: int | None = self._values["keep_checkpoint_max"]
        return value

    @property
    def keep_checkpoint_every_n_hours(self) -> float:
        """Hours of which one checkpoint is kept."""
        value: float = self._values["keep_checkpoint_every_n_hours"]
        return value

    @property
    def log_step_count_steps(self) -> int | None:
        """Steps between reports."""
        value: int | None = self._values["log_step_count_steps"]
        return value

    @property
    def train_distribute(self) -> Any:
        """None: there are no strategies."""
        return self._values["train_distribute"]

    @property
    def eval_distribute(self) -> Any:
        """None: there are no strategies."""
        return self._values["eval_distribute"]

    @property
    def device_fn(self) -> Callable[[Any], Any] | None:
        """From an operation to its device, as it was given."""
        value: Callable[[Any], Any] | None = self._values["device_fn"]
        return value

    @property
    def protocol(self) -> str | None:
        """The protocol of servers."""
        value: str | None = self._values["protocol"]
        return value

    @property
    def experimental_max_worker_delay_secs(self) -> float | None:
        """The longest time that a worker waits before it begins."""
        value: float | None = self._values["experimental_max_worker_delay_secs"]
        return value

    @property
    def session_creation_timeout_secs(self) -> float:
        """How long to wait for the cluster, and for the chief."""
        value: float = self._values["session_creation_timeout_secs"]
        return value

    @property
    def checkpoint_save_graph_def(self) -> bool:
        """Whether the graph is written beside checkpoints."""
        value: bool = self._values["checkpoint_save_graph_def"]
        return value

    def replace(self, **kwargs: Any) -> RunConfig:
        """A copy with other values; a distance of checkpoints takes the place of the other one.

        Raises:
            ValueError: a property that cannot be replaced, or a value that is not allowed.
        """
        for name in kwargs:
            if name not in _REPLACEABLE:
                raise ValueError(
                    f"Replacing {name} is not supported. Allowed properties are {list(_REPLACEABLE)}."
                )
        steps, secs = "save_checkpoints_steps", "save_checkpoints_secs"
        if steps in kwargs and secs not in kwargs:
            kwargs[secs] = None
        elif secs in kwargs and steps not in kwargs:
            kwargs[steps] = None
        made = copy.copy(self)
        made._values = {**self._values, **kwargs}
        if "train_distribute" in kwargs:
            made._environment = made._read_environment(worker_count(kwargs["train_distribute"]) > 1)
        _check(made._values)
        return made


def worker_count(strategy: Any) -> int:
    """How many processes a strategy, or None, keeps in step."""
    extended = getattr(strategy, "extended", None)
    return int(getattr(extended, "worker_count", 1))


def chosen_device_fn(config: RunConfig) -> Any:
    """The device function of graphs that train: the given one, or that of parameter servers; None."""
    if config.device_fn is not None:
        return config.device_fn
    if not config.num_ps_replicas:
        return None
    return replica_device_setter(
        ps_tasks=config.num_ps_replicas,
        worker_device=f"/job:{config.task_type}/task:{config.task_id}",
        cluster=config.cluster_spec,
    )


def _model_dir(given: Any, of_environment: str | None) -> str | None:
    model_dir = None if given is None else os.fsdecode(given)
    if model_dir == "":
        raise ValueError("model_dir should be non-empty.")
    if of_environment == "":
        raise ValueError("model_dir in TF_CONFIG should be non-empty.")
    if model_dir and of_environment and model_dir != of_environment:
        raise ValueError(
            "`model_dir` provided in RunConfig construct, if set, must have the same value as the model_dir "
            f'in TF_CONFIG. model_dir: {model_dir}\nTF_CONFIG["model_dir"]: {of_environment}.\n'
        )
    return model_dir or of_environment


def _check(values: dict[str, Any]) -> None:
    if values["save_checkpoints_steps"] is not None and values["save_checkpoints_secs"] is not None:
        raise ValueError("`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set.")
    if values["model_dir"] == "":
        raise ValueError("model_dir should be non-empty.")
    seed = values["tf_random_seed"]
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise ValueError("tf_random_seed must be integer.")
    for name, lowest in (
        ("save_summary_steps", 0),
        ("save_checkpoints_steps", 0),
        ("save_checkpoints_secs", 0),
        ("keep_checkpoint_max", 0),
        ("keep_checkpoint_every_n_hours", 0),
        ("log_step_count_steps", 0),
        ("session_creation_timeout_secs", 0),
    ):
        if values[name] is not None and values[name] < lowest:
            raise ValueError(f"{name} should be >= {lowest}")
    if values["keep_checkpoint_every_n_hours"] == 0:
        raise ValueError("keep_checkpoint_every_n_hours should be > 0")
    config = values["session_config"]
    if config is not None and not isinstance(config, config_pb2.ConfigProto):
        raise ValueError("session_config must be instance of ConfigProto")
    device_fn = values["device_fn"]
    if device_fn is not None and (not callable(device_fn) or parameter_names(device_fn) != ("op",)):
        raise ValueError('device_fn must be callable with exactly one argument "op".')
    if values["protocol"] not in _PROTOCOLS:
        raise ValueError(f"protocol should be grpc or grpc+stream; got {values['protocol']!r}")
    for name in _STRATEGIES[:2]:
        if values[name] is not None and not hasattr(values[name], "make_input_fn_iterator"):
            raise ValueError(f"{name} must be a tf.distribute.Strategy; got {values[name]!r}")
    if values["experimental_distribute"] is not None:
        raise NotImplementedError(
            "RunConfig(experimental_distribute=…) is not part of TensorFleet; pass train_distribute, and run "
            "the processes of a cluster with a TF_CONFIG."
        )
