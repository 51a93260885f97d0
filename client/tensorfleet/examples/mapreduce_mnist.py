"""Map/reduce over handwritten digits: the mean image of each class, and the mean and variance of all pixels.

The client feeds the digits in batches. Each worker maps its batches to three partial sums: digits of each
class, pixels of each class, squares of pixels. The ps adds those of all workers to its variables, and divides
at the end. Pixels are integers, so their sums in float64 are exact for any number of workers.

    python -m tensorfleet.examples.mapreduce_mnist grpc://127.0.0.1:2222 2 [DATA_DIR]

needs a cluster with one ps and two workers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import tensorfleet as tf
from tensorfleet.examples import arguments
from tensorfleet.examples.idx import sample_dir
from tensorfleet.examples.tutorials.mnist.input_data import IMAGE_PIXELS, NUM_CLASSES, read_data_sets

BATCH_SIZE = 64

Array = npt.NDArray[Any]
Progress = Callable[[int], object]


class Result(NamedTuple):
    """The results of the job.

    Attributes:
        class_counts: float64 [10], digits of each class.
        class_means: float64 [10, 784], pixels from 0 to 255; NaN for a class without digits.
        mean, variance: float64 scalars, over all pixels of all digits.
    """

    class_counts: Array
    class_means: Array
    mean: float
    variance: float


class Placement(NamedTuple):
    """The placement of a part of the graph: its name (`map_0`, …, `reduce`), device and number of ops."""

    part: str
    device: str
    ops: int


class MapReduce:
    """The job's graph, for a cluster with job `ps` (one task is used) and `workers` tasks of job `worker`."""

    def __init__(self, workers: int) -> None:
        if workers < 1:
            raise ValueError(f"takes at least one worker, got {workers}")
        self.graph = tf.Graph()
        with self.graph.as_default():
            self._inputs: list[tuple[Any, Any]] = []
            parts = []
            for index in range(workers):
                with tf.device(f"/job:worker/task:{index}"), tf.name_scope(f"map_{index}"):
                    parts.append(self._map())
            with tf.device("/job:ps/task:0"):
                totals = [
                    tf.Variable(np.zeros(shape), name=name)
                    for name, shape in (
                        ("counts", [NUM_CLASSES]),
                        ("sums", [NUM_CLASSES, IMAGE_PIXELS]),
                        ("squares", []),
                    )
                ]
                with tf.name_scope("reduce"):
                    additions = [
                        tf.assign_add(total, tf.add_n(list(part)))
                        for total, part in zip(totals, zip(*parts, strict=True), strict=True)
                    ]
                    self._step = tf.group(*additions, name="step")
                self._result = self._reduce(*totals)
            self._init = tf.global_variables_initializer()

    def _map(self) -> list[Any]:
        """The partial sums of one worker's batch."""
        images = tf.placeholder(tf.uint8, [None, IMAGE_PIXELS], name="images")
        labels = tf.placeholder(tf.uint8, [None], name="labels")
        self._inputs.append((images, labels))
        pixels = tf.cast(images, tf.float64)
        one_hot = tf.one_hot(tf.cast(labels, tf.int32), NUM_CLASSES, dtype=tf.float64)
        return [
            tf.reduce_sum(one_hot, 0),
            tf.matmul(one_hot, pixels, transpose_a=True),
            tf.reduce_sum(tf.square(pixels)),
        ]

    def _reduce(self, counts: Any, sums: Any, squares: Any) -> list[Any]:
        """The result from the total sums."""
        with tf.name_scope("reduce"):
            pixel_count = tf.reduce_sum(counts) * IMAGE_PIXELS
            mean = tf.reduce_sum(sums) / pixel_count
            class_means = sums / tf.expand_dims(counts, 1)
            return [counts, class_means, mean, squares / pixel_count - tf.square(mean)]

    def run(
        self,
        session: Any,
        images: Array,
        labels: Array,
        batch_size: int = BATCH_SIZE,
        progress: Progress | None = None,
    ) -> tuple[Result, list[Placement]]:
        """Runs the job.

        Args:
            session: a session on the cluster, with this object's graph.
            images: uint8 [n, 784].
            labels: uint8 [n], from 0 to 9.
            batch_size: the number of digits for one worker in one step.
            progress: a function that is called after each step with the number of its digits.

        Returns:
            The result, and the device of each part in the trace of the first step.
        """
        session.run(self._init)
        metadata = tf.RunMetadata()
        trace = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        shares = list(
            zip(
                np.array_split(images, len(self._inputs)),
                np.array_split(labels, len(self._inputs)),
                strict=True,
            )
        )
        for start in range(0, max(len(share[0]) for share in shares), batch_size):
            feed: dict[Any, Array] = {}
            for inputs, share in zip(self._inputs, shares, strict=True):
                feed.update(
                    {t: array[start : start + batch_size] for t, array in zip(inputs, share, strict=True)}
                )
            if start == 0:
                session.run(self._step, feed, trace, metadata)
            else:
                session.run(self._step, feed)
            if progress is not None:
                progress(sum(len(feed[labels]) for _, labels in self._inputs))
        return Result(*session.run(self._result)), placements(metadata)


def placements(metadata: Any) -> list[Placement]:
    """The devices of the parts in a step's trace, sorted by part."""
    ops: dict[tuple[str, str], set[str]] = {}
    for device in metadata.step_stats.dev_stats:
        for node in device.node_stats:
            part, slash, _ = node.node_name.partition("/")
            if slash and part.partition("_")[0] in ("map", "reduce"):
                ops.setdefault((part, device.device), set()).add(node.node_name)
    return [Placement(part, device, len(names)) for (part, device), names in sorted(ops.items())]


def with_numpy(images: Array, labels: Array) -> Result:
    """The same result by NumPy in this process: means by class, and the variance in two passes."""
    counts, sums = np.zeros(NUM_CLASSES), np.zeros((NUM_CLASSES, images.shape[1]))
    for label in range(NUM_CLASSES):
        digits = images[labels == label]
        counts[label], sums[label] = len(digits), digits.sum(0, dtype=np.float64)
    mean = sums.sum() / images.size
    deviations = sum(np.square(images[labels == label] - mean).sum() for label in range(NUM_CLASSES))
    with np.errstate(invalid="ignore"):
        return Result(counts, sums / counts[:, np.newaxis], mean, deviations / images.size)


def largest_difference(result: Result, expected: Result) -> float:
    """The largest relative difference of all numbers; that of pixels' means is relative to 255."""
    np.testing.assert_array_equal(result.class_counts, expected.class_counts)
    np.testing.assert_array_equal(np.isnan(result.class_means), np.isnan(expected.class_means))
    means = np.nan_to_num(result.class_means - expected.class_means)
    return max(
        float(np.abs(means).max()) / 255,
        abs(result.mean - expected.mean) / expected.mean,
        abs(result.variance - expected.variance) / expected.variance,
    )


def load(directory: str | Path | None) -> tuple[Array, Array]:
    """The training digits of a directory with MNIST's files, or of the packaged sample.

    Returns images [n, 784] and labels [n], both uint8. Raises what `read_data_sets` does.
    """
    data = read_data_sets(directory or sample_dir(), dtype=np.uint8, validation_size=0).train
    return data.images, data.labels


def main(target: str, workers: int = 2, data_dir: str | Path | None = None) -> None:
    """Runs the job on a cluster and prints the mean and the variance beside NumPy's."""
    images, labels = load(data_dir)
    job = MapReduce(workers)
    with tf.Session(target, graph=job.graph) as session:
        result, placed = job.run(session, images, labels)
    for part, device, _ in placed:
        print(f"{part}: {device}")
    expected = with_numpy(images, labels)
    print(f"mean {result.mean:.6f} (NumPy {expected.mean:.6f})")
    print(f"variance {result.variance:.6f} (NumPy {expected.variance:.6f})")


if __name__ == "__main__":
    parser = arguments.parser(__doc__, target=False)
    parser.add_argument(
        "target", metavar="TARGET", help="a task of the cluster, such as grpc://127.0.0.1:2222"
    )
    parser.add_argument(
        "workers", nargs="?", default=2, type=arguments.positive, help="to use (default: %(default)s)"
    )
    arguments.add_data_dir(parser)
    flags = parser.parse_args()
    main(flags.target, flags.workers, flags.data_dir)
