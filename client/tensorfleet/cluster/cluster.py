"""`tf.train.ClusterSpec`: the jobs of a cluster and the addresses of their tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tensorfleet.core.similar import did_you_mean
from tensorfleet.proto.cluster_pb2 import ClusterDef

ClusterLike: TypeAlias = (
    "ClusterSpec | ClusterDef | Mapping[str, Sequence[str]] | Mapping[str, Mapping[int, str]]"
)


class ClusterSpec:
    """The tasks of a cluster, by job (`tf.train.ClusterSpec`).

    Example:
        >>> cluster = tf.train.ClusterSpec({"ps": ["a:2222"], "worker": ["b:2222", "c:2222"]})
        >>> cluster.num_tasks("worker"), cluster.task_address("ps", 0)
        (2, 'a:2222')
    """

    __hash__ = None  # type: ignore[assignment]  # it compares equal to plain dicts

    def __init__(self, cluster: ClusterLike | Mapping[str, Any]) -> None:
        """Makes a cluster.

        Args:
            cluster: from each job's name to a list of addresses `host:port`, or to a dict from task indices,
                not necessarily dense, to addresses; or a ClusterDef; or another ClusterSpec.

        Raises:
            TypeError: anything else.
        """
        self._jobs: dict[str, dict[int, str]]
        if isinstance(cluster, ClusterSpec):
            self._jobs = {job: dict(tasks) for job, tasks in cluster._jobs.items()}
        elif isinstance(cluster, ClusterDef):
            self._jobs = {job.name: dict(job.tasks) for job in cluster.job}
        elif isinstance(cluster, dict):
            self._jobs = {_text(job, "Job name"): _tasks_of(job, tasks) for job, tasks in cluster.items()}
        else:
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network addresses, "
                "or a `ClusterDef` protocol buffer"
            )

    @classmethod
    def from_kubernetes(
        cls, release: str, namespace: str | None = None, context: str | None = None
    ) -> ClusterSpec:
        """The cluster of a release of TensorFleet's chart; TensorFlow has no such thing.

        The addresses are names that are known in the Kubernetes cluster only; from outside, `tensorfleet
        connect` forwards a port.

        Args:
            release: the release's name.
            namespace: its namespace; None: that of the kubeconfig's context, or of this pod.
            context: a context of the kubeconfig; None: the current one.

        Raises:
            ImportError: the package `kubernetes` is missing; the message says how to install it.
            NotFoundError: there is no such release in the namespace.
            PermissionDeniedError: the user may not list its ConfigMaps.
            FailedPreconditionError: there is no kubeconfig, or no such context in it.
            UnavailableError: the API server cannot be reached.
        """
        from tensorfleet.kube import api, release as releases

        kubernetes = api.Cluster("ClusterSpec.from_kubernetes", context)
        return cls(releases.find(kubernetes, release, namespace or kubernetes.namespace).jobs)

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        """Whether the tasks are the same: of another ClusterSpec, or of a dict of dicts by task index."""
        return self._jobs == (other._jobs if isinstance(other, ClusterSpec) else other)

    def __repr__(self) -> str:
        items = sorted(self.as_dict().items())
        return "ClusterSpec({" + ", ".join(f"{job!r}: {tasks!r}" for job, tasks in items) + "})"

    def as_dict(self) -> dict[str, list[str] | dict[int, str]]:
        """The addresses of each job: a list, or a dict by task index where the indices are not dense."""
        return {
            job: [tasks[i] for i in range(len(tasks))]
            if tasks and max(tasks) + 1 == len(tasks)
            else dict(sorted(tasks.items()))
            for job, tasks in self._jobs.items()
        }

    @property
    def _cluster_spec(self) -> dict[str, dict[int, str]]:
        """The addresses by task index, by TensorFlow's internal name: programs print it."""
        return {job: dict(tasks) for job, tasks in self._jobs.items()}

    def as_cluster_def(self) -> ClusterDef:
        """The cluster as a message."""
        cluster = ClusterDef()
        for name, tasks in sorted(self._jobs.items()):
            job = cluster.job.add(name=name)
            for index, address in sorted(tasks.items()):
                job.tasks[index] = address
        return cluster

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """The number of tasks of a job. Raises ValueError for an unknown job."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The indices of a job's tasks, sorted. Raises ValueError for an unknown job."""
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """The address of a task. Raises ValueError for an unknown job or task."""
        job = self._job(job_name)
        if task_index not in job:
            indices = ", ".join(map(str, sorted(job))) or "no tasks"
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}, which has {indices}")
        return job[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """A job's addresses by task index, None where an index is not used. Raises ValueError."""
        job = self._job(job_name)
        return [job.get(i) for i in range(max(job, default=-1) + 1)]

    def _job(self, job_name: str) -> dict[int, str]:
        if job_name not in self._jobs:
            raise ValueError(
                f"No such job in cluster: {job_name!r}. It has {', '.join(self._jobs) or 'none'}."
                f"{did_you_mean(str(job_name), self._jobs)}"
            )
        return self._jobs[job_name]


def _tasks_of(job: str, tasks: Any) -> dict[int, str]:
    if isinstance(tasks, (list, tuple)):
        pairs = list(enumerate(tasks))
    elif isinstance(tasks, dict):
        try:
            pairs = [(int(index), address) for index, address in tasks.items()]
        except (TypeError, ValueError):
            raise TypeError(
                f"The tasks for job {job!r} must have integers for keys, not {list(tasks)}."
            ) from None
    else:
        raise TypeError(f"The tasks for job {job!r} must be a list or a dictionary from integers to strings.")
    return {index: _text(address, "Task address") for index, address in pairs}


def _text(value: Any, what: str) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, str):
        raise TypeError(f"{what} {value!r} must be bytes or unicode")
    return value
