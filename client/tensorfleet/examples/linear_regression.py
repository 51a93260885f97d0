"""Linear and ridge regression, by the solution of the normal equations and by gradient descent.

The weights w minimize ||X w - y||^2 / n + ridge * ||w||^2. By matrices, they are the solution of (X'X / n +
ridge I) w = X'y / n, with tf.matrix_inverse, tf.matrix_solve or tf.cholesky. By descent, each worker computes
the gradient on its part of the batch, and the ps, which holds the weights, takes the mean. The batch is the
whole set, a single example (stochastic descent), or a mini-batch.

    python -m tensorfleet.examples.linear_regression                          in this process
    python -m tensorfleet.examples.linear_regression grpc://127.0.0.1:2222    on a cluster's ps and workers
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

import tensorfleet as tf
from tensorfleet.examples import arguments
from tensorfleet.examples.placing import Places, find

Array = npt.NDArray[Any]

EXAMPLES, FEATURES = 1200, 6
NOISE = 0.1
RIDGE = 0.05
SOLVERS = ("inverse", "solve", "cholesky")
# Batch size, number of steps, and initial learning rate.
DESCENTS = {"batch": (EXAMPLES, 300, 0.3), "mini-batch": (60, 1500, 0.2), "stochastic": (1, 6000, 0.03)}
# The number of steps after which the rate is half of the initial one; it decays as 1 / step.
HALF_RATE_AFTER = {"batch": None, "mini-batch": 100, "stochastic": 500}


def make_data(seed: int = 0) -> tuple[Array, Array]:
    """Linear data with noise: X float64 [n, features], whose last column is ones, and y float64 [n, 1]."""
    random = np.random.RandomState(seed)
    x = np.hstack([random.randn(EXAMPLES, FEATURES), np.ones((EXAMPLES, 1))])
    weights = random.uniform(-2, 2, (FEATURES + 1, 1))
    return x, x @ weights + NOISE * random.randn(EXAMPLES, 1)


def with_numpy(x: Array, y: Array, ridge: float) -> Array:
    """The same weights by NumPy, float64 [features, 1]."""
    return np.linalg.solve(x.T @ x / len(x) + ridge * np.eye(x.shape[1]), x.T @ y / len(x))


def by_matrices(target: str, x: Array, y: Array, ridge: float, solver: str) -> Array:
    """The weights as the solution of the normal equations: each worker multiplies its rows, the ps solves.

    Args:
        target: the session's target; "" for this process.
        x, y: float64 [n, features] and [n, 1].
        ridge: the weight of ||w||^2; 0 is plain linear regression.
        solver: one of SOLVERS.

    Raises:
        tf.errors.InvalidArgumentError: X'X is singular, and there is no ridge.
    """
    places = find(target)
    with tf.Graph().as_default(), tf.Session(target) as session:
        parts = []
        shares = zip(
            np.array_split(x, len(places.workers)), np.array_split(y, len(places.workers)), strict=True
        )
        for worker, (rows, values) in zip(places.workers, shares, strict=True):
            with tf.device(worker):
                features = tf.constant(rows)
                parts.append(
                    (
                        tf.matmul(features, features, transpose_a=True),
                        tf.matmul(features, tf.constant(values), transpose_a=True),
                    )
                )
        with tf.device(places.ps):
            squares, products = (tf.add_n(list(part)) / len(x) for part in zip(*parts, strict=True))
            matrix = squares + ridge * tf.eye(x.shape[1], dtype=tf.float64)
            if solver == "inverse":
                weights = tf.matmul(tf.matrix_inverse(matrix), products)
            elif solver == "solve":
                weights = tf.matrix_solve(matrix, products)
            else:
                weights = tf.cholesky_solve(tf.cholesky(matrix), products)
        result: Array = session.run(weights)
        return result


class Descent:
    """The graph of descent: the weights on the ps, the gradients of parts of a batch on the workers."""

    def __init__(
        self, places: Places, features: int, ridge: float, rate: float, half_after: int | None
    ) -> None:
        """Builds the graph.

        Args:
            places: the devices.
            features: the number of columns of X.
            ridge: the weight of ||w||^2.
            rate: the initial learning rate.
            half_after: the number of steps after which the rate is half of the initial one (a third after
                twice as many); None for a constant rate.
        """
        self.graph = tf.Graph()
        with self.graph.as_default():
            with tf.device(places.ps):
                step = tf.train.get_or_create_global_step()
                self.weights = tf.get_variable(
                    "weights", [features, 1], tf.float64, initializer=tf.zeros_initializer()
                )
                if half_after is not None:
                    rate = tf.train.inverse_time_decay(rate, step, half_after, 1.0)
                optimizer = tf.train.GradientDescentOptimizer(rate)
            self.inputs: list[tuple[Any, Any]] = []
            gradients = []
            for worker in places.workers:
                with tf.device(worker):
                    x = tf.placeholder(tf.float64, [None, features])
                    y = tf.placeholder(tf.float64, [None, 1])
                    loss = tf.reduce_sum(tf.squared_difference(tf.matmul(x, self.weights), y))
                    gradients.append(tf.gradients(loss, self.weights)[0])
                    self.inputs.append((x, y))
            with tf.device(places.ps):
                examples = tf.cast(tf.add_n([tf.shape(y)[0] for _, y in self.inputs]), tf.float64)
                gradient = tf.add_n(gradients) / examples + 2 * ridge * self.weights
                # Without the factor 2 of the square's derivative, as in the normal equations.
                self.train = optimizer.apply_gradients([(gradient / 2, self.weights)], global_step=step)
            self.init = tf.global_variables_initializer()


def by_descent(target: str, x: Array, y: Array, ridge: float, kind: str, seed: int = 0) -> Array:
    """The weights by gradient descent.

    Args:
        target, x, y, ridge: as in `by_matrices`.
        kind: one of DESCENTS.
        seed: the seed of the order of examples.
    """
    batch_size, steps, rate = DESCENTS[kind]
    descent = Descent(find(target), x.shape[1], ridge, rate, HALF_RATE_AFTER[kind])
    random = np.random.RandomState(seed)
    with tf.Session(target, graph=descent.graph) as session:
        session.run(descent.init)
        train = session.make_callable(descent.train, [t for pair in descent.inputs for t in pair])
        for _ in tqdm(range(steps), desc=kind, unit=" steps", leave=False):
            chosen = random.permutation(len(x))[:batch_size] if batch_size < len(x) else slice(None)
            shares = (np.array_split(values[chosen], len(descent.inputs)) for values in (x, y))
            train(*(share for pair in zip(*shares, strict=True) for share in pair))
        result: Array = session.run(descent.weights)
        return result


def main(target: str = "") -> dict[tuple[str, str], float]:
    """Prints the largest difference to NumPy's weights for each regression and way; returns them."""
    x, y = make_data()
    differences = {}
    for name, ridge in (("linear", 0.0), ("ridge", RIDGE)):
        expected = with_numpy(x, y, ridge)
        ways = {solver: by_matrices(target, x, y, ridge, solver) for solver in SOLVERS}
        ways |= {kind: by_descent(target, x, y, ridge, kind) for kind in DESCENTS}
        for way, weights in ways.items():
            differences[name, way] = float(np.abs(weights - expected).max())
            print(f"{name:<8} {way:<12} largest difference to NumPy's weights: {differences[name, way]:.1e}")
    return differences


if __name__ == "__main__":
    main(arguments.parser(__doc__).parse_args().target)
