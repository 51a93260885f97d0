"""`tf.keras.metrics.Metric`: values over many batches, kept in variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.keras import backend as K, ops
from tensorfleet.keras.engine.base_layer import Layer
from tensorfleet.keras.engine.ordered import in_order
from tensorfleet.ops.state.variable_options import VariableAggregation, VariableSynchronization


class Metric(Layer):
    """The base class of metrics (`tf.keras.metrics.Metric`): a subclass makes its variables by `add_weight`,
    changes them in `update_state`, and computes `result` from them.

    Calling a metric gives the result after an update.
    """

    _is_metric = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # As in TensorFlow, a class of one's own need not return what `update_state` does.
        super().__init_subclass__(**kwargs)
        if "update_state" in cls.__dict__ and not cls.__module__.startswith("tensorfleet.keras."):
            cls.update_state = in_order(cls.update_state)  # type: ignore[method-assign]

    def __init__(self, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=dtype or K.floatx(), **kwargs)
        self.stateful, self.built = True, True

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """The operation that takes in a batch."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def result(self) -> Any:
        """The value for all batches so far, a tensor."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def reset_states(self) -> None:
        """Sets the variables to zeros."""
        K.batch_set_value([(v, np.zeros(v.shape.as_list())) for v in self.variables])

    def add_weight(
        self,
        name: str | None = None,
        shape: Any = (),
        dtype: Any = None,
        initializer: Any = "zeros",
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        partitioner: Any = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.ON_READ,
        aggregation: VariableAggregation = VariableAggregation.SUM,
        **kwargs: Any,
    ) -> Any:
        """A new variable of the metric, which is in no collection of the graph. As in TensorFlow 1 its name
        does not say whose it is."""
        with ops.init_scope():
            return super().add_weight(
                name,
                shape,
                dtype=dtype or self.dtype,
                initializer=initializer,
                trainable=False,
                aggregation=aggregation,
                collections=[],
            )

    def updated(self, *args: Any, **kwargs: Any) -> tuple[Operation, Any]:
        """The operation that takes in a batch, and the result after it."""
        with ops.name_scope(self.name):
            update = self.update_state(*args, **kwargs)
            update = update if isinstance(update, Operation) else update.op
            with ops.control_dependencies([update]):
                return update, ops.identity(self.result())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        update, result = self.updated(*args, **kwargs)
        self._updates.append(update)
        return result

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"name": self.name, "dtype": self.dtype}


def as_float(values: Any, dtype: str) -> Any:
    """Values as a tensor of the metric's dtype."""
    return ops.cast(values, dtypes.as_dtype(dtype))


def with_weights(values: Any, weights: Any) -> tuple[Any, Any]:
    """Values and their weights in one shape: weights may lack the last dimensions, for which values have
    means."""
    weights = ops.cast(weights, values.dtype.base)
    rank, given = values.shape.ndims, weights.shape.ndims
    if rank is not None and given is not None and given != 0:
        if given - rank == 1:
            weights, given = ops.squeeze(weights, [-1]), given - 1
        elif rank - given == 1 and values.shape.as_list()[-1] == 1:
            weights, given = ops.expand_dims(weights, -1), given + 1
        if rank > given:
            values = ops.reduce_mean(values, list(range(given, rank)))
    return values, weights * ops.ones_like(values)


def add_to(variable: Any, value: Tensor) -> Operation:
    """The operation that adds to a metric's variable."""
    operation: Operation = ops.assign_add(variable, ops.cast(value, variable.dtype.base)).op
    return operation
