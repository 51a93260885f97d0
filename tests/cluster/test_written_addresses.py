"""Clusters whose addresses have spaces in them, as lists do that programs split at commas."""

from __future__ import annotations

import tensorfleet as tf
from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet_service.server import TaskServer
from tests.ports import free_ports


def test_spaces_in_addresses_mean_nothing() -> None:
    first, second = free_ports(2)
    spec = ClusterSpec({"local": f"localhost:{first}, localhost: {second}".split(",")})
    servers = [TaskServer(spec, "local", index, "grpc+stream", tf.ConfigProto()) for index in range(2)]
    try:
        for server in servers:
            server.start()
        assert spec.task_address("local", 1) == f" localhost: {second}"
        for target in (servers[0].target, f"grpc://localhost: {second}"):
            with tf.Graph().as_default():
                with tf.device("/job:local/task:1"):
                    a = tf.constant(1.0)
                with tf.device("/job:local/task:0"):
                    b = a + 2.0
                config = tf.ConfigProto(cluster_def=spec.as_cluster_def())
                with tf.Session(target, config=config) as session:
                    assert session.run(b) == 3.0
    finally:
        for server in servers:
            server.stop(grace=0.5)
