"""`tf.train.Server`: one task of a cluster, in this process."""

from __future__ import annotations

from typing import Any

from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet.core.entry_points import load_entry_point
from tensorfleet.proto import config_pb2
from tensorfleet.proto.tensorflow_server_pb2 import ServerDef

DRAIN_SECONDS = 20.0  # what steps are given to end when the process is told to


class Server:
    """One task of a cluster, served by this process (`tf.train.Server`).

    Unlike TensorFlow's, it can be stopped: `join` returns after `stop`, and ends the program after SIGTERM,
    once what is running has ended.
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: config_pb2.ConfigProto | None = None,
        start: bool = True,
    ) -> None:
        """Makes a server.

        Args:
            server_or_cluster_def: a ClusterSpec or whatever one can be made from, or a ServerDef.
            job_name: the task's job; may be left out if the cluster has only one.
            task_index: its number in the job; may be left out if the job has only one task.
            protocol: "grpc", or "grpc+stream" to be reached by streams as well, which is the default.
            config: options for sessions that leave them unset.
            start: start it at once.

        Raises:
            TypeError: the first argument is no cluster.
            ValueError: job or task is neither given nor clear.
            ImportError: the service is not installed.
            OpError: the cluster has no such task, or the address is in use.
        """
        self._server_def = _server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        self._task = _task_server(self._server_def)
        if start:
            self.start()

    def start(self) -> None:
        """Starts serving. Starting twice does nothing."""
        self._task.start()

    def join(self) -> None:
        """Waits until the server has been stopped by `stop`.

        In the main thread, SIGTERM and SIGINT drain the server: running steps end, and then the program. (In
        TensorFlow they end it at once: a program may have statements after `join` that are not meant for a
        parameter server, such as those that train.)

        Raises:
            SystemExit: with 0, once a signal has drained the server.
        """
        if _of_service("drain")(self._task, DRAIN_SECONDS):
            raise SystemExit(0)

    def stop(self, grace: float | None = None) -> None:
        """Stops the server: no new calls, `grace` seconds for those that run, then the end."""
        self._task.stop(grace)

    @property
    def server_def(self) -> ServerDef:
        """The arguments that the server was made with, as a message."""
        return self._server_def

    @property
    def target(self) -> str:
        """The target by which a session reaches this server: `grpc://host:port`."""
        return str(self._task.target)

    @staticmethod
    def create_local_server(config: config_pb2.ConfigProto | None = None, start: bool = True) -> Server:
        """A cluster of one task, of the job `local`, on a free port of this machine
        (`tf.train.Server.create_local_server`)."""
        return Server({"local": ["localhost:0"]}, protocol="grpc+stream", config=config, start=start)


def _of_service(name: str) -> Any:
    return load_entry_point(
        "tensorfleet.service",
        name,
        "tf.train.Server takes the service's package: {how}",
    )


def _task_server(definition: ServerDef) -> Any:
    return _of_service("server")(
        ClusterSpec(definition.cluster),
        definition.job_name,
        definition.task_index,
        definition.protocol,
        definition.default_session_config,
    )


def _server_def(
    cluster: Any,
    job_name: str | None,
    task_index: int | None,
    protocol: str | None,
    config: config_pb2.ConfigProto | None,
) -> ServerDef:
    definition = ServerDef()
    if isinstance(cluster, ServerDef):
        definition.CopyFrom(cluster)
    else:
        try:
            spec = ClusterSpec(cluster)
        except TypeError:
            raise TypeError(
                "Could not convert `server_or_cluster_def` to a `tf.train.ServerDef` or "
                "`tf.train.ClusterSpec`."
            ) from None
        if job_name is None:
            if len(spec.jobs) != 1:
                raise ValueError("Must specify an explicit `job_name`.")
            job_name = spec.jobs[0]
        if task_index is None:
            indices = spec.task_indices(job_name)
            if len(indices) != 1:
                raise ValueError("Must specify an explicit `task_index`.")
            task_index = indices[0]
        definition.cluster.CopyFrom(spec.as_cluster_def())
        definition.protocol = "grpc+stream"
    if job_name is not None:
        definition.job_name = job_name
    if task_index is not None:
        definition.task_index = task_index
    if protocol is not None:
        definition.protocol = protocol
    if config is not None:
        definition.default_session_config.MergeFrom(config)
    return definition
