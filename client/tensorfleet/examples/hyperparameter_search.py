"""A search for the best hyperparameters of a model by cross-validation, distributed over workers.

A job is one setting and one fold: a model that is trained on the other folds and evaluated on this one. Each
worker takes the next job when it has finished one; the models are independent, so workers never wait for each
other. The setting with the best mean over its folds is then trained on all training digits and tested.

    python -m tensorfleet.examples.hyperparameter_search                                     in this process
    python -m tensorfleet.examples.hyperparameter_search grpc://127.0.0.1:2222 [DATA_DIR]    on workers
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

import tensorfleet as tf
from tensorfleet.examples import arguments
from tensorfleet.examples.digit_classifier import Classifier, accuracy, batches
from tensorfleet.examples.idx import sample_dir
from tensorfleet.examples.placing import find
from tensorfleet.examples.tutorials.mnist.input_data import read_data_sets

Array = npt.NDArray[Any]

LEARNING_RATES = (0.0003, 0.003, 0.3)
HIDDEN = (16, 64)
FOLDS = 4
EPOCHS = 6
BATCH_SIZE = 50


class Digits(NamedTuple):
    """Images float32 [n, 784] and labels [n]."""

    images: Array
    labels: Array


class Setting(NamedTuple):
    """The hyperparameters that are searched for."""

    learning_rate: float
    hidden: int


class Job(NamedTuple):
    """One model to train: a setting, and the fold that it is evaluated on."""

    setting: Setting
    fold: int


Scores = dict[Setting, list[float]]


def train(
    target: str,
    device: str,
    setting: Setting,
    digits: Digits,
    judge_by: Digits,
    seed: int = 0,
    epochs: int = EPOCHS,
    trained: Callable[[int], object] = lambda count: None,
) -> float:
    """Trains a model on a device, in its own session; returns its accuracy on `judge_by`.

    Args:
        trained: a function that is called after each step with the number of its digits.
    """
    with tf.Graph().as_default(), tf.device(device):
        model = Classifier(setting.hidden, setting.learning_rate, seed)
        # Without isolation, the next job on the task would find these variables by their names.
        config = tf.ConfigProto(isolate_session_state=True)
        with tf.Session(target, config=config) as session:
            session.run(tf.global_variables_initializer())
            step = session.make_callable(model.train, [model.images, model.labels])
            for images, labels in batches(*digits, BATCH_SIZE, epochs, seed):
                step(images, labels)
                trained(len(labels))
            probabilities = session.run(model.probabilities, {model.images: judge_by.images})
    return accuracy(probabilities, judge_by.labels)


def fold_size(count: int, fold: int) -> int:
    """The number of digits, of `count`, in a fold of FOLDS."""
    return len(range(fold, count, FOLDS))


def split(digits: Digits, folds: int, fold: int) -> tuple[Digits, Digits]:
    """All folds but one, and that one; the division of digits into folds is always the same."""
    inside = np.random.RandomState(0).permutation(len(digits.labels)) % folds == fold
    rest, chosen = (Digits(digits.images[these], digits.labels[these]) for these in (~inside, inside))
    return rest, chosen


def search(
    target: str,
    digits: Digits,
    settings: Sequence[Setting],
    folds: int,
    done: Callable[[Job, float], object] = lambda job, score: None,
    epochs: int = EPOCHS,
    trained: Callable[[int], object] = lambda count: None,
) -> Scores:
    """The accuracy of each setting on each fold.

    Args:
        target: the sessions' target; "" for this process.
        digits: the digits to train and evaluate on.
        settings: the settings to try.
        folds: the number of folds, 2 or more.
        done: a function that is called with each finished job and its accuracy.
        epochs: the number of epochs of each model.
        trained: a function that is called, in several threads, after each step with the number of its digits.

    Raises:
        tf.errors.OpError: the error of the first job that failed; jobs that have not started are left out.
    """
    parts = [split(digits, folds, fold) for fold in range(folds)]
    scores: Scores = {setting: [0.0] * folds for setting in settings}
    free: SimpleQueue[str] = SimpleQueue()
    workers = find(target).workers
    for worker in workers:
        free.put(worker)

    def run(job: Job) -> float:
        device = free.get_nowait()  # there are as many devices as threads
        try:
            return train(target, device, job.setting, *parts[job.fold], 0, epochs, trained)
        finally:
            free.put(device)

    with ThreadPoolExecutor(len(workers)) as pool:
        running = {
            pool.submit(run, job): job
            for job in itertools.starmap(Job, itertools.product(settings, range(folds)))
        }
        try:
            for future in as_completed(running):
                job = running[future]
                scores[job.setting][job.fold] = future.result()
                done(job, future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return scores


def best(scores: Scores) -> Setting:
    """The setting with the best mean; of equal ones, the first."""
    return max(scores, key=lambda setting: float(np.mean(scores[setting])))


def main(target: str = "", data_dir: str | Path | None = None, epochs: int = EPOCHS) -> tuple[Scores, float]:
    """Prints the mean of each setting and the test accuracy of the best one; returns both."""
    data = read_data_sets(data_dir or sample_dir(), validation_size=0)
    digits, test = (Digits(part.images, part.labels) for part in (data.train, data.test))
    settings = list(itertools.starmap(Setting, itertools.product(LEARNING_RATES, HIDDEN)))
    # Progress by digits, not by models, as a model on all of MNIST takes a while.
    steps = sum(
        (len(digits.labels) - fold_size(len(digits.labels), fold)) // BATCH_SIZE for fold in range(FOLDS)
    )
    total = steps * BATCH_SIZE * epochs * len(settings)
    lock = threading.Lock()
    with tqdm(total=total, unit=" digits", unit_scale=True, desc=f"{len(settings) * FOLDS} models") as bar:

        def trained(count: int) -> None:
            with lock:
                bar.update(count)

        def done(job: Job, score: float) -> None:
            with lock:
                bar.set_postfix_str(f"{job.setting.learning_rate:g}, {job.setting.hidden} units: {score:.3f}")

        scores = search(target, digits, settings, FOLDS, done, epochs, trained)
    for setting, folds in scores.items():
        rate, hidden = setting
        print(f"rate {rate:<7g} {hidden:>3} units: {np.mean(folds):.3f} +- {np.std(folds):.3f}")
    chosen = best(scores)
    score = train(target, find(target).workers[0], chosen, digits, test, epochs=epochs)
    print(f"best: rate {chosen.learning_rate:g}, {chosen.hidden} units")
    print(f"accuracy on {len(test.labels):,} test digits: {score:.3f}")
    return scores, score


if __name__ == "__main__":
    parser = arguments.parser(__doc__)
    arguments.add_data_dir(parser)
    parser.add_argument(
        "--epochs",
        type=arguments.positive,
        default=EPOCHS,
        metavar="N",
        help="how often a model sees each digit (default: %(default)s)",
    )
    flags = parser.parse_args()
    main(flags.target, flags.data_dir, flags.epochs)
