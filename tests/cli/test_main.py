"""The command itself: which subcommand runs, and what is said where there is none."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

import pytest

from tensorfleet.cli.commands import COMMANDS
from tensorfleet.cli.main import main


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["help"]])
def test_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("serve", "up", "status", "demo", "version"))


@pytest.mark.parametrize("arguments", [[], ["sevre"]])
def test_a_wrong_command_ends_with_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert "usage: tensorfleet COMMAND" in err
    assert ('no such command: sevre. Did you mean "serve"?' in err) == bool(arguments)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "version"])
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"usage: tensorfleet {command}" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["version", "--version"])
def test_version(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command]) == 0
    versions = dict(line.split() for line in capsys.readouterr().out.splitlines())
    assert versions["tensorfleet"] == versions["tensorfleet-service"] == metadata.version("tensorfleet")


@pytest.mark.parametrize("command", ["serve", "up", "demo"])
def test_without_the_service_the_install_command_is_told(command: str) -> None:
    program = f"""
import sys
from tensorfleet.cli.main import main
sys.modules["tensorfleet_service"] = None  # as if it were not installed
sys.exit(main([{command!r}]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"tensorfleet {command} takes the service's package: pip install ./client ./service"
    )
