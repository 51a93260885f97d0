"""`tf.distribute.cluster_resolver`: where a cluster's tasks are, from different sources."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections import defaultdict
from typing import Any

from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet.proto.config_pb2 import ConfigProto


class ClusterResolver(ABC):
    """Finds the tasks of a cluster (`tf.distribute.cluster_resolver.ClusterResolver`).

    Attributes:
        task_type, task_id: the job and the index of this process's own task, None where it has none. Both can
            be set.
    """

    task_type: str | None = None
    task_id: int | None = None

    @abstractmethod
    def cluster_spec(self) -> ClusterSpec:
        """The cluster as it is now."""

    @abstractmethod
    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """The target for `tf.Session`: the address of a task, after `rpc_layer://` where there is one."""

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: ConfigProto | None = None,
    ) -> dict[str, int]:
        """The number of devices of each type, CPUs among them, as a session on `master` lists them.

        Args:
            task_type, task_id: count only those of this task; both or none.
            config_proto: the configuration of that session.
        """
        from tensorfleet.graph.graph import Graph
        from tensorfleet.session.session import Session

        prefix = f"/job:{task_type}/replica:0/task:{task_id}/"
        every = task_type is None or task_id is None
        counts: dict[str, int] = defaultdict(int)
        with Graph().as_default(), Session(self.master(task_type, task_id), config=config_proto) as session:
            for device in session.list_devices():
                if every or device.name.startswith(prefix):
                    counts[device.device_type] += 1
        return counts

    @property
    def environment(self) -> str:
        """The kind of environment; an empty text for all but Google's own."""
        return ""


def master_url(address: str, rpc_layer: str | None) -> str:
    """`rpc_layer://address`, or only the address."""
    return f"{rpc_layer}://{address}" if rpc_layer else address


class SimpleClusterResolver(ClusterResolver):
    """A cluster that is known (`tf.distribute.cluster_resolver.SimpleClusterResolver`)."""

    def __init__(
        self,
        cluster_spec: ClusterSpec,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: dict[str, int] | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        """Makes a resolver that answers with its arguments. Raises TypeError for another cluster_spec."""
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError("cluster_spec must be a `tf.train.ClusterSpec`.")
        self.task_type = task_type
        self.task_id = task_id
        self.rpc_layer = rpc_layer
        self._cluster_spec = cluster_spec
        self._master = master
        self._environment = environment
        self._num_accelerators = num_accelerators

    def cluster_spec(self) -> ClusterSpec:
        """The cluster given."""
        return self._cluster_spec

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """The address of the task that both arguments name, else the master given."""
        if task_type is not None and task_id is not None:
            return master_url(
                self._cluster_spec.task_address(task_type, task_id), rpc_layer or self.rpc_layer
            )
        return master_url(self._master, rpc_layer or self.rpc_layer)

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: ConfigProto | None = None,
    ) -> dict[str, int]:
        """The numbers given, for every task."""
        return self._num_accelerators or {}

    @property
    def environment(self) -> str:
        """The environment given."""
        return self._environment


class TFConfigClusterResolver(ClusterResolver):
    """The cluster in TF_CONFIG at each call (`tf.distribute.cluster_resolver.TFConfigClusterResolver`)."""

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        """Makes a resolver; what is given here wins over TF_CONFIG."""
        self._task_type = task_type
        self._task_id = task_id
        self._rpc_layer = rpc_layer
        self._environment = environment

    @property
    def task_type(self) -> str | None:
        """The job of this task."""
        return _own_task("type") if self._task_type is None else str(self._task_type)

    @task_type.setter
    def task_type(self, task_type: str | None) -> None:
        self._task_type = task_type

    @property
    def task_id(self) -> int | None:
        """The index of this task."""
        index = _own_task("index") if self._task_id is None else self._task_id
        return None if index is None else int(index)

    @task_id.setter
    def task_id(self, task_id: int | None) -> None:
        self._task_id = task_id

    @property
    def rpc_layer(self) -> str | None:
        """The protocol of targets, before their `://`."""
        return _tf_config().get("rpc_layer") if self._rpc_layer is None else self._rpc_layer

    @rpc_layer.setter
    def rpc_layer(self, rpc_layer: str | None) -> None:
        self._rpc_layer = rpc_layer

    @property
    def environment(self) -> str:
        """The environment given to the constructor."""
        return self._environment  # type: ignore[return-value]  # None as in TensorFlow

    def cluster_spec(self) -> ClusterSpec:
        """TF_CONFIG's cluster, an empty one without it."""
        return ClusterSpec(_tf_config().get("cluster", {}))

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """The address of this task or of the one named; TF_CONFIG's `session_master` wins over both.

        Empty, which is this process, if the cluster has no more than one task. Raises ValueError for a task
        that the cluster does not have.
        """
        session_master = _tf_config().get("session_master")
        if session_master is not None:
            return str(session_master)
        spec = self.cluster_spec()
        if sum(map(spec.num_tasks, spec.jobs)) <= 1:
            return ""
        job: Any = self.task_type if task_type is None else task_type
        index: Any = self.task_id if task_id is None else task_id
        return master_url(spec.task_address(job, index), self.rpc_layer if rpc_layer is None else rpc_layer)

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: ConfigProto | None = None,
    ) -> dict[str, int]:
        """The devices of this task or of the one named, by type."""
        return super().num_accelerators(
            self.task_type if task_type is None else task_type,
            self.task_id if task_id is None else task_id,
            config_proto,
        )


def _tf_config() -> dict[str, Any]:
    """TF_CONFIG, empty where it is not set. Raises JSONDecodeError if it is not JSON."""
    config: dict[str, Any] = json.loads(os.environ.get("TF_CONFIG") or "{}")
    return config


def _own_task(key: str) -> Any:
    return _tf_config().get("task", {}).get(key)


class UnionResolver(ClusterResolver):
    """Several clusters as one (`tf.distribute.cluster_resolver.UnionResolver`)."""

    def __init__(self, *args: ClusterResolver, **kwargs: Any) -> None:
        """Makes a resolver of others; the first one says which task this process is, and its master.

        Args:
            args: the resolvers.
            kwargs: `task_type`, `task_id` and `rpc_layer` in place of the first one's.

        Raises:
            ValueError: no resolver, or another keyword.
            TypeError: one is no ClusterResolver.
        """
        rest = dict(kwargs)
        self._given = {key: rest.pop(key, None) for key in ("task_type", "task_id", "rpc_layer")}
        if rest:
            raise ValueError(f"Unexpected kwargs provided {rest!r}")
        if not args:
            raise ValueError("At least one ClusterResolver is required.")
        if not all(isinstance(resolver, ClusterResolver) for resolver in args):
            raise TypeError("All arguments must be a sub-class of `ClusterResolver.`")
        self._resolvers = args

    def _own(self, key: str) -> Any:
        given = self._given[key]
        return getattr(self._resolvers[0], key, None) if given is None else given

    @property
    def task_type(self) -> str | None:
        """The job of this task."""
        job: str | None = self._own("task_type")
        return job

    @task_type.setter
    def task_type(self, task_type: str | None) -> None:
        self._given["task_type"] = task_type

    @property
    def task_id(self) -> int | None:
        """The index of this task."""
        index: int | None = self._own("task_id")
        return index

    @task_id.setter
    def task_id(self, task_id: int | None) -> None:
        self._given["task_id"] = task_id

    @property
    def rpc_layer(self) -> str | None:
        """The protocol of targets, before their `://`."""
        layer: str | None = self._own("rpc_layer")
        return layer

    @rpc_layer.setter
    def rpc_layer(self, rpc_layer: str | None) -> None:
        self._given["rpc_layer"] = rpc_layer

    @property
    def environment(self) -> str:
        """The first resolver's."""
        return self._resolvers[0].environment

    def cluster_spec(self) -> ClusterSpec:
        """All jobs. Lists of one job's tasks are put one after the other, tasks with indices side by side.

        Raises:
            KeyError: two resolvers have a task of the same job and index, where indices count.
        """
        parts: dict[str, list[list[str] | dict[int, str]]] = defaultdict(list)
        for resolver in self._resolvers:
            for job, tasks in resolver.cluster_spec().as_dict().items():
                parts[job].append(tasks)
        return ClusterSpec({job: _joined(tasks) for job, tasks in parts.items()})

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """The address of the task that both arguments name, else the first resolver's master."""
        if task_type is not None and task_id is not None:
            return master_url(
                self.cluster_spec().task_address(task_type, task_id), rpc_layer or self.rpc_layer
            )
        return self._resolvers[0].master(rpc_layer=rpc_layer)

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: ConfigProto | None = None,
    ) -> dict[str, int]:
        """The first resolver's."""
        return self._resolvers[0].num_accelerators(task_type, task_id, config_proto)


def _joined(parts: list[list[str] | dict[int, str]]) -> list[str] | dict[int, str]:
    lists = [part for part in parts if isinstance(part, list)]
    if len(lists) == len(parts):
        return [address for part in lists for address in part]
    joined: dict[int, str] = {}
    for part in parts:
        tasks = dict(enumerate(part)) if isinstance(part, list) else part
        duplicates = joined.keys() & tasks.keys()
        if duplicates:
            raise KeyError(f"Duplicate keys detected when merging two ClusterSpecs: {duplicates!r}")
        joined.update(tasks)
    return joined
