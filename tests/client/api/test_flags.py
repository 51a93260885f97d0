"""Flags of a program: TensorFlow's are absl's, and so are these. Each test is a program of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DEFINITIONS = """
import tensorfleet as tf

flags = tf.app.flags
flags.DEFINE_string("words", "none", "text")
flags.DEFINE_integer(flag_name="size", default_value=1, docstring="a number")
flags.DEFINE_multi_integer("each", [], "numbers")
flags.DEFINE_string("log_dir", "/somewhere", "absl has one of this name")
"""


def run(tmp_path: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "program.py"
    script.write_text(DEFINITIONS + program)
    return subprocess.run(
        [sys.executable, str(script), *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def test_the_command_line_is_read_at_the_first_look(tmp_path: Path) -> None:
    program = """
print(flags.FLAGS.is_parsed())
print(flags.FLAGS.words, flags.FLAGS.size, flags.FLAGS.each, flags.FLAGS.log_dir)
flags.FLAGS.size = 5
print(flags.FLAGS["size"].value, "size" in flags.FLAGS)
"""
    done = run(tmp_path, program, "--words=many", "--size=3", "--each=1", "--each=2")
    assert done.stdout.splitlines() == ["False", "many 3 [1, 2] /somewhere", "5 True"]
    assert "is deprecated" in done.stderr


def test_a_flag_that_is_not_defined(tmp_path: Path) -> None:
    program = """
try:
    flags.FLAGS.size
except flags.UnrecognizedFlagError as error:
    print(error)
"""
    done = run(tmp_path, program, "--of-others=4")
    assert done.stdout == "Unknown command line flag 'of-others'\n"


def test_run_leaves_unknown_flags_to_main_and_exits_with_its_result(tmp_path: Path) -> None:
    program = """
def main(argv):
    print(argv[1:], flags.FLAGS.size)
    return 3

tf.app.run()
"""
    done = run(tmp_path, program, "--of-others=4", "--size", "2", "more")
    assert (done.stdout, done.returncode) == ("['--of-others=4', 'more'] 2\n", 3)


@pytest.mark.parametrize(
    ("argument", "text", "status"), [("--size=x", "flag --size=x:", 1), ("--help", "--size: a number", 0)]
)
def test_run_shows_the_usage(tmp_path: Path, argument: str, text: str, status: int) -> None:
    done = run(tmp_path, "tf.app.run(print)", argument)
    assert done.returncode == status
    assert text in done.stdout + done.stderr


def test_two_modules_cannot_define_one_flag(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(
        "import tensorfleet as tf\ntf.app.flags.DEFINE_integer('size', 2, 'again')\n"
    )
    done = run(tmp_path, "import other")
    assert "DuplicateFlagError" in done.stderr


def test_flags_are_loaded_when_they_are_used() -> None:
    code = "import sys, tensorfleet; sys.exit('absl' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_flags_are_listed_as_old_programs_do(tmp_path: Path) -> None:
    program = """
if "old" in __import__("sys").argv:
    print(flags.FLAGS._parse_flags())
for name, flag in sorted(flags.FLAGS.__flags.items()):
    if name in ("size", "words"):
        print(name, flag.value)
"""
    done = run(tmp_path, program, "--size=3")
    assert done.stdout.splitlines() == ["size 3", "words none"]
    done = run(tmp_path, program, "--size=3", "old", "--unknown=1")
    assert done.stdout.splitlines() == ["['old', '--unknown=1']", "size 3", "words none"]
