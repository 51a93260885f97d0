"""What estimators that come with their models have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tensorfleet.estimator.class_heads import BinaryClassHead, MultiClassHead
from tensorfleet.ops.state.partitioners import min_max_variable_partitioner
from tensorfleet.train.adam import AdamOptimizer
from tensorfleet.train.optimizer import Optimizer
from tensorfleet.train.optimizers import AdagradOptimizer, GradientDescentOptimizer, RMSPropOptimizer
from tensorfleet.train.regularized_optimizers import FtrlOptimizer

_OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}
_INPUT_SLICE_BYTES = 64 << 20


class _CannedBinaryClassHead(BinaryClassHead):
    """The head of classifiers, which sums the area as `tf.metrics.auc` does by default."""

    _SUMMATION = "trapezoidal"


def optimizer_of(given: Any, learning_rate: float) -> Optimizer:
    """An optimizer by its name, or by a function, or as it is.

    Raises:
        ValueError: an unknown name, or no optimizer of `tf.train`.
    """
    if isinstance(given, str):
        if given not in _OPTIMIZERS:
            raise ValueError(
                f"Unsupported optimizer name: {given}. Supported names are: {tuple(sorted(_OPTIMIZERS))}"
            )
        return _OPTIMIZERS[given](learning_rate=learning_rate)
    made = given() if callable(given) else given
    if not isinstance(made, Optimizer):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {made}")
    return made


def class_head(
    n_classes: int, weight_column: Any, label_vocabulary: Any, loss_reduction: str
) -> BinaryClassHead | MultiClassHead:
    """The head of a classifier."""
    if n_classes == 2:
        return _CannedBinaryClassHead(weight_column, None, label_vocabulary, loss_reduction)
    return MultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction)


def check_features(features: Any) -> None:
    """Raises ValueError where features are no dict."""
    if not isinstance(features, Mapping):
        raise ValueError(f"features should be a dictionary of `Tensor`s. Given type: {type(features)}")


def hidden_partitioner(config: Any) -> Any:
    """Divides large variables of layers over the parameter servers."""
    return min_max_variable_partitioner(max_partitions=max(1, config.num_ps_replicas))


def input_partitioner(config: Any) -> Any:
    """Divides variables of feature columns, in parts of 64 MiB or more."""
    return min_max_variable_partitioner(
        max_partitions=max(1, config.num_ps_replicas), min_slice_size=_INPUT_SLICE_BYTES
    )
