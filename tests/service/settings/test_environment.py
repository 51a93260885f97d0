"""The environment of a task: misspelt variables, impossible numbers, Kubernetes' own, and wrong hosts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet.core.environment import NUMBERS, SettingsError, number
from tensorfleet_service.settings.environment import KNOWN, PREFIX, check, check_host
from tensorfleet_service.settings.settings import parser

ROOT = Path(__file__).resolve().parents[3]

# What Kubernetes tells a container of a Service with two ports, such as tensorfleet or tensorfleet-stream.
LINKS = {
    "SERVICE_HOST": "10.96.0.7",
    "SERVICE_PORT": "2222",
    "SERVICE_PORT_GRPC": "2222",
    "SERVICE_PORT_HTTP_METRICS": "8080",
    "PORT": "tcp://10.96.0.7:2222",
    "PORT_2222_TCP": "tcp://10.96.0.7:2222",
    "PORT_2222_TCP_PROTO": "tcp",
    "PORT_2222_TCP_PORT": "2222",
    "PORT_2222_TCP_ADDR": "10.96.0.7",
}


@pytest.mark.parametrize("service", ["", "STREAM_", "METRICS_", "FLEET_WORKER_", "JOB_NAME_"])
def test_variables_that_kubernetes_makes_of_services_are_nobodys_settings(service: str) -> None:
    assert check({f"TENSORFLEET_{service}{name}": value for name, value in LINKS.items()}) == []


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("TENSORFLEET_JOBNAME", "TENSORFLEET_JOB_NAME"),
        ("TENSORFLEET_JOB_NAMES", "TENSORFLEET_JOB_NAME"),
        ("TENSORFLEET_CLUSTERSPEC", "TENSORFLEET_CLUSTER_SPEC"),
        ("TENSORFLEET_METRIC_PORT", "TENSORFLEET_METRICS_PORT"),
        ("TENSORFLEET_GPU", "TENSORFLEET_GPUS or TENSORFLEET_GPU_GRAPHS"),
        ("TENSORFLEET_CLUSTER_SPECS", "TENSORFLEET_CLUSTER_SPEC"),
        ("TENSORFLEET_LOG", "TENSORFLEET_LOG_FORMAT or TENSORFLEET_LOG_LEVEL"),
        ("TENSORFLEET_DRAIN_SECOND", "TENSORFLEET_DRAIN_SECONDS"),
    ],
)
def test_a_misspelt_variable_is_an_error(name: str, meant: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} is not a setting: did you mean {meant}\\?"):
        check({name: "1"})


def test_a_setting_that_was_renamed_names_the_new_one() -> None:
    with pytest.raises(SettingsError, match="was renamed to TENSORFLEET_SPIN_MICROSECONDS: set that instead"):
        check({"TENSORFLEET_WATCH_MICROSECONDS": "100"})


def test_an_unknown_variable_is_a_warning() -> None:
    assert check({"TENSORFLEET_FAVOURITE_COLOUR": "red", "PATH": "/bin"}) == [
        "TENSORFLEET_FAVOURITE_COLOUR is set, but is not a setting"
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TENSORFLEET_BLAS_THREADS", "0"),
        ("TENSORFLEET_BLAS_THREADS", "many"),
        ("TENSORFLEET_SESSION_IDLE_SECONDS", "0"),
        ("TENSORFLEET_SESSION_IDLE_SECONDS", "nan"),
        ("TENSORFLEET_MAX_MESSAGE_MB", "1.5"),
        ("TENSORFLEET_MAX_TENSORS_MB", "-1"),
        ("TENSORFLEET_RECEIVE_BUFFERS_MB", "x"),
        ("TENSORFLEET_SHARED_MEMORY_MB", "-1"),
        ("TENSORFLEET_SPIN_MICROSECONDS", "fast"),
    ],
)
def test_an_impossible_number_names_its_variable(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=rf"{name} is '{re.escape(value)}': set it to a number of"):
        check({name: value})


def test_a_word_that_is_none_of_a_setting_s_words_names_it() -> None:
    with pytest.raises(SettingsError, match="TENSORFLEET_GPU_GRAPHS is 'on': set it to off or auto"):
        check({"TENSORFLEET_GPU_GRAPHS": "on"})
    assert check({"TENSORFLEET_GPU_GRAPHS": ""}) == check({"TENSORFLEET_GPU_GRAPHS": "auto"}) == []


def test_a_word_that_is_none_of_the_choices() -> None:
    with pytest.raises(SettingsError, match="TENSORFLEET_CUDNN is 'on': set it to auto or off"):
        check({"TENSORFLEET_CUDNN": "on"})
    assert check({"TENSORFLEET_CUDNN": "off"}) == check({"TENSORFLEET_CUDNN": ""}) == []


def test_possible_numbers() -> None:
    assert check({"TENSORFLEET_RECEIVE_BUFFERS_MB": "0", "TENSORFLEET_SESSION_IDLE_SECONDS": "0.5"}) == []


def test_all_variables_of_the_code_and_of_the_page_are_known() -> None:
    sources = [*(ROOT / "client" / "tensorfleet").rglob("*.py")]
    sources += (ROOT / "service" / "tensorfleet_service").rglob("*.py")
    named = {name for path in sources for name in re.findall(r'"(TENSORFLEET_[A-Z_]+)"', path.read_text())}
    flags = {PREFIX + action.dest.upper() for action in parser()._actions if action.metavar}
    page = set(re.findall(r"`(TENSORFLEET_[A-Z_]+)`", (ROOT / "docs" / "configuration.md").read_text()))
    assert named <= KNOWN | {PREFIX}
    assert flags <= KNOWN
    assert page == KNOWN


# ------------------------------------------------------------------------------------------------------ hosts

PODS = ClusterSpec(
    {
        "ps": ["fleet-ps-0.fleet-ps.default.svc:2222"],
        "worker": [f"fleet-worker-{i}.fleet-worker.default.svc:2222" for i in range(2)],
    }
)


@pytest.mark.parametrize("host", ["fleet-worker-1", "fleet-worker-1.fleet-worker.default.svc.cluster.local"])
def test_a_pod_at_its_own_address(host: str) -> None:
    check_host(PODS, "worker", 1, host)


@pytest.mark.parametrize("host", ["fleet-ps-0", "FLEET-WORKER-0.some.where"])
def test_the_place_of_another_task_is_no_place_for_this_one(host: str) -> None:
    with pytest.raises(SettingsError) as caught:
        check_host(PODS, "worker", 1, host)
    for word in (repr(host), "/job:worker/task:1", "fleet-worker-1.fleet-worker.default.svc:2222"):
        assert word in str(caught.value)
    assert "TENSORFLEET_TASK_INDEX" in str(caught.value)


def test_a_pod_whose_address_is_not_in_the_cluster() -> None:
    with pytest.raises(SettingsError, match="the address of this host is not in TENSORFLEET_CLUSTER_SPEC"):
        check_host(PODS, "worker", 1, "fleet-worker-7")


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("127.0.0.1:2222", "box"),
        ("localhost:2222", "box"),
        ("10.0.0.1:2222", "fleet-worker-7"),
        ("[::1]:2222", "fleet-worker-7"),
        ("trainer-1.default.svc:2222", "trainer-5f6d9-x7k2p"),  # a Service before a Deployment's pod
        ("node-a.example.com:2222", "node-b"),  # may be another name of this host
    ],
)
def test_where_it_is_not_certain_nothing_is_said(address: str, host: str) -> None:
    check_host(ClusterSpec({"worker": [address]}), "worker", 0, host)


def test_tasks_of_one_host() -> None:
    cluster = ClusterSpec({"ps": ["box:1"], "worker": ["box:2", "box:3"]})
    check_host(cluster, "worker", 1, "box")


@pytest.mark.parametrize("name", NUMBERS)
def test_a_bad_number_is_one_sentence_wherever_it_is_read(name: str) -> None:
    with pytest.raises(SettingsError, match=rf"^{name} is 'nan': set it to "):
        number(name, 1, {name: "nan"})
    assert number(name, 7, {name: ""}) == 7
    assert check({name: ""}) == []


# Modules of the client and of the service that read a number when they are imported or used.
READERS = {
    "TENSORFLEET_SHARED_MEMORY_MB": "import tensorfleet.wire.shared_memory",
    "TENSORFLEET_CUDA_IPC_MB": "import tensorfleet_service.devices.ipc",
    "TENSORFLEET_RECEIVE_BUFFERS_MB": "import tensorfleet.wire.buffers",
    "TENSORFLEET_HEARTBEAT_SECONDS": "from tensorfleet.wire import heartbeat; heartbeat.limit()",
    "TENSORFLEET_MAX_MESSAGE_MB": "import tensorfleet_service.net.limits",
    "TENSORFLEET_MAX_CLIENT_STEPS": "import tensorfleet_service.security.quotas as q, os; "
    "q.from_environment(os.environ)",
    "TENSORFLEET_SPIN_MICROSECONDS": "import tensorfleet_service.threads.spin",
    "TENSORFLEET_SESSION_IDLE_SECONDS": "import tensorfleet_service.net.timeouts",
    "TENSORFLEET_STALL_SECONDS": "import tensorfleet_service.observe.watchdog",
    "TENSORFLEET_MEMORY_MB": "from tensorfleet_service.devices import memory; memory.find_limit()",
    "TENSORFLEET_BLAS_THREADS": "from tensorfleet_service.devices import blas; blas.limit_threads()",
}


@pytest.mark.parametrize("name", READERS)
def test_modules_name_the_setting_that_they_cannot_read(name: str) -> None:
    code = f"import os\nos.environ[{name!r}] = os.sys.argv[1]\n{READERS[name]}"

    def run(value: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", code, value], capture_output=True, text=True, timeout=60)

    assert f"SettingsError: {name} is 'abc': set it to " in run("abc").stderr
    empty = run("")
    assert (empty.returncode, empty.stderr) == (0, "")


def test_quotas_are_read_by_the_task_and_not_by_who_imports_it() -> None:
    code = "import tensorfleet_service.security.quotas, tensorfleet_service.server"
    environ = os.environ | {"TENSORFLEET_MAX_CLIENT_STEPS": "abc"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
