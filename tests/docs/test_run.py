"""`./run`: when it makes an environment, and when it leaves one alone."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module, in a checkout of its own, without the installation of packages."""
    loader = importlib.machinery.SourceFileLoader("run_script", str(ROOT / "run"))
    spec = importlib.util.spec_from_loader("run_script", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    for name in (
        "requirements.lock",
        "requirements-dev.lock",
        "client/pyproject.toml",
        "service/pyproject.toml",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    installed: list[tuple[str, ...]] = []
    made: list[Path] = []

    def make_venv(env: Path) -> None:
        made.append(env)
        for old in env.glob("*"):
            assert old.name != "in-use", "a running program's environment was removed"
        (env / "bin").mkdir(parents=True, exist_ok=True)
        python = env / "bin" / "python"
        python.unlink(missing_ok=True)
        python.symlink_to(sys.executable)

    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(module, "make_venv", make_venv)
    monkeypatch.setattr(module, "pip_install", lambda env, *arguments: installed.append(arguments))
    monkeypatch.setenv("CC", str(tmp_path / "no-compiler"))
    module.made, module.installed = made, installed  # type: ignore[attr-defined]
    return module


def test_an_environment_is_made_once(run: Any) -> None:
    run.ensure_dev()
    assert run.made == [run.VENV]
    assert len(run.installed) == 3
    run.ensure_dev()
    assert run.made == [run.VENV]
    assert len(run.installed) == 3


def test_another_patch_version_of_python_leaves_it_alone(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run.ensure_runtime()
    (run.VENV / "in-use").touch()
    monkeypatch.setattr(sys, "version", "3.11.99 (main, another one)")
    run.ensure_runtime()
    assert run.made == [run.VENV]
    assert len(run.installed) == 2


def test_another_python_leaves_it_alone_and_says_so(
    run: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run.ensure_runtime()
    (run.VENV / "in-use").touch()
    other = next(version for version in run.SUPPORTED if version != sys.version_info[:2])
    monkeypatch.setattr(run, "version_of", lambda python: other)
    run.ensure_runtime()
    assert run.made == [run.VENV]
    assert ".venv stays as it is, with Python {}.{}".format(*other) in capsys.readouterr().err


def test_other_requirements_are_installed_in_place(run: Any) -> None:
    run.ensure_runtime()
    (run.VENV / "in-use").touch()
    (run.ROOT / "requirements.lock").write_text("another")
    run.ensure_runtime()
    assert run.made == [run.VENV]
    assert len(run.installed) == 4


@pytest.mark.parametrize("damage", ["unfinished", "python is gone", "python is too old"])
def test_one_that_does_not_work_is_made_anew(run: Any, damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run.ensure_runtime()
    if damage == "unfinished":
        (run.VENV / "runtime.stamp").unlink()
    elif damage == "python is gone":
        (run.VENV / "bin" / "python").unlink()
    else:
        monkeypatch.setattr(run, "version_of", lambda python: (3, 10))
    run.ensure_runtime()
    assert run.made == [run.VENV, run.VENV]


def test_compiled_kernels_are_tried_once_and_their_failure_stops_nothing(
    run: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run.ensure_runtime()
    assert "no C compiler" in capsys.readouterr().err
    (run.VENV / "bin" / "python").unlink()
    (run.VENV / "bin" / "python").symlink_to("/bin/false")
    monkeypatch.setenv("CC", "/bin/false")
    run.install_kernels(run.VENV)
    assert "cannot be compiled" in capsys.readouterr().err
    run.install_kernels(run.VENV)
    assert capsys.readouterr().err == ""


def test_memcheck_needs_the_sanitizer_and_runs_the_tests_under_it(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    done = subprocess.CompletedProcess([], 0)
    monkeypatch.setattr(run, "ensure_cupy", lambda: None)
    monkeypatch.setattr(run, "SANITIZERS", str(tmp_path / "none"))
    monkeypatch.setattr(run.subprocess, "run", lambda command, **_: commands.append(command) or done)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="compute-sanitizer"):
        run.test(["--gpu", "--memcheck"])
    tool = tmp_path / "compute-sanitizer"
    tool.write_text("")
    tool.chmod(0o755)
    assert run.test(["--gpu", "--memcheck"]) == 0
    (command,) = commands
    assert command[0] == str(tool)
    assert command[-2:] == ["tests/gpu", "--gpu"]
    assert run.test(["--gpu"]) == 0
    assert commands[1][1:3] == ["-m", "pytest"]
