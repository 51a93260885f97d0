"""`tensorfleet submit` against a fake API server: what it sends, what it says, and what it leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tensorfleet.cli import submit
from tensorfleet.cli.main import main
from tensorfleet.kube import job_run
from tests.kube import fake_api
from tests.kube.fake_api import FakeApi


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_run, "POLL_SECONDS", 0.02)


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "My Script.py".replace(" ", "_")
    path.write_text("print('hello')\n")
    return str(path)


def run(*arguments: str) -> int:
    return main(["submit", "--release", "fleet", *arguments])


def test_a_script_runs_and_its_code_is_returned(
    api: FakeApi, script: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    api.statuses = [None, fake_api.waiting("ContainerCreating"), fake_api.running(), fake_api.ended(7)]
    api.logs = [["first", "", "  third"], []]
    assert run(script) == 7
    assert capfdbinary.readouterr().out == b"first\n\n  third\n"
    assert not api.jobs
    assert len(api.config_maps) == 1, "its files stay"


def test_what_is_sent(api: FakeApi, script: str, tmp_path: Path) -> None:
    (tmp_path / "data.npy").write_bytes(b"\x93NUMPY\x00\xff")
    (tmp_path / "helper.py").write_text("X = 'ä'\n")
    files = [f"--file={tmp_path / name}" for name in ("data.npy", "helper.py")]
    flags = ["--memory", "1Gi", "--cpu", "2", "--timeout", "60", "--env", "A=b=$(C)"]
    assert run(script, "one", *files, "--", "--two", "$(HOME)") == 0  # type: ignore[arg-type]
    assert run(script, *flags) == 0
    plain, limited = api.submitted
    spec = plain["spec"]
    assert spec["suspend"] is True
    assert spec["backoffLimit"] == 0
    assert spec["ttlSecondsAfterFinished"] == 3600
    assert "activeDeadlineSeconds" not in spec
    assert spec["template"]["metadata"]["labels"]["fleet-client"] == "true"
    pod = spec["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["imagePullSecrets"] == [{"name": "registry"}]
    (container,) = pod["containers"]
    assert container["image"] == "tensorfleet:7"
    assert container["imagePullPolicy"] == "Never"
    assert container["command"] == ["python", "/job/My_Script.py", "one", "--two", "$$(HOME)"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert {"name": "TENSORFLEET_ADDRESS", "value": "grpc://fleet.lab:2222"} in container["env"]
    sent = api.sent_files[0]
    assert sent["data"] == {"My_Script.py": "print('hello')\n", "helper.py": "X = 'ä'\n"}
    assert list(sent["binaryData"]) == ["data.npy"]
    (owner,) = sent["metadata"]["ownerReferences"]
    assert (owner["name"], owner["uid"]) == (plain["metadata"]["name"], "uid-1")
    assert limited["spec"]["activeDeadlineSeconds"] == 60
    (container,) = limited["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == {
        "requests": {"cpu": "2", "memory": "1Gi"},
        "limits": {"memory": "1Gi"},
    }
    assert {"name": "A", "value": "b=$$(C)"} in container["env"]


def test_flags_stand_before_and_after_the_script() -> None:
    flags = submit.parse(["--release", "r", "s.py", "-n", "ns", "a", "b", "--detach", "--", "--release", "x"])
    assert (flags.release, flags.namespace, flags.script, flags.detach) == ("r", "ns", "s.py", True)
    assert flags.arguments == ["a", "b", "--release", "x"]


def test_a_log_that_breaks_off_is_continued(
    api: FakeApi, script: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    api.statuses = [fake_api.running(), fake_api.running(), fake_api.running(), fake_api.ended(0)]
    api.logs = [["one", "two", "..."], ["one", "two", "three"], ["one", "two", "three"]]
    assert run(script) == 0
    captured = capfdbinary.readouterr()
    assert captured.out == b"one\ntwo\nthree\n"
    assert b"asking for the rest" in captured.err
    assert "sinceSeconds" not in api.log_queries[0]
    assert int(api.log_queries[1]["sinceSeconds"][0]) >= 1


@pytest.mark.parametrize(
    ("statuses", "text"),
    [
        ([fake_api.waiting("ErrImagePull"), fake_api.waiting("ImagePullBackOff", "no image")], "no image"),
        ([fake_api.waiting("InvalidImageName", "bad")], "InvalidImageName: bad"),
        ([fake_api.unschedulable("0/3 nodes are available")], "Unschedulable: 0/3 nodes are available"),
        ([None], "no pod: exceeded quota"),
        ([fake_api.waiting("ContainerCreating", "slow")], "ContainerCreating: slow"),
    ],
)
def test_a_pod_that_does_not_start(
    api: FakeApi, script: str, capsys: pytest.CaptureFixture[str], statuses: list[Any], text: str
) -> None:
    api.statuses = statuses
    api.events = ["exceeded quota"]
    assert run(script, "--start-seconds", "0.3") == submit.NOT_RUN
    assert text in capsys.readouterr().err
    assert not api.jobs
    assert len(api.config_maps) == 1


@pytest.mark.parametrize(
    "call",
    [
        "GET configmaps",
        "GET pods",
        "POST jobs",
        "POST configmaps",
        "PATCH jobs",
        "GET log",
    ],
)
def test_a_refusal_names_the_verb_and_leaves_nothing(
    api: FakeApi, script: str, capsys: pytest.CaptureFixture[str], call: str
) -> None:
    api.refused[call] = 403
    assert run(script) == submit.NOT_RUN
    verb, resource = call.split()
    error = capsys.readouterr().err
    assert f'{resource} is forbidden: User "me" cannot {verb} it' in error
    assert "docs/cli.md" in error
    assert not api.jobs
    assert len(api.config_maps) == 1


def test_a_pod_that_is_taken_away(
    api: FakeApi, script: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_run, "END_SECONDS", 0.2)
    api.statuses = [fake_api.running(), fake_api.running(), None]
    assert run(script) == submit.NOT_RUN
    assert "was deleted" in capsys.readouterr().err
    api.statuses = [fake_api.running(), fake_api.running(), None]
    api.conditions = [
        {"type": "FailureTarget", "status": "True", "reason": "DeadlineExceeded", "message": "!"}
    ]
    assert run(script) == submit.NOT_RUN
    assert "failed: DeadlineExceeded: !" in capsys.readouterr().err
    api.conditions = []
    evicted = {"phase": "Failed", "reason": "Evicted", "message": "the node was low on memory"}
    api.statuses = [fake_api.running(), fake_api.running(), evicted]
    assert run(script) == submit.NOT_RUN
    assert "Evicted: the node was low on memory" in capsys.readouterr().err


def test_too_much_memory_is_told(api: FakeApi, script: str, capsys: pytest.CaptureFixture[str]) -> None:
    api.statuses = [fake_api.running(), fake_api.ended(137, "OOMKilled")]
    assert run(script) == 137
    assert "--memory" in capsys.readouterr().err


def test_files_that_cannot_be_sent(
    api: FakeApi, script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    large, odd, again = tmp_path / "large.bin", tmp_path / "ä.py", tmp_path / "more" / Path(script).name
    large.write_bytes(b"\xff" * 750_001)
    odd.touch()
    again.parent.mkdir()
    again.touch()
    for path, text in (
        (str(tmp_path / "none"), "cannot be read: No such file or directory"),
        (str(tmp_path), "cannot be read: Is a directory"),
        (str(large), "1,000,0"),
        (str(odd), "rename it"),
        (str(again), "another file has the same name"),
    ):
        assert run(script, "--file", path) == submit.WRONG_USAGE
        assert text in capsys.readouterr().err
    assert run(script, "--env", "=x") == submit.WRONG_USAGE
    assert not api.calls


def test_detached(api: FakeApi, script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(script, "--detach", "--keep-seconds", "5") == 0
    captured = capsys.readouterr()
    (name,) = api.jobs
    assert captured.out == name + "\n"
    assert name.startswith("my-script-")
    assert f"kubectl logs -f job/{name} -n lab" in captured.err
    assert api.jobs[name]["spec"]["suspend"] is False
    assert api.jobs[name]["spec"]["ttlSecondsAfterFinished"] == 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_removes_everything(
    api: FakeApi, script: str, tmp_path: Path, number: signal.Signals
) -> None:
    api.statuses = [fake_api.unschedulable("no room")]
    command = [sys.executable, "-m", "tensorfleet.cli.main", "submit", script, "--release", "fleet"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env=dict(os.environ))
    assert process.stderr is not None
    timer = threading.Timer(60, process.kill)
    timer.start()
    try:
        assert b"waiting for a node: no room" in process.stderr.readline()
        process.send_signal(number)
        assert process.wait(20) == 130
        assert process.stderr.read() == b""
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        process.stderr.close()
    assert not api.jobs
    assert len(api.config_maps) == 1
