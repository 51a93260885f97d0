"""The commands that README and docs tell exist, with their flags; those that need nothing else run."""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tensorfleet as tf
from tensorfleet.cli import completion, examples
from tensorfleet.cli.commands import COMMANDS
from tests.docs.test_readme import PAGES, ROOT, blocks

MORE = [
    ROOT / "client" / "README.md",
    ROOT / "service" / "README.md",
    ROOT / "helm" / "tensorfleet" / "README.md",
]
WORDS = re.compile(r"^(?:\$ )?(tensorfleet +[a-z][\w-]*(?: .*)?)$", re.M)
INLINE = re.compile(r"`(tensorfleet [a-z][\w-]*[^`]*)`")
PROGRAM = re.compile(r"python -m tensorfleet\.examples\.([a-z]\w*)")


def commands(page: Path) -> list[str]:
    """The lines that begin with the command, and those in the text."""
    text = page.read_text()
    code = "\n".join(block for language in ("", "bash", "sh") for block in blocks(text, language))
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    return WORDS.findall(code.replace("\\\n", " ")) + [" ".join(c.split()) for c in INLINE.findall(prose)]


def parsers() -> dict[str, argparse.ArgumentParser]:
    (action,) = (a for a in completion.whole_parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(action.choices)


def test_commands_are_found() -> None:
    assert len(commands(ROOT / "README.md")) > 5
    assert "tensorfleet up --ps 1 --workers 2" in commands(ROOT / "docs" / "cli.md")


@pytest.mark.parametrize("page", [*PAGES, *MORE], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_exists_with_its_flags(page: Path) -> None:
    known = parsers()
    for line in commands(page):
        _, name, *words = line.partition(" -- ")[0].split()
        assert name in COMMANDS, line
        if name == "examples":
            assert not words or words[0].startswith(("-", "NAME", "[")) or words[0] in examples.programs(), (
                line
            )
            continue
        if name == "run":  # what stands after the script, or the module, is the program's
            words = words[: words.index("-m") + 2 if "-m" in words else 1]
        actions = completion._actions(known[name])  # those of words within the command, too
        flags = {option for action in actions for option in action.option_strings}
        for flag in re.findall(r"(?<!\S)--?[a-z][\w-]*", " ".join(words)):
            assert flag in flags, line


@pytest.mark.parametrize("page", [*PAGES, *MORE], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_program_exists(page: Path) -> None:
    assert set(PROGRAM.findall(page.read_text())) <= set(examples.programs())


LOCAL = [
    line
    for page in (ROOT / "README.md", ROOT / "docs" / "cli.md")
    for line in commands(page)
    if re.fullmatch(r"tensorfleet (version|examples( [a-z]\w*( --epochs \d+)?)?)", line)
]


def test_the_commands_to_run_are_found() -> None:
    assert {"tensorfleet version", "tensorfleet examples", "tensorfleet examples linear_regression"} <= set(
        LOCAL
    )


@pytest.mark.slow
@pytest.mark.parametrize("line", sorted(set(LOCAL)))
def test_a_command_that_needs_no_cluster_runs(line: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tensorfleet.cli.main", *shlex.split(line)[1:]],
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_program_with_a_dataset_runs() -> None:
    program = blocks((ROOT / "docs" / "data.md").read_text(), "python")[0]
    random = np.random.default_rng(0)
    with tf.Graph().as_default():
        tf.train.get_or_create_global_step()
        names = {
            "tf": tf,
            "images": random.random((200, 4), np.float32),
            "labels": random.random((200, 1), np.float32),
            "optimizer": tf.train.GradientDescentOptimizer(0.1),
            "loss": lambda x, y: tf.losses.mean_squared_error(y, tf.layers.dense(x, 1)),
            "master": "",
        }
        exec(program, names)


def test_the_program_with_files_runs(tmp_path: Path) -> None:
    program = blocks((ROOT / "docs" / "data.md").read_text(), "python")[1]
    for part in range(2):
        with tf.python_io.TFRecordWriter(tmp_path / f"train-{part}.tfrecord") as writer:
            for _ in range(100):
                example = tf.train.Example()
                example.features.feature["image"].bytes_list.value.append(bytes(16))
                example.features.feature["label"].int64_list.value.append(part)
                writer.write(example.SerializeToString())
    with tf.Graph().as_default(), tf.Session() as session:
        names = {"tf": tf, "number_of_workers": 1, "task_index": 0}
        exec(program.replace("/data/", f"{tmp_path}/"), names)
        batch = session.run(tf.data.make_one_shot_iterator(names["batches"]).get_next())
    assert batch["image"].shape == (128,)
    assert set(batch["label"].tolist()) == {0, 1}
