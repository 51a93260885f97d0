"""What `compile` makes of a model: targets, losses, metrics, and the steps that train, test and predict."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.graph.tensor import Tensor
from tensorfleet.keras import backend as K, loss_classes as losses, loss_functions, ops
from tensorfleet.keras.engine.metric import Metric
from tensorfleet.keras.metric_kinds import functions
from tensorfleet.keras.metric_kinds.means import Mean, MeanMetricWrapper
from tensorfleet.keras.metric_kinds.names import get as get_metric
from tensorfleet.keras.nest import to_list

_ACCURACY = ("accuracy", "acc")
_CROSSENTROPY = ("crossentropy", "ce")


class Endpoint:
    """An output with what is compared with it.

    Attributes:
        target: the placeholder of targets, None without a loss.
        sample_weight: the weights of examples, 1 by default.
        mask: which elements of the output count, None for all.
    """

    def __init__(self, name: str, output: Any, loss: Any, weight: float, target: Any, temporal: bool) -> None:
        self.name, self.output, self.loss, self.loss_weight = name, output, losses.as_loss(loss), weight
        self.mask = getattr(output, "_keras_mask", None)
        self.metrics: list[tuple[str, Metric, bool]] = []
        self.target: Any = target
        self.sample_weight: Any = None
        self.is_fed = target is None
        if self.loss is None:
            self.target = None
            return
        if target is None:
            self.target = ops.placeholder(
                losses.target_dtype(self.loss, output), shape=self.target_shape, name=f"{name}_target"
            )
        self.sample_weight = ops.placeholder_with_default(
            np.ones([1, 1] if temporal else [1], output.dtype.base.as_numpy_dtype),
            shape=[None, None] if temporal else [None],
            name=f"{name}_sample_weights",
        )

    @property
    def target_shape(self) -> list[int | None] | None:
        """The shape of targets, as far as the loss says."""
        shape = self.output.shape
        if shape.ndims is None:
            return None
        dims: list[int | None] = shape.as_list()
        if losses.is_sparse(self.loss):
            return [*dims[:-1], 1]
        # What a function of one's own compares may have other sizes.
        known = vars(loss_functions).get(getattr(getattr(self.loss, "fn", None), "__name__", ""))
        return dims if known is not None else [None] * len(dims)

    def loss_of_batch(self) -> Any:
        """The loss of the batch, a tensor of rank 0."""
        weights = self._weights()
        with ops.name_scope(f"{self.name}_loss"):
            values = losses.weighted(self.loss.call(self.target, self.output), weights)
            reduction = self.loss.reduction
            if reduction == losses.Reduction.AUTO:
                reduction = losses.Reduction.SUM_OVER_BATCH_SIZE
            if reduction == losses.Reduction.NONE:
                return ops.reduce_mean(values)
            return losses.reduced(values, reduction)

    def _weights(self) -> Any:
        if self.mask is None:
            return self.sample_weight
        mask = ops.cast(self.mask, self.output.dtype.base)
        weights = self.sample_weight
        while len(weights.shape.as_list()) < len(mask.shape.as_list()):
            weights = ops.expand_dims(weights, -1)
        return mask * weights

    def metric_weights(self, is_weighted: bool) -> Any:
        """The weights that a metric takes: the mask, or that and the weights of examples."""
        if is_weighted:
            return (
                self._weights() * ops.ones_like(ops.cast(self.mask, self.output.dtype.base))
                if (self.mask is not None)
                else self._each_example()
            )
        return None if self.mask is None else ops.cast(self.mask, self.output.dtype.base)

    def _each_example(self) -> Any:
        """The weights with one for each example, also where they are 1 by default."""
        weights = self.sample_weight
        count = ops.shape(self.output)[: len(weights.shape.as_list())]
        return weights * ops.ones(count, weights.dtype.base)

    def add_metric(self, given: Any, is_weighted: bool, prefix: str) -> None:
        """Adds a metric by name, function or object."""
        metric, name = self._named(given, is_weighted)
        self.metrics.append((prefix + name, metric, is_weighted))

    def _named(self, given: Any, is_weighted: bool) -> tuple[Metric, str]:
        before = "weighted_" if is_weighted else ""
        if given in (*_ACCURACY, *_CROSSENTROPY) if isinstance(given, str) else False:
            fn = (self._accuracy if given in _ACCURACY else self._crossentropy)()
            name = before + ("acc" if given in _ACCURACY else "ce")
            return MeanMetricWrapper(fn, name=name), name
        found = get_metric(given)
        if isinstance(found, Metric):
            return found, found.name
        if isinstance(found, losses.Loss):
            wrapped = found
            name = before + (found.name or type(found).__name__)
            return MeanMetricWrapper(wrapped.call, name=name), name
        name = before + found.__name__
        return MeanMetricWrapper(found, name=name), name

    def _accuracy(self) -> Any:
        dims = self.output.shape.as_list()
        if dims[-1] == 1 or getattr(self.loss, "fn", None) is loss_functions.binary_crossentropy:
            return functions.binary_accuracy
        return (
            functions.sparse_categorical_accuracy
            if losses.is_sparse(self.loss)
            else (functions.categorical_accuracy)
        )

    def _crossentropy(self) -> Any:
        dims = self.output.shape.as_list()
        if dims[-1] == 1 or getattr(self.loss, "fn", None) is loss_functions.binary_crossentropy:
            return loss_functions.binary_crossentropy
        return (
            loss_functions.sparse_categorical_crossentropy
            if losses.is_sparse(self.loss)
            else loss_functions.categorical_crossentropy
        )


class Program:
    """The graph that trains and tests a model.

    Attributes:
        endpoints: the outputs.
        total_loss: the loss that training makes less.
        metric_names: what the steps of training return, "loss" first.
        metric_objects: the metrics whose state begins anew with each epoch.
    """

    def __init__(self, model: Any, arguments: dict[str, Any]) -> None:
        self.model, self._arguments = model, arguments
        self.graph = model.outputs[0].graph
        with self.graph.as_default(), ops.init_scope():
            self.endpoints = self._endpoints()
            self._add_metrics()
            self._set_losses()
            self._set_results()
        self._steps: dict[str, Any] = {}
        self._reset: Any = None

    def _endpoints(self) -> list[Endpoint]:
        model, given = self.model, self._arguments
        names = model.output_names
        each_loss = by_output(given["loss"], names, "loss", shared=True)
        weights = by_output(given["loss_weights"], names, "loss_weights")
        modes = by_output(given["sample_weight_mode"], names, "sample_weight_mode", shared=True)
        targets = by_output(given["target_tensors"], names, "target_tensors")
        return [
            Endpoint(name, output, loss, 1.0 if weight is None else weight, target, mode == "temporal")
            for name, output, loss, weight, target, mode in zip(
                names, model.outputs, each_loss, weights, targets, modes, strict=True
            )
        ]

    def _add_metrics(self) -> None:
        names = self.model.output_names
        for argument, is_weighted in (("metrics", False), ("weighted_metrics", True)):
            each = by_output_lists(self._arguments[argument], names)
            for endpoint, metrics in zip(self.endpoints, each, strict=True):
                prefix = f"{endpoint.name}_" if len(names) > 1 else ""
                for metric in metrics:
                    if endpoint.target is not None:
                        endpoint.add_metric(metric, is_weighted, prefix)

    def _set_losses(self) -> None:
        model = self.model
        with ops.name_scope("loss"):
            total: Any = None
            self.output_losses: list[tuple[str, Any]] = []
            for endpoint in self.endpoints:
                if endpoint.loss is None:
                    continue
                loss = endpoint.loss_of_batch()
                if len(model.output_names) > 1:
                    self.output_losses.append((f"{endpoint.name}_loss", loss))
                part = endpoint.loss_weight * loss
                total = part if total is None else total + part
            own = [ops.cast(loss, K.floatx()) for loss in model.losses]
            if total is None and not own:
                raise ValueError(
                    "The model cannot be compiled because it has no loss to optimize. Give a loss to "
                    "`compile`, or add one by `add_loss`."
                )
            for loss in own:
                loss = ops.reduce_mean(loss) if loss.shape.ndims != 0 else loss
                total = loss if total is None else total + loss
        self.total_loss = total

    def _set_results(self) -> None:
        """Makes the results of metrics: each is computed after it has taken in the batch."""
        self.metric_names = ["loss"]
        self.metric_objects: list[Metric] = []
        self._results: list[Any] = []
        self._pairs: dict[str, tuple[Any, Any]] = {}
        self._metric_updates: list[Any] = []
        with ops.name_scope("metrics"):
            for name, loss in self.output_losses:
                self._add_result(name, Mean(name=name), loss)
            for endpoint in self.endpoints:
                for name, metric, is_weighted in endpoint.metrics:
                    weights = endpoint.metric_weights(is_weighted)
                    self._add_result(name, metric, endpoint.target, endpoint.output, sample_weight=weights)
            for name, value, aggregation in self.model._own_metrics():
                if aggregation == "mean":
                    self._add_result(name, Mean(name=name), value)
                else:
                    self.metric_names.append(name)
                    self._results.append(value)
            self.metric_objects += self.model._held_metrics()

    def _add_result(self, name: str, metric: Metric, *args: Any, **kwargs: Any) -> None:
        update, result = metric.updated(*args, **kwargs)
        self.metric_names.append(name)
        self.metric_objects.append(metric)
        self._metric_updates.append(update)
        self._results.append(result)
        self._pairs[name] = metric.result(), update

    def metric_pairs(self) -> dict[str, tuple[Any, Any]]:
        """The results of metrics and the operations that take in a batch, as estimators take them."""
        return dict(self._pairs)

    # Steps

    def _feeds(self, with_targets: bool) -> list[Any]:
        tensors = [*self.model._fed_inputs()]
        if with_targets:
            fed = [e for e in self.endpoints if e.target is not None]
            tensors += [e.target if e.is_fed else None for e in fed]
            tensors += [e.sample_weight for e in fed]
        return tensors

    def step(self, mode: str) -> tuple[list[Any], Any]:
        """The tensors that are fed and those that are fetched, for "train", "test" or "predict"."""
        if mode not in self._steps:
            with (
                self.graph.as_default(),
                ops.init_scope(),
                ops.name_scope("training" if mode == "train" else mode),
            ):
                self._steps[mode] = getattr(self, f"_make_{mode}")()
        found: tuple[list[Any], Any] = self._steps[mode]
        return found

    def _make_train(self) -> tuple[list[Any], Any]:
        model = self.model
        params = model._trained_weights()
        updates = [*self._metric_updates, *model.updates]
        if params:
            updates += model.optimizer.get_updates(loss=self.total_loss, params=params)
        return self._feeds(True), [[self.total_loss, *self._results], ops.group(*updates)]

    def _make_test(self) -> tuple[list[Any], Any]:
        updates = [*self._metric_updates, *self.model.state_updates]
        return self._feeds(True), [[self.total_loss, *self._results], ops.group(*updates)]

    def _make_predict(self) -> tuple[list[Any], Any]:
        return self._feeds(False), [list(self.model.outputs), ops.group(*self.model.state_updates)]

    def run(self, mode: str, values: list[Any]) -> list[Any]:
        """The results of a step: those of `metric_names`, or the outputs."""
        tensors, fetches = self.step(mode)
        return run_step(self.graph, tensors, fetches, values, mode == "train")

    def reset_metrics(self) -> None:
        """Lets metrics begin anew."""
        own = [m for m in self.metric_objects if type(m).reset_states is not Metric.reset_states]
        if self._reset is None:
            with self.graph.as_default(), ops.init_scope(), ops.name_scope("reset_metrics"):
                variables = [
                    v for metric in self.metric_objects if metric not in own for v in metric.variables
                ]
                self._reset = [ops.assign(v, ops.zeros_like(v.read_value())).op for v in variables]
        if self._reset:
            with self.graph.as_default():
                K.get_session().run(self._reset)
        with self.graph.as_default():
            for metric in own:
                metric.reset_states()


def run_step(graph: Any, tensors: list[Any], fetches: Any, values: list[Any], training: bool) -> list[Any]:
    """Feeds the values that are not None, and the learning phase; the first part of what is fetched."""
    with graph.as_default():
        feeds = {t: v for t, v in zip(tensors, values, strict=True) if t is not None and v is not None}
        phase = K.learning_phase()
        if isinstance(phase, Tensor):
            feeds[phase] = training
        found: list[Any] = K.get_session().run(fetches, feed_dict=feeds)[0]
    return found


def by_output(value: Any, names: list[str], what: str, shared: bool = False) -> list[Any]:
    """A value for each output, from a dict by name, a list, or one value for the only output, or for all.

    Raises:
        ValueError: an unknown name, or not as many values as outputs.
    """
    if value is None:
        return [None] * len(names)
    if isinstance(value, dict):
        unknown = sorted(set(value) - set(names))
        if unknown:
            raise ValueError(
                f"Unknown entries in {what} dictionary: {unknown}. Only expected following keys: {names}"
            )
        return [value.get(name) for name in names]
    if isinstance(value, (list, tuple)):
        if len(value) != len(names):
            raise ValueError(
                f"When passing a list as {what}, it should have one entry per model output. The model has "
                f"{len(names)} outputs, but you passed {what}={value}"
            )
        return list(value)
    if shared or len(names) == 1:
        return [value] * len(names)
    raise ValueError(f"The model has {len(names)} outputs: give {what} as a list or dict. Received: {value}")


def by_output_lists(value: Any, names: list[str]) -> list[list[Any]]:
    """The metrics of each output, from a list for all outputs, a list of lists, or a dict of them by name."""
    if not value:
        return [[] for _ in names]
    if isinstance(value, dict):
        return [to_list(metrics) for metrics in by_output(value, names, "metrics")]
    value = to_list(value)
    if any(isinstance(metrics, (list, tuple)) for metrics in value):
        return [to_list(metrics) for metrics in by_output(value, names, "metrics")]
    if len(names) > 1:
        return [[_fresh(metric) for metric in value] for _ in names]
    return [list(value)]


def _fresh(metric: Any) -> Any:
    """A metric of its own for each output."""
    return type(metric).from_config(metric.get_config()) if isinstance(metric, Metric) else metric
