"""The classes of `tf.keras.losses`, and how names become losses."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.keras import backend as K, loss_functions as functions, ops
from tensorfleet.keras.serialization import deserialize_keras_object, serialize_keras_object


class Reduction:
    """How the losses of examples become one (`tf.keras.losses.Reduction`)."""

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """All values."""
        return cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE

    @classmethod
    def validate(cls, key: Any) -> None:
        """Raises ValueError for another value."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


def weighted(losses: Any, weights: Any) -> Any:
    """The losses, each multiplied by its weight; weights may lack the last dimensions, or have one more."""
    losses = convert_to_tensor(losses)
    weights = ops.cast(weights, losses.dtype.base)
    rank, given = losses.shape.ndims, weights.shape.ndims
    if rank is not None and given is not None and given != 0:
        if given - rank == 1:
            weights = ops.squeeze(weights, [-1])
        for _ in range(rank - given):
            weights = ops.expand_dims(weights, -1)
    return losses * weights


def reduced(losses: Any, reduction: str) -> Any:
    """The sum of the losses, or their mean."""
    if reduction == Reduction.NONE:
        return losses
    total = ops.reduce_sum(losses)
    if reduction == Reduction.SUM:
        return total
    return ops.div_no_nan(total, ops.cast(ops.size(losses), losses.dtype.base))


def squeezed(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Targets and predictions of one rank: a last dimension of 1 that only one of them has is dropped."""
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    difference = (y_pred.shape.ndims or 0) - (y_true.shape.ndims or 0)
    if y_pred.shape.ndims and difference == 1 and y_pred.shape.as_list()[-1] == 1:
        y_pred = ops.squeeze(y_pred, [-1])
    elif y_true.shape.ndims and difference == -1 and y_true.shape.as_list()[-1] in (1, None):
        y_true = ops.squeeze(y_true, [-1])
    return y_true, y_pred


class Loss:
    """The base class of losses (`tf.keras.losses.Loss`): a subclass computes in `call`.

    Args:
        reduction: how the losses of examples become one.
    """

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = None) -> None:
        Reduction.validate(reduction)
        self.reduction, self.name = reduction, name

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        with ops.name_scope(self.name or type(self).__name__):
            losses = self.call(y_true, y_pred)
            if sample_weight is not None:
                losses = weighted(losses, sample_weight)
            return reduced(losses, self.reduction)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """The loss of each example."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"reduction": self.reduction, "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A loss with the arguments of `get_config`."""
        return cls(**config)


class LossFunctionWrapper(Loss):
    """A function as a loss."""

    def __init__(
        self, fn: Any, reduction: str = Reduction.AUTO, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(reduction=reduction, name=name)
        self.fn, self._arguments = fn, kwargs

    def call(self, y_true: Any, y_pred: Any) -> Any:
        return self.fn(*squeezed(y_true, y_pred), **self._arguments)

    def get_config(self) -> dict[str, Any]:
        return {**self._arguments, **super().get_config()}


def _class(class_name: str, fn: Any, default_name: str, **options: Any) -> Any:
    """A class of losses by a function, whose options are arguments of the class."""
    names = list(options)

    class Wrapped(LossFunctionWrapper):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            given = dict(zip([*names, "reduction", "name"], args, strict=False)) | kwargs
            unknown = set(given) - {*names, "reduction", "name"}
            if unknown or len(args) > len(names) + 2:
                raise TypeError(f"{class_name} got unexpected arguments: {sorted(unknown) or args}")
            chosen = {name: given.get(name, default) for name, default in options.items()}
            super().__init__(
                fn, given.get("reduction", Reduction.AUTO), given.get("name", default_name), **chosen
            )

    Wrapped.__name__ = Wrapped.__qualname__ = class_name
    Wrapped.__doc__ = f"`{fn.__name__}` as a loss (`tf.keras.losses.{class_name}`)."
    return Wrapped


MeanSquaredError = _class("MeanSquaredError", functions.mean_squared_error, "mean_squared_error")
MeanAbsoluteError = _class("MeanAbsoluteError", functions.mean_absolute_error, "mean_absolute_error")
MeanAbsolutePercentageError = _class(
    "MeanAbsolutePercentageError", functions.mean_absolute_percentage_error, "mean_absolute_percentage_error"
)
MeanSquaredLogarithmicError = _class(
    "MeanSquaredLogarithmicError", functions.mean_squared_logarithmic_error, "mean_squared_logarithmic_error"
)
BinaryCrossentropy = _class(
    "BinaryCrossentropy",
    functions.binary_crossentropy,
    "binary_crossentropy",
    from_logits=False,
    label_smoothing=0,
)
CategoricalCrossentropy = _class(
    "CategoricalCrossentropy",
    functions.categorical_crossentropy,
    "categorical_crossentropy",
    from_logits=False,
    label_smoothing=0,
)
SparseCategoricalCrossentropy = _class(
    "SparseCategoricalCrossentropy",
    functions.sparse_categorical_crossentropy,
    "sparse_categorical_crossentropy",
    from_logits=False,
)
Hinge = _class("Hinge", functions.hinge, "hinge")
SquaredHinge = _class("SquaredHinge", functions.squared_hinge, "squared_hinge")
CategoricalHinge = _class("CategoricalHinge", functions.categorical_hinge, "categorical_hinge")
Poisson = _class("Poisson", functions.poisson, "poisson")
LogCosh = _class("LogCosh", functions.logcosh, "logcosh")
KLDivergence = _class("KLDivergence", functions.kullback_leibler_divergence, "kullback_leibler_divergence")
Huber = _class("Huber", functions.huber_loss, "huber_loss", delta=1.0)
CosineSimilarity = _class("CosineSimilarity", functions.cosine_proximity, "cosine_similarity", axis=-1)

_FUNCTIONS: dict[str, Any] = {
    **{
        f.__name__: f
        for f in (
            *(functions.mean_squared_error, functions.mean_absolute_error, functions.huber_loss),
            *(functions.mean_absolute_percentage_error, functions.mean_squared_logarithmic_error),
            *(functions.hinge, functions.squared_hinge, functions.categorical_hinge, functions.logcosh),
            *(functions.categorical_crossentropy, functions.sparse_categorical_crossentropy),
            *(functions.binary_crossentropy, functions.kullback_leibler_divergence, functions.poisson),
            *(functions.cosine_proximity, functions.cosine_similarity),
        )
    },
    **dict.fromkeys(("mse", "MSE"), functions.mean_squared_error),
    **dict.fromkeys(("mae", "MAE"), functions.mean_absolute_error),
    **dict.fromkeys(("mape", "MAPE"), functions.mean_absolute_percentage_error),
    **dict.fromkeys(("msle", "MSLE"), functions.mean_squared_logarithmic_error),
    **dict.fromkeys(("kld", "KLD"), functions.kullback_leibler_divergence),
    "bce": functions.binary_crossentropy,
    "cosine": functions.cosine_proximity,
}
_CLASSES = {
    cls.__name__: cls
    for cls in (
        *(MeanSquaredError, MeanAbsoluteError, MeanAbsolutePercentageError, MeanSquaredLogarithmicError),
        *(BinaryCrossentropy, CategoricalCrossentropy, SparseCategoricalCrossentropy, Hinge, SquaredHinge),
        *(CategoricalHinge, Poisson, LogCosh, KLDivergence, Huber, CosineSimilarity),
    )
}


def serialize(loss: Any) -> Any:
    """The name of a loss function, or the configuration of a loss."""
    return serialize_keras_object(loss)


def deserialize(name: Any, custom_objects: Any = None) -> Any:
    """The loss function of a name, or the loss of a configuration."""
    return deserialize_keras_object(name, {**_FUNCTIONS, **_CLASSES}, custom_objects, "loss function")


def get(identifier: Any) -> Any:
    """The loss of a name or configuration; a function or loss is itself, None is None."""
    if identifier is None or (callable(identifier) and not isinstance(identifier, str)):
        return identifier
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    raise ValueError(f"Could not interpret loss function identifier: {identifier}")


def as_loss(identifier: Any) -> Any:
    """A loss object; functions are wrapped. None stays None."""
    found = get(identifier)
    if found is None or isinstance(found, Loss):
        return found
    return LossFunctionWrapper(found, name=getattr(found, "__name__", None))


def is_sparse(loss: Any) -> bool:
    """Whether the targets of a loss are numbers of classes."""
    fn = getattr(loss, "fn", loss)
    return fn is functions.sparse_categorical_crossentropy


def target_dtype(loss: Any, output: Any) -> Any:
    """The dtype of the targets' placeholder."""
    return dtypes.as_dtype(K.floatx()) if is_sparse(loss) else output.dtype.base
