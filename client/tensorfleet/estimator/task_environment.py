"""The place of this process in a cluster, as TF_CONFIG tells it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from typing import Any

from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet.proto import config_pb2
from tensorfleet.proto.rewriter_config_pb2 import RewriterConfig

TF_CONFIG = "TF_CONFIG"


class TaskType:
    """The jobs that training on a cluster knows."""

    MASTER = "master"
    PS = "ps"
    WORKER = "worker"
    CHIEF = "chief"
    EVALUATOR = "evaluator"


@dataclass(frozen=True)
class TaskEnvironment:
    """What TF_CONFIG says.

    Attributes:
        cluster_spec: the tasks; empty where there is no cluster, and for an evaluator.
        task_type, task_id: this process.
        master: the target of its sessions.
        evaluation_master: the target of sessions that evaluate.
        is_chief: whether it initializes and saves the variables.
        num_ps_replicas: the number of parameter servers.
        num_worker_replicas: the number of processes that train, the chief among them.
        global_id_in_cluster: its number among all tasks that train and serve; None for an evaluator.
        service: the entry "service", or None.
        model_dir: the entry "model_dir", or None.
    """

    cluster_spec: ClusterSpec
    task_type: str
    task_id: int
    master: str
    evaluation_master: str
    is_chief: bool
    num_ps_replicas: int
    num_worker_replicas: int
    global_id_in_cluster: int | None
    service: dict[str, Any] | None
    model_dir: str | None


def read(in_step: bool = False) -> TaskEnvironment:
    """The environment of this process.

    Args:
        in_step: whether the workers keep in step by themselves: the first one is the chief of a cluster
            without one.

    Raises:
        ValueError: TF_CONFIG is no JSON object, or contradicts itself.
        TypeError: "service" is no object.
    """
    entries, cluster, task = _entries()
    spec = ClusterSpec(cluster)
    common: dict[str, Any] = {"service": _service(entries), "model_dir": entries.get("model_dir")}
    if not spec:
        return _alone(entries, task, common)
    has_master = TaskType.MASTER in spec.jobs
    chief = TaskType.MASTER if has_master else TaskType.CHIEF
    if has_master and TaskType.CHIEF in spec.jobs:
        raise ValueError("If `master` node exists in `cluster`, job `chief` is not supported.")
    among_workers = in_step and not _count(spec, chief) and _count(spec, TaskType.WORKER) > 0
    if among_workers:
        chief = TaskType.WORKER
    else:
        _check_chief(spec, chief)
    task_type, task_id = _task(spec, task)
    if task_type == TaskType.EVALUATOR:
        if has_master:
            raise ValueError("If `master` node exists in `cluster`, task_type `evaluator` is not supported.")
        # An evaluator stands outside of the cluster: it reads checkpoints, and computes by itself.
        return TaskEnvironment(ClusterSpec({}), task_type, task_id, "", "", False, 0, 0, None, **common)
    return TaskEnvironment(
        cluster_spec=spec,
        task_type=task_type,
        task_id=task_id,
        master=_target(spec, task_type, task_id),
        evaluation_master="",
        is_chief=task_type == chief and (not among_workers or task_id == min(spec.task_indices(chief))),
        num_ps_replicas=_count(spec, TaskType.PS),
        num_worker_replicas=_count(spec, TaskType.WORKER) + (not among_workers),
        global_id_in_cluster=_global_id(spec, task_type, task_id, chief),
        **common,
    )


def read_older(master: str | None, evaluation_master: str) -> TaskEnvironment:
    """The environment as `tf.contrib.learn` reads it: a cluster needs no chief, which is worker 0 without
    a job "master", and the entry "task" may lack its type. Where there is a chief, it is read as by `read`.

    Args:
        master: the target of sessions that train; None: this task.
        evaluation_master: the target of sessions that evaluate.

    Raises:
        ValueError: TF_CONFIG is no JSON object, or the task is not in the cluster.
        TypeError: "service" is no object.
    """
    entries, cluster, task = _entries()
    if TaskType.CHIEF in cluster or task.get("type") == TaskType.EVALUATOR:
        found = read()
        target = found.master if master is None else master
        return replace(found, master=target, evaluation_master=evaluation_master or found.evaluation_master)
    spec = ClusterSpec({job: tasks for job, tasks in cluster.items() if tasks})
    task_type, task_id = task.get("type"), int(task.get("index") or 0)
    chief = TaskType.MASTER if TaskType.MASTER in spec.jobs else TaskType.WORKER
    target = _target(spec, task_type, task_id) if master is None and spec and task_type else master or ""
    return TaskEnvironment(
        cluster_spec=spec,
        task_type=task_type or TaskType.WORKER,
        task_id=task_id,
        master=target,
        evaluation_master=evaluation_master,
        is_chief=task_id == 0 and task_type in (None, chief),
        num_ps_replicas=_count(spec, TaskType.PS),
        num_worker_replicas=_count(spec, TaskType.WORKER) + _count(spec, TaskType.MASTER) or 1,
        global_id_in_cluster=None,
        service=_service(entries),
        model_dir=entries.get("model_dir"),
    )


def _entries() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """TF_CONFIG, and its entries "cluster" and "task"."""
    text = os.environ.get(TF_CONFIG) or "{}"
    try:
        entries = json.loads(text)
    except ValueError as error:
        raise ValueError(f"The environment variable TF_CONFIG is no JSON: {error}. It is {text!r}.") from None
    if not isinstance(entries, dict):
        raise ValueError(f"The environment variable TF_CONFIG has to be a JSON object; it is {text!r}.")
    cluster, task = entries.get("cluster", {}), entries.get("task", {})
    for name, value in (("cluster", cluster), ("task", task)):
        if not isinstance(value, dict):
            raise ValueError(f'"{name}" in TF_CONFIG has to be a JSON object; it is {value!r}.')
    return entries, cluster, task


def _alone(entries: dict[str, Any], task: dict[str, Any], common: dict[str, Any]) -> TaskEnvironment:
    if task.get("type", TaskType.WORKER) != TaskType.WORKER:
        raise ValueError('If "cluster" is not set in TF_CONFIG, task type must be WORKER.')
    if int(task.get("index", 0)) != 0:
        raise ValueError('If "cluster" is not set in TF_CONFIG, task index must be 0.')
    master = entries.get("session_master", "")
    evaluation = entries.get("eval_session_master", master)
    return TaskEnvironment(ClusterSpec({}), TaskType.WORKER, 0, master, evaluation, True, 0, 1, 0, **common)


def _service(entries: dict[str, Any]) -> dict[str, Any] | None:
    service = entries.get("service")
    if service is not None and not isinstance(service, dict):
        raise TypeError(f'If "service" is set in TF_CONFIG, it must be a dict. Given {type(service)}')
    return service


def _check_chief(spec: ClusterSpec, chief: str) -> None:
    count = _count(spec, chief)
    if not count:
        raise ValueError(
            f'If "cluster" is set in TF_CONFIG, it must have one "{chief}" node: the process that '
            f"initializes and saves the variables. It has {', '.join(spec.jobs)}."
        )
    if count > 1:
        raise ValueError(f'The "cluster" in TF_CONFIG must have only one "{chief}" node.')


def _task(spec: ClusterSpec, task: dict[str, Any]) -> tuple[str, int]:
    task_type, index = task.get("type"), task.get("index")
    if not task_type:
        raise ValueError('If "cluster" is set in TF_CONFIG, task type must be set.')
    if index is None:
        raise ValueError('If "cluster" is set in TF_CONFIG, task index must be set.')
    task_id = int(index)
    if task_id < 0:
        raise ValueError("Task index must be non-negative number.")
    if task_type == TaskType.EVALUATOR:
        return task_type, task_id
    where = f"the cluster_spec:\n{spec}\n\nNote that these values may be coming from TF_CONFIG."
    if task_type not in spec.jobs:
        raise ValueError(f"{task_type} is not a valid task_type in {where}")
    if task_id not in spec.task_indices(task_type):
        raise ValueError(f"{task_id} is not a valid task_id for task_type {task_type} in {where}")
    return task_type, task_id


def _count(spec: ClusterSpec, job: str) -> int:
    return spec.num_tasks(job) if job in spec.jobs else 0


def _target(spec: ClusterSpec, task_type: str, task_id: int) -> str:
    if sum(spec.num_tasks(job) for job in spec.jobs) == 1:
        return ""  # a cluster of one task needs no server
    return f"grpc://{spec.task_address(task_type, task_id)}"


def _global_id(spec: ClusterSpec, task_type: str, task_id: int, chief: str) -> int:
    """The chief first, then workers, then parameter servers, then other jobs by name."""
    ordered = [job for job in dict.fromkeys((chief, TaskType.WORKER, TaskType.PS)) if job in spec.jobs]
    ordered += sorted(set(spec.jobs) - set(ordered))
    before = sum(spec.num_tasks(job) for job in ordered[: ordered.index(task_type)])
    return before + spec.task_indices(task_type).index(task_id)


def session_config(environment: TaskEnvironment) -> config_pb2.ConfigProto | None:
    """The options of sessions of a cluster's task: it talks to the parameter servers and itself, so that
    it goes on while other workers are not there; None without a cluster."""
    if not environment.cluster_spec:
        return None
    filters = {
        TaskType.MASTER: ["/job:ps", "/job:master"],
        TaskType.CHIEF: ["/job:ps", "/job:chief"],
        TaskType.WORKER: ["/job:ps", f"/job:worker/task:{environment.task_id}"],
        TaskType.PS: ["/job:ps", "/job:worker", "/job:chief", "/job:master"],
    }.get(environment.task_type, [])
    config = config_pb2.ConfigProto(allow_soft_placement=True, device_filters=filters)
    config.graph_options.rewrite_options.meta_optimizer_iterations = RewriterConfig.ONE
    return config
