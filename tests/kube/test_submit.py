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


def volume_files(submitted: dict[str, Any], sent: list[dict[str, Any]]) -> dict[str, str]:
    """The files of a pod by their paths, as the volume makes them of the ConfigMaps."""
    maps = {item["metadata"]["name"]: {**item["data"], **item["binaryData"]} for item in sent}
    sources = submitted["spec"]["template"]["spec"]["volumes"][0]["projected"]["sources"]
    return {
        item["path"]: maps[source["configMap"]["name"]][item["key"]]
        for source in sources
        for item in source["configMap"]["items"]
    }


def test_the_job_shows_what_clients_of_the_release_show(api: FakeApi, script: str) -> None:
    assert run(script) == 0
    api.config_maps[0]["data"]["client.json"] = fake_api.client_access("fleet-client")
    assert run(script, "--env", "TENSORFLEET_TOKEN_FILE=/elsewhere") == 0
    plain, secured = (job["spec"]["template"]["spec"] for job in api.submitted)
    assert not [v for v in plain["volumes"] if v["name"] == "credentials"]
    (volume,) = [v for v in secured["volumes"] if v["name"] == "credentials"]
    assert volume["projected"]["sources"][0]["secret"]["name"] == "fleet-client"
    (container,) = secured["containers"]
    mount = {"name": "credentials", "mountPath": "/run/secrets/tensorfleet", "readOnly": True}
    assert mount in container["volumeMounts"]
    env = {item["name"]: item["value"] for item in container["env"]}
    assert env["TENSORFLEET_TLS_KEY"] == "/run/secrets/tensorfleet/client-key.pem"
    assert env["TENSORFLEET_TOKEN_FILE"] == "/elsewhere", "what the user says wins"


@pytest.mark.parametrize("text", ["[]", '{"env": 3}', '{"volumes": [{"name": "x"}]}', "{"])
def test_a_config_map_that_is_not_the_charts(
    api: FakeApi, script: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    api.config_maps[0]["data"]["client.json"] = text
    assert run(script) == 125
    assert "is not as the chart makes it" in capsys.readouterr().err


def test_folders_are_sent_with_what_is_in_them(api: FakeApi, script: str, tmp_path: Path) -> None:
    for name in ("lib/a.py", "lib/data/ä b.txt", "lib/__pycache__/a.pyc", "lib/.git/config", "top.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    assert run(script, "--file", f"{tmp_path}/lib", "--file", f"{tmp_path}/lib/a.py") == 0
    files = volume_files(api.submitted[0], api.sent_files)
    assert list(files) == ["My_Script.py", "lib/a.py", "lib/data/ä b.txt", "a.py"]
    assert files["lib/data/ä b.txt"] == "lib/data/ä b.txt"


def test_the_current_folder_is_its_files(
    api: FakeApi, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.py").touch()
    monkeypatch.chdir(tmp_path)
    assert run(Path(script).name, "--file", ".") == 0
    files = volume_files(api.submitted[0], api.sent_files)
    assert set(files) == {"My_Script.py", "lib/a.py", "kubeconfig"}


def test_more_than_one_config_map_holds(api: FakeApi, script: str, tmp_path: Path) -> None:
    large = {f"{i}.txt": str(i) * 400_000 for i in range(5)}
    flags = []
    for name, text in large.items():
        (tmp_path / name).write_text(text)
        flags += ["--file", str(tmp_path / name)]
    assert run(script, *flags) == 0
    assert len(api.sent_files) == 3
    files = volume_files(api.submitted[0], api.sent_files)
    assert {name: files[name] for name in large} == large
    assert not api.jobs
    assert len(api.config_maps) == 1


def test_packages_are_installed_before_the_script_runs(api: FakeApi, script: str, tmp_path: Path) -> None:
    wheel, requirements = tmp_path / "mine-1-py3-none-any.whl", tmp_path / "requirements.txt"
    wheel.write_bytes(b"PK\xff")
    requirements.write_text("mine\n")
    assert run(script, "x", "--requirements", str(requirements), "--requirements", str(wheel)) == 0
    (container,) = api.submitted[0]["spec"]["template"]["spec"]["containers"]
    runner = "/job/.tensorfleet-packages.py"
    packages = [requirements.name, wheel.name]
    assert container["command"] == ["python", runner, *packages, "--", "/job/My_Script.py", "x"]
    files = volume_files(api.submitted[0], api.sent_files)
    assert {*packages, ".tensorfleet-packages.py"} < set(files)


def test_a_script_whose_imports_say_tensorflow(api: FakeApi, script: str, tmp_path: Path) -> None:
    wheel = tmp_path / "mine-1-py3-none-any.whl"
    wheel.write_bytes(b"PK")
    assert run(script, "x", "--tensorflow") == 0
    assert run(script, "--tensorflow", "--requirements", str(wheel)) == 0
    commands = [job["spec"]["template"]["spec"]["containers"][0]["command"] for job in api.submitted]
    program = ["-m", "tensorfleet.run", "/job/My_Script.py"]
    assert commands[0] == ["python", *program, "x"]
    assert commands[1] == ["python", "/job/.tensorfleet-packages.py", wheel.name, "--", *program]


def test_each_program_has_its_own_variables(
    api: FakeApi, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are those of its name, which a second run of it has, too."""

    def container_of(job: dict[str, Any]) -> object:
        env = job["spec"]["template"]["spec"]["containers"][0]["env"]
        return [item["value"] for item in env if item["name"] == "TENSORFLEET_CONTAINER"]

    assert run(script) == run(script, "--name", "other-1") == 0
    assert run(script, "--env", "TENSORFLEET_CONTAINER=") == 0
    assert [container_of(job) for job in api.submitted] == [["my-script"], ["other-1"], [""]]
    assert api.submitted[1]["metadata"]["name"].startswith("other-1-")
    assert "runs the program" not in capsys.readouterr().err
    assert run(script, "--detach") == 0
    (first,) = api.jobs
    api.jobs[first]["status"]["active"] = 1
    assert run(script) == 0
    error = capsys.readouterr().err
    assert f"{first} runs the program my-script on this release, too" in error
    assert "--name NAME" in error
    assert run(script, "--name", "other-2") == 0
    api.refused["GET jobs"] = 403  # who may not list Jobs is not warned
    assert run(script) == 0
    assert "runs the program" not in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(script, "--name", "Other")
    assert "'Other' is not a program's name" in capsys.readouterr().err


def test_a_missing_module_is_told_how_to_bring(
    api: FakeApi, script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").mkdir()
    for module, told in (
        ("pandas.core", "the pod has no module pandas.core"),
        ("mine.part", f"beside it: send it along with --file {tmp_path / 'mine'}"),
    ):
        api.statuses = [fake_api.running(), fake_api.ended(1)]
        api.logs = [
            ["Traceback (most recent call last):", f"ModuleNotFoundError: No module named '{module}'"]
        ]
        assert run(script) == 1
        assert told in capsys.readouterr().err
    api.statuses = [fake_api.running(), fake_api.ended(0)]
    assert run(script) == 0
    assert "module" not in capsys.readouterr().err


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
    large, empty, again = tmp_path / "large.bin", tmp_path / "empty", tmp_path / "more" / Path(script).name
    large.write_bytes(b"\xff" * 750_001)
    many = tmp_path / "many"
    for directory in (empty / "__pycache__", empty / ".git", many):
        directory.mkdir(parents=True)
        (directory / "x").touch()
    for i in range(9):
        (many / str(i)).write_bytes(b"a" * 900_000)
    again.parent.mkdir()
    again.touch()
    for path, text in (
        (str(tmp_path / "none"), "cannot be read: No such file or directory"),
        (str(empty), "has no files to send along"),
        (str(large), "1,000,0"),
        (str(many), "8,100,015 bytes as they are sent, and about 8,000,000 can be"),
        (str(again), "another file would be at the same path, /job/My_Script.py"),
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
