"""`tensorfleet examples`, and the command lines of the programs that it lists."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tensorfleet
from tensorfleet.cli import examples
from tensorfleet.examples import hyperparameter_search

PROGRAMS = examples.programs()


def run(*arguments: str, timeout: float = 100) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments], capture_output=True, text=True, timeout=timeout
    )


def test_all_programs_are_listed_with_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert examples.main([]) == 0
    out = " ".join(capsys.readouterr().out.split())
    directory = Path(tensorfleet.__file__).parent / "examples"
    assert set(PROGRAMS) == {p.stem for p in directory.glob("*.py") if "__main__" in p.read_text()}
    for name, sentence in PROGRAMS.items():
        assert f"{name} {sentence}" in out
        assert sentence.endswith(".")


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_has_help_with_its_own_text(name: str) -> None:
    done = run("-m", f"tensorfleet.examples.{name}", "--help")
    assert done.returncode == 0, done.stderr
    assert "usage: " in done.stdout
    assert PROGRAMS[name] in " ".join(done.stdout.split())
    assert not done.stderr


def test_one_is_run_with_its_arguments() -> None:
    done = run("-m", "tensorfleet.cli.main", "examples", "random_matmul", "", "cpu", "30")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("30 x 30 on cpu: ")


def test_its_exit_code_is_passed_on() -> None:
    done = run("-m", "tensorfleet.cli.main", "examples", "random_matmul", "", "cpu", "none")
    assert done.returncode == 2
    assert "'none' is not a number, 1 or more" in done.stderr


def test_a_misspelt_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert examples.main(["mnist_distribute"]) == 2
    assert (
        'there is no example mnist_distribute. Did you mean "mnist_distributed"?' in capsys.readouterr().err
    )


def test_the_search_shows_its_progress_from_the_first_step() -> None:
    counts: list[int] = []
    setting = hyperparameter_search.Setting(0.003, 8)
    data = hyperparameter_search.read_data_sets(hyperparameter_search.sample_dir(), validation_size=0)
    digits = hyperparameter_search.Digits(data.train.images[:400], data.train.labels[:400])
    hyperparameter_search.search("", digits, [setting], 4, epochs=2, trained=counts.append)
    assert set(counts) == {hyperparameter_search.BATCH_SIZE}
    assert sum(counts) == 4 * 2 * 300
    sizes = [hyperparameter_search.fold_size(10, fold) for fold in range(4)]
    assert sizes == [len(hyperparameter_search.split(digits_of(10), 4, fold)[1].labels) for fold in range(4)]


def digits_of(count: int) -> hyperparameter_search.Digits:
    data = hyperparameter_search.read_data_sets(hyperparameter_search.sample_dir(), validation_size=0)
    return hyperparameter_search.Digits(data.train.images[:count], data.train.labels[:count])


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [["ensemble", "--epochs", "1"], ["hyperparameter_search", "--epochs", "1"]]
)
def test_training_programs_take_epochs(arguments: list[str]) -> None:
    name, *rest = arguments
    done = run("-m", f"tensorfleet.examples.{name}", *rest)
    assert done.returncode == 0, done.stderr
    assert "100%" in done.stderr
