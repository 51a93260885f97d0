"""An ensemble: each worker trains its own models, and the ps combines their predictions.

All models are in one graph, in different name scopes and on different devices, and one step trains them all.
They start from different weights, and each gets the digits in a different order. The prediction of the
ensemble is the mean of their probabilities.

    python -m tensorfleet.examples.ensemble                                       in this process
    python -m tensorfleet.examples.ensemble grpc://127.0.0.1:2222 [DATA_DIR]     on a cluster's ps and workers
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

import tensorfleet as tf
from tensorfleet.examples import arguments
from tensorfleet.examples.digit_classifier import Classifier, accuracy, batches
from tensorfleet.examples.idx import sample_dir
from tensorfleet.examples.placing import Places, find
from tensorfleet.examples.tutorials.mnist.input_data import read_data_sets

MODELS = 4
HIDDEN = 32
LEARNING_RATE = 0.003
EPOCHS = 15
BATCH_SIZE = 50


class Result(NamedTuple):
    """Accuracies on the test digits."""

    models: list[float]
    ensemble: float


class Ensemble:
    """The graph: model i is on worker i modulo the number of workers."""

    def __init__(self, places: Places, models: int) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.models = []
            for index in range(models):
                with tf.device(places.workers[index % len(places.workers)]):
                    self.models.append(Classifier(HIDDEN, LEARNING_RATE, index, f"model_{index}"))
            self.train = tf.group(*(model.train for model in self.models), name="train")
            with tf.device(places.ps):
                self.probabilities = tf.reduce_mean(
                    tf.stack([model.probabilities for model in self.models]), 0
                )
            self.init = tf.global_variables_initializer()


def main(target: str = "", data_dir: str | Path | None = None, epochs: int = EPOCHS) -> Result:
    """Trains, prints the accuracies of the models and of the ensemble, and returns them."""
    data = read_data_sets(data_dir or sample_dir(), validation_size=0)
    ensemble = Ensemble(find(target), MODELS)
    orders = [
        batches(data.train.images, data.train.labels, BATCH_SIZE, epochs, seed) for seed in range(MODELS)
    ]
    steps = epochs * (data.train.num_examples // BATCH_SIZE)
    with tf.Session(
        target, graph=ensemble.graph, config=tf.ConfigProto(isolate_session_state=True)
    ) as session:
        session.run(ensemble.init)
        step = session.make_callable(
            ensemble.train, [t for model in ensemble.models for t in (model.images, model.labels)]
        )
        for parts in tqdm(zip(*orders, strict=True), total=steps, unit=" steps", desc="ensemble"):
            step(*(array for part in parts for array in part))
        feeds = {model.images: data.test.images for model in ensemble.models}
        each, together = session.run(
            [[model.probabilities for model in ensemble.models], ensemble.probabilities], feeds
        )
    result = Result([accuracy(p, data.test.labels) for p in each], accuracy(together, data.test.labels))
    for index, score in enumerate(result.models):
        print(f"model {index}: {score:.4f}")
    print(f"ensemble of {MODELS}: {result.ensemble:.4f} (mean of the models: {np.mean(result.models):.4f})")
    return result


if __name__ == "__main__":
    parser = arguments.parser(__doc__)
    arguments.add_data_dir(parser)
    parser.add_argument(
        "--epochs",
        type=arguments.positive,
        default=EPOCHS,
        metavar="N",
        help="(default: %(default)s)",
    )
    flags = parser.parse_args()
    main(flags.target, flags.data_dir, flags.epochs)
