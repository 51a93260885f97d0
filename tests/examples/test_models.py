"""The examples that fit models: regression against NumPy, a search over settings, an ensemble."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tensorfleet.examples import ensemble, hyperparameter_search, linear_regression, placing
from tensorfleet.examples.hyperparameter_search import Digits, Job, Setting
from tensorfleet.examples.idx import sample_dir
from tensorfleet.examples.tutorials.mnist.input_data import read_data_sets
from tensorfleet_service.local_cluster import LocalCluster


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with LocalCluster({"ps": 1, "worker": 2}) as cluster:
        yield cluster.target


@pytest.fixture(scope="module")
def digits() -> Digits:
    train = read_data_sets(sample_dir(), validation_size=0).train
    return Digits(train.images, train.labels)


def test_places(target: str) -> None:
    workers = [f"/job:worker/replica:0/task:{index}" for index in (0, 1)]
    assert placing.find(target) == ("/job:ps/replica:0/task:0", workers)
    assert placing.find("") == ("", [""])


@pytest.mark.parametrize("on", ["process", "cluster"])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_solutions_by_matrices_are_numpys(on: str, ridge: float, target: str) -> None:
    x, y = linear_regression.make_data(seed=3)
    expected = np.linalg.solve(x.T @ x / len(x) + ridge * np.eye(x.shape[1]), x.T @ y / len(x))
    for solver in linear_regression.SOLVERS:
        weights = linear_regression.by_matrices(target if on == "cluster" else "", x, y, ridge, solver)
        np.testing.assert_allclose(weights, expected, rtol=1e-10, err_msg=solver)


@pytest.mark.parametrize("kind", linear_regression.DESCENTS)
def test_descents_go_as_numpys_do(
    kind: str, target: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Step by step: the same batches, the same rates (float32, as tf.train.inverse_time_decay gives them)."""
    size, _, first_rate = linear_regression.DESCENTS[kind]
    steps, ridge = 200, 0.05
    monkeypatch.setitem(linear_regression.DESCENTS, kind, (size, steps, first_rate))
    x, y = linear_regression.make_data()
    random = np.random.RandomState(5)
    half = linear_regression.HALF_RATE_AFTER[kind]
    weights = np.zeros((x.shape[1], 1))
    for step in range(steps):
        chosen = random.permutation(len(x))[:size] if size < len(x) else np.arange(len(x))
        rate = first_rate / (1 + step / half) if half else first_rate
        error = x[chosen] @ weights - y[chosen]
        weights = weights - rate * (x[chosen].T @ error / len(chosen) + ridge * weights)
    np.testing.assert_allclose(
        linear_regression.by_descent(target, x, y, ridge, kind, seed=5), weights, rtol=1e-6
    )


def test_descents_end_near_the_solution() -> None:
    differences = linear_regression.main()
    assert max(differences[name, "batch"] for name in ("linear", "ridge")) < 1e-9
    assert max(differences.values()) < 0.05


def test_search_finds_the_better_setting(target: str, digits: Digits) -> None:
    good, bad = Setting(0.003, 32), Setting(1e-6, 32)
    done: list[tuple[Job, float]] = []
    scores = hyperparameter_search.search(
        target, digits, [bad, good], 2, lambda job, score: done.append((job, score))
    )
    assert {job for job, _ in done} == {Job(setting, fold) for setting in (good, bad) for fold in (0, 1)}
    assert all(scores[job.setting][job.fold] == score for job, score in done)
    assert hyperparameter_search.best(scores) == good
    assert min(scores[good]) > 0.7 > max(scores[bad])


def test_the_result_does_not_depend_on_the_worker(target: str, digits: Digits) -> None:
    settings = [Setting(0.003, 8)]
    assert hyperparameter_search.search("", digits, settings, 3) == hyperparameter_search.search(
        target, digits, settings, 3
    )


def test_folds_divide_the_digits(digits: Digits) -> None:
    few = Digits(np.arange(10.0)[:, np.newaxis], np.arange(10))
    parts = [hyperparameter_search.split(few, 3, fold) for fold in range(3)]
    assert sorted(np.concatenate([chosen.labels for _, chosen in parts])) == list(range(10))
    for rest, chosen in parts:
        assert sorted([*rest.labels, *chosen.labels]) == list(range(10))


def test_a_search_whose_jobs_fail_raises(target: str, digits: Digits) -> None:
    wrong = Digits(digits.images[:, :5], digits.labels)
    with pytest.raises(ValueError, match="shape"):
        hyperparameter_search.search(target, wrong, [Setting(0.1, 4)], 2)


def test_ensemble(target: str) -> None:
    result = ensemble.main(target)
    assert len(result.models) == ensemble.MODELS
    assert min(result.models) > 0.8
    assert result.ensemble >= np.mean(result.models)
