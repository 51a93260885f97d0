"""Metrics that are means: `tf.keras.metrics.Mean`, and means of functions of targets and predictions."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.keras import loss_functions as losses, ops
from tensorfleet.keras.engine.metric import Metric, add_to, as_float, with_weights
from tensorfleet.keras.loss_classes import squeezed
from tensorfleet.keras.metric_kinds import functions
from tensorfleet.keras.serialization import plain


class Sum(Metric):
    """The weighted sum of values (`tf.keras.metrics.Sum`)."""

    def __init__(self, name: str = "sum", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.total = self.add_weight("total")

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        values = as_float(values, self.dtype)
        if sample_weight is not None:
            values, weights = with_weights(values, sample_weight)
            values = values * weights
        return add_to(self.total, ops.reduce_sum(values))

    def result(self) -> Any:
        return ops.identity(self.total)


class Mean(Metric):
    """The weighted mean of values (`tf.keras.metrics.Mean`).

    Example:
        >>> mean = tf.keras.metrics.Mean()
        >>> value = mean([1.0, 3.0])
        >>> tf.keras.backend.get_value(value)
        np.float32(2.0)
    """

    def __init__(self, name: str = "mean", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.total, self.count = self.add_weight("total"), self.add_weight("count")

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        values = as_float(values, self.dtype)
        if sample_weight is None:
            number = ops.cast(ops.size(values), values.dtype.base)
        else:
            values, weights = with_weights(values, sample_weight)
            values, number = values * weights, ops.reduce_sum(weights)
        return ops.group(add_to(self.total, ops.reduce_sum(values)), add_to(self.count, number))

    def result(self) -> Any:
        return ops.div_no_nan(self.total, self.count)


class MeanRelativeError(Mean):
    """The mean of differences relative to `normalizer` (`tf.keras.metrics.MeanRelativeError`)."""

    def __init__(self, normalizer: Any, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name or "mean_relative_error", dtype=dtype)
        self.normalizer = normalizer

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:  # type: ignore[override]
        y_true, y_pred = as_float(y_true, self.dtype), as_float(y_pred, self.dtype)
        scale = as_float(self.normalizer, self.dtype)
        return super().update_state(ops.div_no_nan(ops.abs(y_true - y_pred), scale), sample_weight)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "normalizer": plain(self.normalizer)}


class MeanMetricWrapper(Mean):
    """The mean of a function of targets and predictions (`tf.keras.metrics.MeanMetricWrapper`)."""

    def __init__(self, fn: Any, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name=name or fn.__name__, dtype=dtype)
        self._function, self._arguments = fn, kwargs

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:  # type: ignore[override]
        y_true, y_pred = squeezed(convert_to_tensor(y_true), as_float(y_pred, self.dtype))
        if self._function not in _OF_NUMBERS:
            y_true = as_float(y_true, self.dtype)
        return super().update_state(self._function(y_true, y_pred, **self._arguments), sample_weight)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._arguments}


_OF_NUMBERS = (functions.sparse_categorical_accuracy, functions.sparse_top_k_categorical_accuracy)


class MeanTensor(Metric):
    """The weighted mean of tensors, by elements (`tf.keras.metrics.MeanTensor`)."""

    def __init__(self, name: str = "mean_tensor", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self._total: Any = None
        self._count: Any = None

    @property
    def total(self) -> Any:
        """The sums, None before the first update."""
        return self._total

    @property
    def count(self) -> Any:
        """The sums of weights, None before the first update."""
        return self._count

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        values = as_float(values, self.dtype)
        if self._total is None:
            self._total = self.add_weight("total", values.shape)
            self._count = self.add_weight("count", values.shape)
        weights = ops.ones_like(values)
        if sample_weight is not None:
            weights = weights * as_float(sample_weight, self.dtype)
        return ops.group(add_to(self._total, values * weights), add_to(self._count, weights))

    def result(self) -> Any:
        if self._total is None:
            raise ValueError(
                "MeanTensor does not have any result yet. Please call the MeanTensor instance or use "
                "`.update_state(value)` before retrieving the result."
            )
        return ops.div_no_nan(self._total, self._count)


class RootMeanSquaredError(Mean):
    """The root of the mean of squared differences (`tf.keras.metrics.RootMeanSquaredError`)."""

    def __init__(self, name: str = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:  # type: ignore[override]
        y_true, y_pred = squeezed(as_float(y_true, self.dtype), as_float(y_pred, self.dtype))
        return super().update_state(ops.squared_difference(y_pred, y_true), sample_weight)

    def result(self) -> Any:
        return ops.sqrt(ops.div_no_nan(self.total, self.count))


def _class(class_name: str, fn: Any, default_name: str, **options: Any) -> Any:
    """A class of means by a function, whose options are arguments of the class behind its dtype."""
    # As in Keras, where k is the first argument.
    positional = ["k", "name", "dtype"] if "k" in options else ["name", "dtype", *options]

    class Wrapped(MeanMetricWrapper):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            given = dict(zip(positional, args, strict=False)) | kwargs
            unknown = set(given) - set(positional)
            if unknown or len(args) > len(positional):
                raise TypeError(f"{class_name} got unexpected arguments: {sorted(unknown) or args}")
            chosen = {name: given.get(name, default) for name, default in options.items()}
            super().__init__(fn, given.get("name", default_name), given.get("dtype"), **chosen)

    Wrapped.__name__ = Wrapped.__qualname__ = class_name
    Wrapped.__doc__ = f"The mean of `{fn.__name__}` (`tf.keras.metrics.{class_name}`)."
    return Wrapped


Accuracy = _class("Accuracy", functions.accuracy, "accuracy")
BinaryAccuracy = _class("BinaryAccuracy", functions.binary_accuracy, "binary_accuracy", threshold=0.5)
CategoricalAccuracy = _class("CategoricalAccuracy", functions.categorical_accuracy, "categorical_accuracy")
SparseCategoricalAccuracy = _class(
    "SparseCategoricalAccuracy", functions.sparse_categorical_accuracy, "sparse_categorical_accuracy"
)
TopKCategoricalAccuracy = _class(
    "TopKCategoricalAccuracy", functions.top_k_categorical_accuracy, "top_k_categorical_accuracy", k=5
)
SparseTopKCategoricalAccuracy = _class(
    "SparseTopKCategoricalAccuracy",
    functions.sparse_top_k_categorical_accuracy,
    "sparse_top_k_categorical_accuracy",
    k=5,
)
CosineSimilarity = _class("CosineSimilarity", losses.cosine_similarity, "cosine_similarity", axis=-1)
MeanAbsoluteError = _class("MeanAbsoluteError", losses.mean_absolute_error, "mean_absolute_error")
MeanAbsolutePercentageError = _class(
    "MeanAbsolutePercentageError", losses.mean_absolute_percentage_error, "mean_absolute_percentage_error"
)
MeanSquaredError = _class("MeanSquaredError", losses.mean_squared_error, "mean_squared_error")
MeanSquaredLogarithmicError = _class(
    "MeanSquaredLogarithmicError", losses.mean_squared_logarithmic_error, "mean_squared_logarithmic_error"
)
Hinge = _class("Hinge", losses.hinge, "hinge")
SquaredHinge = _class("SquaredHinge", losses.squared_hinge, "squared_hinge")
CategoricalHinge = _class("CategoricalHinge", losses.categorical_hinge, "categorical_hinge")
LogCoshError = _class("LogCoshError", losses.logcosh, "logcosh")
Poisson = _class("Poisson", losses.poisson, "poisson")
KLDivergence = _class("KLDivergence", losses.kullback_leibler_divergence, "kullback_leibler_divergence")
BinaryCrossentropy = _class(
    "BinaryCrossentropy",
    losses.binary_crossentropy,
    "binary_crossentropy",
    from_logits=False,
    label_smoothing=0,
)
CategoricalCrossentropy = _class(
    "CategoricalCrossentropy",
    losses.categorical_crossentropy,
    "categorical_crossentropy",
    from_logits=False,
    label_smoothing=0,
)
SparseCategoricalCrossentropy = _class(
    "SparseCategoricalCrossentropy",
    losses.sparse_categorical_crossentropy,
    "sparse_categorical_crossentropy",
    from_logits=False,
    axis=-1,
)
