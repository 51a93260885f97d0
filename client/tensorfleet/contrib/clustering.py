"""`tf.contrib.factorization`: k-means, as operations and as an estimator."""

from __future__ import annotations

import time
from typing import Any

from tensorfleet.core import dtypes, errors
from tensorfleet.core.shapes import TensorShape
from tensorfleet.estimator.estimator import Estimator
from tensorfleet.estimator.spec import EstimatorSpec
from tensorfleet.feature_column.layers import input_layer
from tensorfleet.graph import framework
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.metrics import mean as mean_metric
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones, ones_like, range as range_of, zeros, zeros_like
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.selection import where_v2
from tensorfleet.ops.array.shaping import expand_dims, shape
from tensorfleet.ops.control_flow.control import no_op
from tensorfleet.ops.control_flow.control_flow import cond, while_loop
from tensorfleet.ops.debugging.checks import assert_greater_equal
from tensorfleet.ops.math.arithmetic import maximum, minimum
from tensorfleet.ops.math.elementwise import log, square
from tensorfleet.ops.math.extrema import argmin
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_min, reduce_sum
from tensorfleet.ops.math.segment import unsorted_segment_sum
from tensorfleet.ops.nn.norm import l2_normalize
from tensorfleet.ops.random.random_ops import multinomial, random_shuffle, random_uniform
from tensorfleet.ops.state.variable_ops import assign_add
from tensorfleet.ops.state.variables import Variable
from tensorfleet.train.session_run_hook import SessionRunArgs, SessionRunHook
from tensorfleet.train.step_count import get_or_create_global_step

SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE = "squared_euclidean", "cosine"
RANDOM_INIT, KMEANS_PLUS_PLUS_INIT, KMC2_INIT = "random", "kmeans_plus_plus", "kmc2"


def _distances(points: Any, centers: Any, metric: str) -> Any:
    """From each point to each center, `[points, centers]`; of normalized vectors for the cosine."""
    products = matmul(points, centers, transpose_b=True)
    if metric == COSINE_DISTANCE:
        return maximum(1.0 - products, 0.0)
    sizes = reduce_sum(square(points), 1, keepdims=True) + reduce_sum(square(centers), 1)
    return maximum(sizes - 2.0 * products, 0.0)


class KMeans:
    """The operations of k-means (`tf.contrib.factorization.KMeans`).

    Args:
        inputs: points `[batch, size]`, or a list of such.
        num_clusters: how many clusters.
        initial_clusters: "random", "kmeans_plus_plus", the centers, or a function of inputs and number that
            returns them.
        distance_metric: "squared_euclidean" or "cosine".
        use_mini_batch: whether each step moves the centers by one batch; else the inputs are all points.
        mini_batch_steps_per_iteration: the steps after which mini-batches move the centers that points are
            assigned to; between them they move a copy. So several workers change the same copy.
        random_seed: the seed of the first centers.
        kmeans_plus_plus_num_retries: how many more points are drawn for each of the first centers, of which
            the best is taken; of a negative number, as many as the logarithm of `num_clusters`, and two.
        kmc2_chain_length: without effect.

    Raises:
        ValueError: an unknown metric or way to begin.
    """

    def __init__(
        self,
        inputs: Any,
        num_clusters: Any,
        initial_clusters: Any = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        use_mini_batch: bool = False,
        mini_batch_steps_per_iteration: int = 1,
        random_seed: int | None = 0,
        kmeans_plus_plus_num_retries: int = 2,
        kmc2_chain_length: int = 200,
    ) -> None:
        if distance_metric not in (SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE):
            raise ValueError(f"Unsupported distance metric passed to Kmeans {distance_metric!r}")
        if isinstance(initial_clusters, str) and initial_clusters not in (
            *(RANDOM_INIT, KMEANS_PLUS_PLUS_INIT, KMC2_INIT),
        ):
            raise ValueError(f"Unsupported initialization algorithm: {initial_clusters!r}")
        self._inputs = [convert_to_tensor(x) for x in (inputs if isinstance(inputs, list) else [inputs])]
        self._count, self._initial, self._metric = num_clusters, initial_clusters, distance_metric
        self._mini_batch, self._seed = use_mini_batch, random_seed
        self._retries = kmeans_plus_plus_num_retries
        self._steps = mini_batch_steps_per_iteration if use_mini_batch else 1

    def training_graph(self) -> tuple[Any, ...]:
        """The operations.

        Returns:
            For each input: the distances to all centers, the index of the nearest, and the distance to it;
            then whether the centers are there, the operation that makes the first ones, and the one that
            trains. The variable of the centers has the name "clusters".
        """
        points = [self._normal(x) for x in self._inputs]
        size, dtype = points[0].shape.as_list()[1], points[0].dtype
        centers: Any = Variable(
            lambda: zeros([self._count, size], dtype), name="clusters", trainable=False, use_resource=True
        )
        has_copy = self._steps > 1
        # Without a copy, a center begins as the one point that it is.
        counts: Any = Variable(
            lambda: (zeros if has_copy else ones)([self._count], dtype),
            name="update_counts",
            trainable=False,
            use_resource=True,
        )
        copy: Any = centers
        if has_copy:
            copy = Variable(
                lambda: zeros([self._count, size], dtype),
                name="clusters_updated",
                trainable=False,
                use_resource=True,
            )
            left: Any = Variable(
                lambda: constant(self._steps, dtypes.int64),
                name="update_in_steps",
                trainable=False,
                use_resource=True,
            )
        initialized: Any = Variable(False, name="initialized", trainable=False, use_resource=True)
        all_scores, indices, scores = [], [], []
        for x in points:
            distances = _distances(x, self._normal(centers.read_value()), self._metric)
            all_scores.append(distances)
            indices.append(argmin(distances, 1))
            scores.append(reduce_min(distances, 1))
        joined = points[0] if len(points) == 1 else concat(points, 0)

        def begin() -> Any:
            first = self._first(joined)
            made = [centers.assign(first, read_value=False)]
            if has_copy:
                made.append(copy.assign(first, read_value=False))
            with framework.control_dependencies(made):
                return initialized.assign(True, read_value=False)

        def begun() -> Any:
            with framework.control_dependencies([begin()]):
                return constant(True)

        init_op = cond(initialized.read_value(), lambda: constant(True), begun).op
        nearest = indices[0] if len(points) == 1 else concat(indices, 0)
        sums = unsorted_segment_sum(joined, nearest, self._count)
        new = unsorted_segment_sum(ones_like(joined[:, 0]), nearest, self._count)
        # Points are assigned to the centers that were there before the step.
        with framework.control_dependencies([sums, new]):
            ready = self._published(centers, copy, counts, left) if has_copy else no_op()
        with framework.control_dependencies([ready]):
            old = copy.read_value()
            if self._mini_batch:
                # The mean over all points that a center has had.
                total = counts.assign_add(new).read_value()
        if self._mini_batch:
            moved = old + (sums - expand_dims(new, 1) * old) / expand_dims(maximum(total, 1.0), 1)
            # Only directions count, so those of the centers are taken where they are compared.
            train_op = copy.assign(moved, read_value=False)
        else:
            moved = where_v2(expand_dims(new, 1) > 0.0, sums / expand_dims(maximum(new, 1.0), 1), old)
            train_op = centers.assign(self._normal(moved), read_value=False)
        return tuple(all_scores), tuple(indices), tuple(scores), initialized, init_op, train_op

    def _published(self, centers: Any, copy: Any, counts: Any, left: Any) -> Any:
        """The operation that makes the copy the centers, in one of so many steps."""

        def publish() -> Any:
            made = [
                left.assign(self._steps - 1, read_value=False),
                centers.assign(self._normal(copy.read_value()), read_value=False),
                counts.assign(zeros_like(counts.read_value()), read_value=False),
            ]
            with framework.control_dependencies(made):
                return constant(True)

        def wait() -> Any:
            with framework.control_dependencies([left.assign_sub(1, read_value=False)]):
                return constant(False)

        return cond(left.read_value() <= 0, publish, wait).op

    def _normal(self, x: Any) -> Any:
        return l2_normalize(x, axis=1) if self._metric == COSINE_DISTANCE else x

    def _first(self, points: Any) -> Any:
        if callable(self._initial):
            return self._normal(convert_to_tensor(self._initial(points, self._count), dtype=points.dtype))
        if not isinstance(self._initial, str):
            return self._normal(convert_to_tensor(self._initial, dtype=points.dtype))
        enough = assert_greater_equal(
            shape(points)[0], self._count, message="There are fewer points than clusters."
        )
        with framework.control_dependencies([enough]):
            points = identity(points)
        if self._initial == RANDOM_INIT:
            return gather(points, random_shuffle(range_of(shape(points)[0]), seed=self._seed)[: self._count])
        return kmeans_plus_plus(points, self._count, self._seed, self._metric, self._retries)


def kmeans_plus_plus(points: Any, count: Any, seed: int | None, metric: str, retries: int = 2) -> Any:
    """Points drawn one after another, by their distances to those drawn before (Arthur and Vassilvitskii,
    2007), `[count, size]`: for each several, of which the one is taken that leaves the least distances."""
    rows = shape(points)[0]
    first = random_uniform([], 0, rows, dtypes.int32, seed=seed)
    size = points.shape.as_list()[1]
    draws: Any = 1 + retries
    if retries < 0:
        draws = 3 + cast(log(cast(count, dtypes.float32)), dtypes.int32)

    def body(i: Any, chosen: Any, nearest: Any) -> Any:
        weights = log(maximum(nearest, 1e-30))
        drawn = multinomial(expand_dims(weights, 0), draws, seed=seed, output_dtype=dtypes.int32)[0]
        candidates = gather(points, drawn)
        left = minimum(expand_dims(nearest, 1), _distances(points, candidates, metric))
        best = argmin(reduce_sum(left, 0), output_type=dtypes.int32)
        return i + 1, concat([chosen, candidates[best : best + 1]], 0), left[:, best]

    start = points[first : first + 1]
    result = while_loop(
        lambda i, chosen, nearest: i < count,
        body,
        [constant(1), start, _distances(points, start, metric)[:, 0]],
        shape_invariants=[TensorShape([]), TensorShape([None, size]), TensorShape([None])],
    )
    return result[1]


class _Begin(SessionRunHook):
    """Makes the first centers, by the first batch of a session that needs them: the chief's hook, which runs
    before the first checkpoint is saved. So they are kept if the batch was all that the input had."""

    def __init__(self, init_op: Any, initialized: Any) -> None:
        self._operation, self._initialized = init_op, initialized

    def after_create_session(self, session: Any, coord: Any) -> None:
        if not session.run(self._initialized):
            session.run(self._operation)


class _AwaitCenters(SessionRunHook):
    """Lets a worker wait until the chief has made the first centers."""

    PAUSE = 0.5  # seconds

    def __init__(self, initialized: Any, limit: float) -> None:
        self._initialized, self._limit = initialized, limit

    def after_create_session(self, session: Any, coord: Any) -> None:
        end = time.monotonic() + self._limit
        while not session.run(self._initialized):
            if time.monotonic() > end:
                raise errors.DeadlineExceededError(
                    None, None, f"The chief has not made the first centers of k-means in {self._limit:g} s."
                )
            time.sleep(self.PAUSE)


class _Converged(SessionRunHook):
    """Ends training when the sum of distances hardly changes."""

    def __init__(self, tolerance: float, loss: Any) -> None:
        self._tolerance, self._loss, self._last = tolerance, loss, None

    def before_run(self, run_context: Any) -> Any:
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        loss = run_values.results
        if self._last is not None and abs(self._last - loss) / (abs(self._last) + 1e-9) <= self._tolerance:
            run_context.request_stop()
        self._last = loss


class KMeansClustering(Estimator):
    """An estimator of clusters (`tf.contrib.factorization.KMeansClustering`,
    `tf.estimator.experimental.KMeans`).

    Args:
        num_clusters: how many clusters.
        model_dir: where checkpoints go.
        initial_clusters, distance_metric, use_mini_batch, mini_batch_steps_per_iteration, random_seed: as of
            `KMeans`.
        relative_tolerance: the relative change of the loss at which training ends, without mini-batches.
        feature_columns: columns that make points of features; by default features are joined.
    """

    SQUARED_EUCLIDEAN_DISTANCE = SQUARED_EUCLIDEAN_DISTANCE
    COSINE_DISTANCE = COSINE_DISTANCE
    RANDOM_INIT = RANDOM_INIT
    KMEANS_PLUS_PLUS_INIT = KMEANS_PLUS_PLUS_INIT
    SCORE = "score"
    CLUSTER_INDEX = "cluster_index"
    ALL_DISTANCES = "all_distances"
    CLUSTER_CENTERS_VAR_NAME = "clusters"

    def __init__(
        self,
        num_clusters: int,
        model_dir: Any = None,
        initial_clusters: Any = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        random_seed: int | None = 0,
        use_mini_batch: bool = True,
        mini_batch_steps_per_iteration: int = 1,
        kmeans_plus_plus_num_retries: int = 2,
        relative_tolerance: float | None = None,
        config: Any = None,
        feature_columns: Any = None,
    ) -> None:
        def model_fn(features: Any, mode: str, config: Any) -> EstimatorSpec:
            if feature_columns is not None:
                points = input_layer(features, feature_columns)
            elif isinstance(features, dict):
                points = concat([features[key] for key in sorted(features)], 1)
            else:
                points = convert_to_tensor(features)
            distances, indices, scores, initialized, init_op, train_op = KMeans(
                points,
                num_clusters,
                initial_clusters,
                distance_metric,
                use_mini_batch,
                mini_batch_steps_per_iteration,
                random_seed,
                kmeans_plus_plus_num_retries,
            ).training_graph()
            loss = reduce_sum(scores[0])
            step = get_or_create_global_step()
            with framework.control_dependencies([train_op]):
                counted = assign_add(step, 1).op
            hooks: list[Any] = []
            if not config.is_chief:
                hooks.append(_AwaitCenters(initialized, config.session_creation_timeout_secs))
            if relative_tolerance is not None:
                hooks.append(_Converged(relative_tolerance, loss))
            found = {
                self.ALL_DISTANCES: distances[0],
                self.CLUSTER_INDEX: indices[0],
                self.SCORE: scores[0],
            }
            return EstimatorSpec(
                mode,
                predictions=found,
                loss=loss,
                train_op=counted,
                eval_metric_ops={self.SCORE: mean_metric(loss)},
                training_hooks=hooks,
                training_chief_hooks=[_Begin(init_op, initialized)],
            )

        super().__init__(model_fn, model_dir, config)

    def _predicted(self, input_fn: Any, key: str) -> Any:
        return (found[key] for found in self.predict(input_fn, predict_keys=[key]))

    def predict_cluster_index(self, input_fn: Any) -> Any:
        """The index of the nearest center, for each point."""
        return self._predicted(input_fn, self.CLUSTER_INDEX)

    def transform(self, input_fn: Any) -> Any:
        """The distances to all centers, for each point; squared for squared_euclidean."""
        return self._predicted(input_fn, self.ALL_DISTANCES)

    def score(self, input_fn: Any) -> float:
        """The sum of the distances to the nearest centers."""
        return float(self.evaluate(input_fn, steps=1)[self.SCORE])

    def cluster_centers(self) -> Any:
        """The centers, an array `[num_clusters, size]`."""
        return self.get_variable_value(self.CLUSTER_CENTERS_VAR_NAME)
