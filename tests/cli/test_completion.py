"""`tensorfleet completion`: what a shell offers after TAB."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys

import pytest

from tensorfleet.cli import completion
from tensorfleet.cli.commands import COMMANDS


def test_the_parser_has_all_commands_with_their_flags() -> None:
    (commands,) = (a for a in completion.whole_parser()._actions if isinstance(a, argparse._SubParsersAction))
    assert set(commands.choices) == set(COMMANDS)
    flags = {option for action in commands.choices["serve"]._actions for option in action.option_strings}
    assert {"--job-name", "--help"} <= flags
    (name,) = (a for a in commands.choices["examples"]._actions if a.dest == "name")
    assert name.choices is not None
    assert "add_238" in name.choices


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_a_script_is_printed_for_each_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert completion.main([shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in COMMANDS)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("tensorfleet st", ["status", "stacks"]),
        ("tensorfleet completion b", ["bash"]),
        ("tensorfleet serve --job", ["--job-name"]),
        ("tensorfleet examples add", ["add_238"]),
    ],
)
def test_bash_offers(words: str, offered: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    completion.main(["bash"])
    script = capsys.readouterr().out
    split = words.split()
    program = f"""{script}
COMP_WORDS=({" ".join(map(shlex.quote, split))})
COMP_CWORD={len(split) - 1}
COMP_TYPE=9
$(complete -p tensorfleet | sed 's/.*-F \\([^ ]*\\).*/\\1/') tensorfleet {split[-1]} {split[-2]}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "--norc"], input=program, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == offered, done.stderr


def test_without_the_package_the_install_command_is_told() -> None:
    program = """
import sys
sys.modules["shtab"] = None  # as if it were not installed
from tensorfleet.cli.main import main
sys.exit(main(["completion", "zsh"]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith('tensorfleet completion takes the package shtab: pip install "shtab')
