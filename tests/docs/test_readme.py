"""The claims of the README and the pages beside it: programs run, commands exist, links lead somewhere."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tensorfleet_service.settings import settings
from tests.ports import free_ports

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
README = (ROOT / "README.md").read_text()


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a language, also those within lists."""
    return [
        textwrap.dedent(block)
        for _, block in re.findall(rf"^( *)```{language}\n(.*?)^\1```$", page, re.M | re.S)
    ]


PROGRAMS = blocks(README, "python")


def test_programs_are_found() -> None:
    assert len(PROGRAMS) == README.count("```python") == 3


@pytest.mark.cluster
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_program(number: int) -> None:
    """Runs it, on free ports, and compares what it prints with the comments after `print`."""
    program = PROGRAMS[number]
    expected = re.findall(r"print\(.*\)  # (.*)$", program, re.M)
    assert expected
    ports = sorted(set(re.findall(r"localhost:(\d+)", program)))
    for port, free in zip(ports, free_ports(len(ports)), strict=True):
        program = program.replace(f"localhost:{port}", f"localhost:{free}")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == expected


def test_the_two_commands_exist() -> None:
    commands = re.search(r"^```\n(\./run \w+)\n(\./run \w+)\n```$", README, re.M)
    assert commands
    done = subprocess.run(
        [sys.executable, str(ROOT / "run"), "help"], capture_output=True, text=True, timeout=60
    )
    for command in commands.groups():
        assert re.search(rf"^  {re.escape(command)}\b", done.stdout, re.M)


def test_the_servers_settings_are_right() -> None:
    """The block that starts `tensorfleet serve`, as a shell would split it."""
    export, serve = next(b for b in blocks(README, "") if "tensorfleet serve" in b).splitlines()
    words = [*shlex.split(export)[1:], *shlex.split(serve)]
    variables = dict(word.split("=", 1) for word in words if "=" in word)
    assert words[-2:] == ["tensorfleet", "serve"]
    assert settings.load([], variables, "host").task == "/job:worker/task:0"


def test_every_setting_is_described_with_its_flag_and_variable() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text()
    described = set(re.findall(r"^\| `(--[\w-]+)` \| (?:`(\w+)`)? *\|", text, re.M))
    flags = {option for action in settings.parser()._actions for option in action.option_strings} - {
        "-h",
        "--help",
    }
    variables = {flag: "TENSORFLEET_" + flag[2:].replace("-", "_").upper() for flag in flags}
    assert described == {(flag, "" if flag == "--stop-with-stdin" else variables[flag]) for flag in flags}


def test_clusters_and_log_lines_in_the_configuration_are_valid() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text()
    sparse, tf_config = blocks(text, "json")
    variables = {"TENSORFLEET_CLUSTER_SPEC": sparse, "TENSORFLEET_JOB_NAME": "worker"}
    assert settings.load([], variables, "worker-5").task_index == 5
    assert settings.load([], {"TF_CONFIG": tf_config}, "host").task == "/job:chief/task:0"
    assert json.loads(next(b for b in blocks(text, "") if '"level"' in b).splitlines()[1])["level"] == "info"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", page.read_text()):
        assert (page.parent / target).exists(), target
