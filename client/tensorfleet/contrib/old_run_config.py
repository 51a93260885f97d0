"""`tf.contrib.learn.RunConfig`: how its estimators run."""

from __future__ import annotations

from typing import Any

from tensorfleet.estimator import task_environment
from tensorfleet.estimator.run_config import RunConfig as NewRunConfig
from tensorfleet.proto import config_pb2


class RunConfig(NewRunConfig):
    """How and where an estimator runs, with the arguments of `tf.contrib.learn`.

    TF_CONFIG needs no chief here: it is worker 0, where the cluster has no job "master".

    Args:
        master: the target of sessions that train; None: this task of TF_CONFIG.
        num_cores, log_device_placement, gpu_memory_fraction: of a ConfigProto, where there is no
            `session_config`.
        save_checkpoints_secs: seconds between checkpoints, where there are no `save_checkpoints_steps`.
        evaluation_master: the target of sessions that evaluate.
        tf_random_seed, save_summary_steps, save_checkpoints_steps, keep_checkpoint_max,
            keep_checkpoint_every_n_hours, log_step_count_steps, protocol, model_dir, session_config: as of
            `tf.estimator.RunConfig`.

    Raises:
        ValueError: an argument is out of range, or TF_CONFIG contradicts itself.
    """

    def __init__(
        self,
        master: str | None = None,
        num_cores: int = 0,
        log_device_placement: bool = False,
        gpu_memory_fraction: float = 1.0,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_secs: float | None = 600,
        save_checkpoints_steps: int | None = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100,
        protocol: str | None = None,
        evaluation_master: str = "",
        model_dir: Any = None,
        session_config: config_pb2.ConfigProto | None = None,
    ) -> None:
        self._masters = master, evaluation_master
        if session_config is None and (num_cores, log_device_placement, gpu_memory_fraction) != (0, False, 1):
            session_config = config_pb2.ConfigProto(
                inter_op_parallelism_threads=num_cores,
                intra_op_parallelism_threads=num_cores,
                log_device_placement=log_device_placement,
                gpu_options=config_pb2.GPUOptions(per_process_gpu_memory_fraction=gpu_memory_fraction),
            )
        super().__init__(
            model_dir=model_dir,
            tf_random_seed=tf_random_seed,
            save_summary_steps=save_summary_steps,
            save_checkpoints_steps=save_checkpoints_steps,
            save_checkpoints_secs=None if save_checkpoints_steps is not None else save_checkpoints_secs,
            session_config=session_config,
            keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            log_step_count_steps=log_step_count_steps,
            protocol=protocol,
        )

    def _read_environment(self, in_step: bool) -> task_environment.TaskEnvironment:
        return task_environment.read_older(*self._masters)
