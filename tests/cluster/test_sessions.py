"""Sessions on a cluster of three tasks."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.proto.config_pb2 import CallableOptions
from tests.cluster import ops
from tests.cluster.conftest import MakeCluster, Way
from tests.cluster.processes import Cluster

pytestmark = pytest.mark.cluster

TASKS = ["/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"]


def counter(name: str, device: str = "/job:ps/task:0") -> tuple[Any, Any]:
    with tf.device(device):
        variable = tf.Variable(0, name=name, dtype=tf.int64)
        return variable, tf.assign_add(variable, 1)


def test_variables_on_the_ps_are_shared_by_clients_of_different_masters(shared: Cluster) -> None:
    graphs = [tf.Graph(), tf.Graph()]
    made = []
    for graph in graphs:
        with graph.as_default():
            made.append(counter("shared_counter"))
    sessions = [tf.Session(shared.target("worker", i), graph) for i, graph in enumerate(graphs)]
    sessions[0].run(made[0][0].initializer)
    for i in range(10):
        assert sessions[i % 2].run(made[i % 2][1]) == i + 1
    sessions[0].close()
    assert sessions[1].run(made[1][0]) == 10
    sessions[1].close()


def test_a_session_brings_no_cluster_of_its_own(shared: Cluster) -> None:
    own = {job: list(addresses) for job, addresses in shared.spec.items()}
    other = {**own, "worker": [*own["worker"][:-1], "127.0.0.1:1"]}
    with tf.Graph().as_default():
        x = tf.constant(2) * 3
        for spec in (own, {"worker": own["worker"][:1]}):
            config = tf.ConfigProto(cluster_def=tf.train.ClusterSpec(spec).as_cluster_def())
            with tf.Session(shared.target(), config=config) as session:
                assert session.run(x) == 6
        config = tf.ConfigProto(cluster_def=tf.train.ClusterSpec(other).as_cluster_def())
        with (
            tf.Session(shared.target(), config=config) as session,
            pytest.raises(tf.errors.UnimplementedError, match=r"task:1 at 127\.0\.0\.1:1, .* cluster_def"),
        ):
            session.run(x)


def test_concurrent_clients_lose_no_update(shared: Cluster) -> None:
    with tf.Graph().as_default() as graph:
        variable, add = counter("concurrent_counter")
    with tf.Session(shared.target(), graph) as session:
        session.run(variable.initializer)

    def client(index: int) -> None:
        with tf.Session(shared.target("worker", index % 2), graph) as session:
            for _ in range(50):
                session.run(add)

    run_threads(client, 4)
    with tf.Session(shared.target(), graph) as session:
        assert session.run(variable) == 200


def test_eight_threads_on_one_session(shared: Cluster) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.int32, [])
        with tf.device(TASKS[0]):
            y = x * 3
        with tf.device(TASKS[2]):
            z = y + 1
        with tf.Session(shared.target()) as session:

            def work(index: int) -> None:
                for i in range(40):
                    number = index * 1000 + i
                    assert session.run(z, {x: number}) == number * 3 + 1

            run_threads(work, 8)


def run_threads(function: Any, count: int) -> None:
    """Runs `function(index)` on so many threads at once, and raises what one of them raises."""
    failures: list[BaseException] = []

    def run(index: int) -> None:
        try:
            function(index)
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    if failures:
        raise failures[0]


def test_a_session_grows_with_its_graph(shared: Cluster) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        y = x
        with tf.Session(shared.target()) as session:
            for i in range(1, 7):
                with tf.device(TASKS[i % 3]):
                    y = y + 1
                assert session.run(y, {x: 0}) == i
                assert session.run(x * 1, {x: 7}) == 7


def test_make_callable(shared: Cluster) -> None:
    with tf.Graph().as_default():
        a, b = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
        with tf.device(TASKS[2]):
            difference = a - b
        with tf.Session(shared.target()) as session:
            call = session.make_callable(difference, [b, a])
            assert [call(1, i) for i in range(3)] == [-1, 0, 1]
            options = CallableOptions(feed=[a.name, b.name], fetch=[difference.name])
            assert session._make_callable_from_options(options)(9, 4) == [5]


def test_list_devices_names_all_tasks(shared: Cluster) -> None:
    with tf.Graph().as_default(), tf.Session(shared.target()) as session:
        devices = session.list_devices()
    assert sorted(d.name for d in devices if d.device_type == "CPU") == [
        "/job:ps/replica:0/task:0/device:CPU:0",
        "/job:worker/replica:0/task:0/device:CPU:0",
        "/job:worker/replica:0/task:1/device:CPU:0",
    ]
    assert len({d.incarnation for d in devices}) == len(devices)
    assert all(d.memory_limit_bytes > 0 for d in devices)


def test_partial_run_over_tasks(shared: Cluster) -> None:
    with tf.Graph().as_default():
        a, b, c = (tf.placeholder(tf.float32, []) for _ in range(3))
        with tf.device(TASKS[0]):
            first = a + b
        with tf.device(TASKS[2]):
            second = first * c
        with tf.Session(shared.target()) as session:
            for i in range(3):
                handle = session.partial_run_setup([first, second], [a, b, c])
                assert session.partial_run(handle, first, {a: 1, b: i}) == 1 + i
                assert session.partial_run(handle, second, {c: 10}) == 10 * (1 + i)
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.partial_run(handle, second, {c: 1})


def test_reset_clears_variables_and_ends_sessions(way: Way, cluster: MakeCluster) -> None:
    tasks = cluster(way.tasks, ps=1, worker=1)
    with tf.Graph().as_default():
        variable, add = counter("v")
        local, _ = counter("local", TASKS[1])
        session = tf.Session(tasks.target())
        session.run([variable.initializer, local.initializer])
        assert session.run(add) == 1
        tf.Session.reset(tasks.target())
        with pytest.raises(tf.errors.AbortedError):
            session.run(add)
        session_after = tf.Session(tasks.target())
        for each in (variable, local):
            with pytest.raises(tf.errors.FailedPreconditionError):
                session_after.run(each)
        session_after.close()
        session.close()


def test_each_program_has_variables_of_its_own(
    way: Way, cluster: MakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs with a container find their variables again; without one, they share those of all."""
    tasks = cluster(way.tasks, ps=1, worker=1)
    with tf.Graph().as_default() as graph:
        variable, add = counter("mine")
        queue = tf.FIFOQueue(3, [tf.int32], shapes=[[]], shared_name="queue")
        put, size = queue.enqueue(1), queue.size()
    imported = tf.Graph()
    with imported.as_default():
        tf.import_graph_def(graph.as_graph_def(), name="")

    def run(program: str, *fetches: Any, graph: tf.Graph = graph) -> Any:
        monkeypatch.setenv("TENSORFLEET_CONTAINER", program)
        with tf.Session(tasks.target(), graph) as session:
            return [session.run(fetch) for fetch in fetches]

    run("", variable.initializer, add, put)
    run("one", variable.initializer)
    run("two", variable.initializer, add, put, put)
    assert run("one", add, size) == [1, 0]
    assert run("one", add.name, graph=imported) == [2]
    assert run("two", add, size) == [2, 2]
    assert run("", add, size) == [2, 1]
    assert 's: "one"' not in str(graph.as_graph_def())
    monkeypatch.setenv("TENSORFLEET_CONTAINER", "one")
    tf.Session.reset(tasks.target())
    with pytest.raises(tf.errors.FailedPreconditionError):
        run("one", add)
    assert run("two", add) == [3]
    monkeypatch.setenv("TENSORFLEET_CONTAINER", "a program")
    with pytest.raises(tf.errors.InvalidArgumentError, match="TENSORFLEET_CONTAINER is 'a program'"):
        tf.Session(tasks.target(), graph)


def test_isolated_sessions_have_variables_of_their_own(shared: Cluster) -> None:
    config = tf.ConfigProto(isolate_session_state=True)
    with tf.Graph().as_default():
        variable, add = counter("isolated")
        with (
            tf.Session(shared.target()) as common,
            tf.Session(shared.target(), config=config) as one,
            tf.Session(shared.target(), config=config) as other,
        ):
            for session in (common, one, other):
                session.run(variable.initializer)
            common.run(add)
            one.run(add)
            one.run(add)
            assert [s.run(variable) for s in (common, one, other)] == [1, 2, 0]
        with (
            tf.Session(shared.target(), config=config) as later,
            pytest.raises(tf.errors.FailedPreconditionError),
        ):
            later.run(variable)


def test_a_full_trace_has_the_nodes_of_all_tasks(shared: Cluster) -> None:
    with tf.Graph().as_default():
        y = x = tf.placeholder(tf.float32, [2])
        for i, task in enumerate(TASKS):
            with tf.device(task):
                y = tf.add(y, x, name=f"add_{i}")
        metadata = tf.RunMetadata()
        with tf.Session(shared.target()) as session:
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
            np.testing.assert_array_equal(session.run(y, {x: [1, 2]}, options, metadata), [4, 8])
    nodes = {
        node.node_name: (device.device, node)
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
    }
    for i, task in enumerate(TASKS):
        device, node = nodes[f"add_{i}"]
        assert device == task.replace("/task", "/replica:0/task") + "/device:CPU:0"
        assert node.all_start_micros > 0
        assert node.output[0].tensor_description.shape.dim[0].size == 2
    assert {n.name for g in metadata.partition_graphs for n in g.node} >= {"add_0", "add_1", "add_2"}


def test_device_filters_hide_tasks(shared: Cluster) -> None:
    config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"])
    with tf.Graph().as_default():
        with tf.device(TASKS[0]):
            near = tf.identity(tf.constant(1))
        with tf.device(TASKS[2]):
            far = tf.identity(tf.constant(2))
        with tf.Session(shared.target(), config=config) as session:
            assert {d.name.partition("/device")[0] for d in session.list_devices()} == {
                "/job:ps/replica:0/task:0",
                "/job:worker/replica:0/task:0",
            }
            assert session.run(near) == 1
            with pytest.raises(tf.errors.InvalidArgumentError, match="/job:worker/task:1"):
                session.run(far)


def test_the_same_step_leaves_nothing_behind(shared: Cluster) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [10])
        y = x
        for task in TASKS:
            with tf.device(task):
                y = y + 1
        counts = []
        for task in TASKS:
            with tf.device(task):
                counts.append(ops.status())
        with tf.Session(shared.target()) as session:
            session.run([y, counts], {x: np.zeros(10)})
            session.run(y, {x: np.zeros(10)})
            before = session.run(counts)
            for _ in range(100):
                session.run(y, {x: np.zeros(10)})
            after = session.run(counts)
    for one, other in zip(before, after, strict=True):
        assert other[1] == one[1]
        assert other[0] <= 1
        assert other[2] == 0
        assert abs(other[3] - one[3]) <= 6
