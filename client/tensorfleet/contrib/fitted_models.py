"""`tf.contrib.learn.Estimator`: an estimator of a model of one's own, with `fit` and arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tensorfleet.contrib.fitted_estimator import FittedEstimator, NotFittedError
from tensorfleet.contrib.metric_spec import metric_ops
from tensorfleet.contrib.model_functions import ModelFnOps, PredictionKey
from tensorfleet.core.logging import warning
from tensorfleet.estimator.arguments import parameter_names, those_taken
from tensorfleet.estimator.estimator import Estimator as NewEstimator
from tensorfleet.estimator.inputs import numpy_input_fn
from tensorfleet.estimator.mode_keys import ModeKeys
from tensorfleet.estimator.spec import EstimatorSpec
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.identity import placeholder
from tensorfleet.ops.array.sparse_tensor import SparseTensor, sparse_placeholder


class Estimator(FittedEstimator):
    """An estimator of a `model_fn` (`tf.contrib.learn.Estimator`).

    When the model predicts, labels are placeholders like those that it was fitted with, or None where this
    process did not fit it. What an input function without queues returns is predicted once.

    Args:
        model_fn: from features and labels, and of `mode`, `params`, `config` and `model_dir` what it has
            parameters for, to a ModelFnOps, or to (predictions, loss, train_op).
        model_dir: where checkpoints go; a new directory by default.
        config: of `tf.contrib.learn.RunConfig` or `tf.estimator.RunConfig`.
        params: given to `model_fn`.
        feature_engineering_fn: from features and labels to those that `model_fn` gets.

    Raises:
        ValueError: there are params, and `model_fn` has no parameter for them.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any] | None = None,
        model_dir: Any = None,
        config: Any = None,
        params: Any = None,
        feature_engineering_fn: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        names = () if model_fn is None else parameter_names(model_fn)
        if params is not None and "params" not in names:
            raise ValueError(
                f"Estimator's model_fn ({model_fn}) does not have a params argument, but params ({params}) "
                "were passed to the Estimator's constructor."
            )
        if params is None and "params" in names:
            warning(
                "Estimator's model_fn (%s) includes params argument, but params are not passed to Estimator.",
                model_fn,
            )
        self.params = params
        self._model_fn = model_fn
        self._engineered = feature_engineering_fn
        self._labels: Any = None
        self._metrics: Mapping[Any, Any] | None = None
        self._once = False
        self.estimator = NewEstimator(self._spec, model_dir, config)

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Any = None,
        feed_fn: Any = None,
        batch_size: int | None = None,
        steps: int | None = None,
        metrics: Any = None,
        name: str | None = None,
        checkpoint_path: str | None = None,
        hooks: Any = None,
    ) -> dict[str, Any]:
        """The metrics of the model, and those asked for: MetricSpecs by name.

        Raises:
            NotFittedError: there is no checkpoint.
        """
        if not checkpoint_path:
            self._check_fitted()
        self._metrics = metrics
        try:
            return super().evaluate(
                x, y, input_fn, feed_fn, batch_size, steps, None, name, checkpoint_path, hooks
            )
        finally:
            self._metrics = None

    def predict(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        outputs: Any = None,
        as_iterable: bool = True,
        iterate_batches: bool = False,
    ) -> Any:
        """The predictions of each example: an iterator over them, or over batches; or the first batch.

        Raises:
            NotFittedError: there is no checkpoint.
        """
        self._check_fitted()
        batches = self._batches(self._given(x, None, input_fn, batch_size, 1, False), outputs)
        if not as_iterable:
            return next(batches)
        return batches if iterate_batches else _examples(batches)

    def _named(self, found: dict[str, Any]) -> dict[str, Any]:
        return found

    def predicted(self, x: Any, batch_size: int | None, outputs: Any) -> Iterator[Any]:
        self._check_fitted()
        return self._batches(self._given(x, None, None, batch_size, 1, False), outputs)

    def outputs(self, features: Any, key: str | None = None) -> dict[str, Any]:
        """The tensors of an output alternative in the default graph, or of the predictions without one.

        Args:
            features: given to `model_fn`.
            key: which of the alternatives; None: the only one.

        Raises:
            ValueError: there is no such alternative, or several and no key.
        """
        made = self._ops(features, None, ModeKeys.PREDICT, self.config)
        found = made.output_alternatives or {}
        if not key and len(found) > 1:
            raise ValueError(
                "Please specify a default_output_alternative. Available output_alternatives are: "
                f"{sorted(found)}"
            )
        if key and key not in found:
            raise ValueError(
                f"Requested default_output_alternative: {key}, but available output_alternatives are: "
                f"{sorted(map(str, found))}"
            )
        if found:
            return dict(found[key or next(iter(found))][1])
        is_named = isinstance(made.predictions, Mapping)
        return dict(made.predictions) if is_named else {PredictionKey.GENERIC: made.predictions}

    def _given(
        self, x: Any, y: Any, input_fn: Any, batch_size: int | None, epochs: int | None, shuffled: bool
    ) -> Any:
        self._check(x, input_fn)
        if input_fn is not None:
            return input_fn
        features = (
            {key: np.asarray(value) for key, value in x.items()} if isinstance(x, dict) else np.asarray(x)
        )
        rows = len(next(iter(features.values())) if isinstance(features, dict) else features)
        labels = None if y is None else np.asarray(y)
        return numpy_input_fn(
            features, labels, batch_size=batch_size or rows, num_epochs=epochs, shuffle=shuffled
        )

    def _batches(self, input_fn: Any, outputs: Any) -> Iterator[Any]:
        for batch in self.estimator.predict(input_fn, outputs, yield_single_examples=False):
            yield batch
            if self._once:
                return

    def _check_fitted(self) -> None:
        if self.estimator.latest_checkpoint() is None:
            raise NotFittedError(f"Couldn't find trained model at {self.model_dir}.")

    def _spec(self, features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        return self._ops(features, labels, mode, config).estimator_spec()

    def _ops(self, features: Any, labels: Any, mode: str, config: Any) -> ModelFnOps:
        if self._model_fn is None:
            raise ValueError("An Estimator without a model_fn cannot run.")
        if mode == ModeKeys.PREDICT:
            labels = _each(self._labels, _placeholder)
            self._once = not get_default_graph().get_collection(GraphKeys.QUEUE_RUNNERS)
        else:
            self._labels = _each(labels, lambda label: (type(label), label.dtype, label.get_shape()))
        if self._engineered is not None:
            features, labels = self._engineered(features, labels)
        choices = {"mode": mode, "params": self.params, "config": config, "model_dir": self.model_dir}
        made = self._model_fn(features, labels, **those_taken(self._model_fn, choices))
        if not isinstance(made, ModelFnOps):
            if len(made) != 3:
                raise ValueError("Unrecognized value returned by model_fn, please return ModelFnOps.")
            made = ModelFnOps(mode, *made)
        if self._metrics and mode == ModeKeys.EVAL:
            made.eval_metric_ops.update(metric_ops(self._metrics, features, labels, made.predictions))
        return made


def _each(labels: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(labels, Mapping):
        return {name: function(label) for name, label in labels.items()}
    return None if labels is None else function(labels)


def _placeholder(signature: tuple[Any, Any, Any]) -> Tensor | SparseTensor:
    kind, dtype, shape = signature
    if kind is SparseTensor:
        return sparse_placeholder(dtype)
    return placeholder(dtype, None if shape.ndims is None else [None, *shape.as_list()[1:]][: shape.ndims])


def _examples(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        if not isinstance(batch, Mapping):
            yield from batch
            continue
        for index in range(len(next(iter(batch.values())))):
            yield {name: value[index] for name, value in batch.items()}
