"""What all distributions have in common (`tf.distributions.Distribution`)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.distributions.kullback_leibler import cross_entropy, kl_divergence
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.math.comparison import less
from tensorfleet.ops.math.elementwise import exp, log, log1p, sqrt, square
from tensorfleet.ops.math.reduction import reduce_prod


class ReparameterizationType:
    """Whether samples are differentiable functions of the parameters.

    Instances are equal only to themselves.
    """

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
"""Gradients of samples flow to the parameters."""
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")
"""They do not, or not to all parameters."""


class Distribution:
    """A batch of independent random variables of one family, each with its own parameters.

    A sample has the shape `sample_shape + batch_shape + event_shape`: as many draws as are asked for, one for
    each set of parameters, and the shape of one draw. A family implements the methods whose names begin with
    an underscore.

    Args:
        dtype: of samples.
        reparameterization_type: FULLY_REPARAMETERIZED or NOT_REPARAMETERIZED.
        validate_args: check values when the graph runs, at some cost.
        allow_nan_stats: give NaN for a statistic that is not defined, rather than an error in the run.
        parameters: the arguments of the family's own constructor, for `copy`.
        graph_parents: the tensors that the distribution depends on.
        name: prefix of the names of its ops.
    """

    def __init__(
        self,
        dtype: Any,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any] | None = None,
        graph_parents: Sequence[Tensor] | None = None,
        name: str | None = None,
    ) -> None:
        parents = list(graph_parents or [])
        for number, parent in enumerate(parents):
            if not isinstance(parent, Tensor):
                raise ValueError(f"Graph parent item {number} is not a Tensor; {parent}.")
        if not name or not name.endswith("/"):
            with get_default_graph().name_scope(name or type(self).__name__) as scope:
                name = scope
        self._name = name
        self._dtype = dtype
        self._reparameterization_type = reparameterization_type
        self._validate_args = validate_args
        self._allow_nan_stats = allow_nan_stats
        self._parameters = dict(parameters or {})
        self._graph_parents = parents

    @classmethod
    def param_shapes(cls, sample_shape: Any, name: str = "DistributionParamShapes") -> dict[str, Tensor]:
        """Shapes of the parameters with which a draw has the given shape, as int32 vectors by name."""
        with get_default_graph().name_scope(name):
            return cls._param_shapes(convert_to_tensor(sample_shape, dtype=dtypes.int32))

    @classmethod
    def param_static_shapes(cls, sample_shape: Any) -> dict[str, TensorShape]:
        """Shapes of the parameters with which a draw has the given shape, as TensorShapes by name.

        Raises:
            ValueError: the sample's shape is not fully known.
        """
        if not isinstance(sample_shape, TensorShape):
            value = static_value(sample_shape) if isinstance(sample_shape, Tensor) else sample_shape
            if value is None:
                raise ValueError("sample_shape must be a fully-defined TensorShape or constant Tensor")
            sample_shape = TensorShape([int(size) for size in value])
        if not sample_shape.is_fully_defined():
            raise ValueError("TensorShape sample_shape must be fully defined")
        shapes = cls.param_shapes(sample_shape.as_list())
        return {key: TensorShape(static_value(value)) for key, value in shapes.items()}

    @classmethod
    def _param_shapes(cls, sample_shape: Tensor) -> dict[str, Tensor]:
        raise NotImplementedError(f"_param_shapes not implemented: {cls.__name__}")

    @property
    def name(self) -> str:
        """Prefix of the names of its ops."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The dtype of samples."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that this distribution was made with."""
        return {key: value for key, value in self._parameters.items() if not key.startswith("__")}

    @property
    def reparameterization_type(self) -> ReparameterizationType:
        """FULLY_REPARAMETERIZED or NOT_REPARAMETERIZED."""
        return self._reparameterization_type

    @property
    def allow_nan_stats(self) -> bool:
        """Whether a statistic that is not defined is NaN, rather than an error in the run."""
        return self._allow_nan_stats

    @property
    def validate_args(self) -> bool:
        """Whether values are checked when the graph runs."""
        return self._validate_args

    def copy(self, **override_parameters_kwargs: Any) -> Any:
        """The same distribution, but for the given arguments of the constructor."""
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    # ---- shapes

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """The shape of the batch of parameters, an int32 vector."""
        with self._name_scope(name):
            if self.batch_shape.is_fully_defined():
                return constant(self.batch_shape.as_list(), dtypes.int32, name="batch_shape")
            return self._batch_shape_tensor()

    def _batch_shape_tensor(self) -> Tensor:
        raise self._lacks("batch_shape_tensor")

    @property
    def batch_shape(self) -> TensorShape:
        """The shape of the batch of parameters, as far as it is known."""
        return TensorShape(self._batch_shape())

    def _batch_shape(self) -> Any:
        return None

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """The shape of one draw, an int32 vector."""
        with self._name_scope(name):
            if self.event_shape.is_fully_defined():
                return constant(self.event_shape.as_list(), dtypes.int32, name="event_shape")
            return self._event_shape_tensor()

    def _event_shape_tensor(self) -> Tensor:
        raise self._lacks("event_shape_tensor")

    @property
    def event_shape(self) -> TensorShape:
        """The shape of one draw, as far as it is known."""
        return TensorShape(self._event_shape())

    def _event_shape(self) -> Any:
        return None

    def is_scalar_event(self, name: str = "is_scalar_event") -> Tensor:
        """Whether a draw is a number: a bool of rank 0."""
        with self._name_scope(name):
            return self._is_scalar(self.event_shape, self.event_shape_tensor)

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Tensor:
        """Whether there is one set of parameters: a bool of rank 0."""
        with self._name_scope(name):
            return self._is_scalar(self.batch_shape, self.batch_shape_tensor)

    @staticmethod
    def _is_scalar(static: TensorShape, dynamic: Callable[[], Tensor]) -> Tensor:
        if static.ndims is not None:
            return convert_to_tensor(static.ndims == 0, name="is_scalar")
        return less(shape(dynamic())[0], 1)

    # ---- draws

    def sample(self, sample_shape: Any = (), seed: int | None = None, name: str = "sample") -> Tensor:
        """Draws samples.

        Args:
            sample_shape: as many as it has elements, for each set of parameters.
            seed: of these draws.

        Returns:
            Values of the shape `sample_shape + batch_shape + event_shape`.
        """
        with self._name_scope(name):
            wanted = convert_to_tensor(sample_shape, dtype=dtypes.int32, name="sample_shape")
            static = static_value(wanted)
            wanted = reshape(wanted, [-1]) if wanted.shape.ndims == 0 else wanted
            samples = self._sample_n(reduce_prod(wanted, name="prod"), seed)
            samples = self._of_draws(reshape(samples, concat([wanted, shape(samples)[1:]], 0)))
            dims = None if static is None else TensorShape(static.reshape(-1).tolist())
            if dims is not None:
                samples.set_shape(dims.concatenate(self.batch_shape).concatenate(self.event_shape))
            return samples

    def _sample_n(self, n: Tensor, seed: int | None) -> Tensor:
        raise self._lacks("sample")

    def _of_draws(self, samples: Tensor) -> Tensor:
        """What samples are a function of what `_sample_n` draws, in the shape of all samples."""
        return samples

    # ---- densities

    def log_prob(self, value: Any, name: str = "log_prob") -> Tensor:
        """The logarithm of the density, or of the probability, at a value."""
        return self._of_value(name, value, ("_log_prob", None), ("_prob", log))

    def prob(self, value: Any, name: str = "prob") -> Tensor:
        """The density, or the probability, at a value."""
        return self._of_value(name, value, ("_prob", None), ("_log_prob", exp))

    def log_cdf(self, value: Any, name: str = "log_cdf") -> Tensor:
        """The logarithm of the probability of at most a value."""
        return self._of_value(name, value, ("_log_cdf", None), ("_cdf", log))

    def cdf(self, value: Any, name: str = "cdf") -> Tensor:
        """The probability of at most a value."""
        return self._of_value(name, value, ("_cdf", None), ("_log_cdf", exp))

    def log_survival_function(self, value: Any, name: str = "log_survival_function") -> Tensor:
        """The logarithm of the probability of more than a value."""
        return self._of_value(
            *(name, value, ("_log_survival_function", None), ("_survival_function", log)),
            ("_cdf", lambda p: log1p(-p)),
        )

    def survival_function(self, value: Any, name: str = "survival_function") -> Tensor:
        """The probability of more than a value."""
        return self._of_value(
            *(name, value, ("_survival_function", None), ("_log_survival_function", exp)),
            *(("_cdf", lambda p: 1 - p), ("_log_cdf", lambda p: 1 - exp(p))),
        )

    def quantile(self, value: Any, name: str = "quantile") -> Tensor:
        """The value that a draw is at most with the given probability."""
        return self._of_value(name, value, ("_quantile", None))

    def _of_value(
        self, name: str, value: Any, *ways: tuple[str, Callable[[Tensor], Tensor] | None]
    ) -> Tensor:
        """What the first method that the family has gives for a value, and what becomes of that."""
        with self._name_scope(name):
            value = convert_to_tensor(value, name="value", preferred_dtype=self.dtype)
            for method, then in ways:
                if hasattr(self, method):
                    result: Tensor = getattr(self, method)(value)
                    return result if then is None else then(result)
        raise self._lacks(name)

    # ---- statistics

    def entropy(self, name: str = "entropy") -> Tensor:
        """Shannon's entropy, in nats."""
        return self._statistic(name, ("_entropy", None))

    def mean(self, name: str = "mean") -> Tensor:
        """The mean."""
        return self._statistic(name, ("_mean", None))

    def mode(self, name: str = "mode") -> Tensor:
        """The most probable value."""
        return self._statistic(name, ("_mode", None))

    def variance(self, name: str = "variance") -> Tensor:
        """The variance, for each element of a draw."""
        return self._statistic(name, ("_variance", None), ("_stddev", square))

    def stddev(self, name: str = "stddev") -> Tensor:
        """The standard deviation, for each element of a draw."""
        return self._statistic(name, ("_stddev", None), ("_variance", sqrt))

    def covariance(self, name: str = "covariance") -> Tensor:
        """The covariances of the elements of a draw."""
        return self._statistic(name, ("_covariance", None))

    def _statistic(self, name: str, *ways: tuple[str, Callable[[Tensor], Tensor] | None]) -> Tensor:
        with self._name_scope(name):
            for method, then in ways:
                if hasattr(self, method):
                    result: Tensor = getattr(self, method)()
                    return result if then is None else then(result)
        raise self._lacks(name)

    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> Tensor:
        """The cross entropy of this distribution and another of the same kind, in nats."""
        with self._name_scope(name):
            return cross_entropy(self, other, self.allow_nan_stats)

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Tensor:
        """The Kullback-Leibler divergence of this distribution from another, in nats."""
        with self._name_scope(name):
            return kl_divergence(self, other, self.allow_nan_stats)

    # ---- for the families

    @contextlib.contextmanager
    def _name_scope(self, name: str | None = None, values: Any = None) -> Iterator[str]:
        graph = get_default_graph()
        with graph.name_scope(self._name) as own:
            if name is None:
                yield own
                return
            with graph.name_scope(name) as scope:
                yield scope

    def _lacks(self, method: str) -> NotImplementedError:
        return NotImplementedError(f"{method} is not implemented: {type(self).__name__}")

    def __str__(self) -> str:
        parts = [f'tfp.distributions.{type(self).__name__}("{self.name}"']
        if self.batch_shape.ndims is not None:
            parts.append(f"batch_shape={self.batch_shape}")
        if self.event_shape.ndims is not None:
            parts.append(f"event_shape={self.event_shape}")
        return ", ".join([*parts, f"dtype={self.dtype.name})"])

    def __repr__(self) -> str:
        return (
            f"<tfp.distributions.{type(self).__name__} '{self.name}' batch_shape={self.batch_shape} "
            f"event_shape={self.event_shape} dtype={self.dtype.name}>"
        )
