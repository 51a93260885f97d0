"""How names become optimizers, and optimizers of tf.train become Keras's."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.keras import ops
from tensorfleet.keras.backend.state import track_variable
from tensorfleet.keras.optimizer_kinds.adaptive import Adam, Adamax, Nadam
from tensorfleet.keras.optimizer_kinds.base import Optimizer
from tensorfleet.keras.optimizer_kinds.plain import SGD, Adadelta, Adagrad, Ftrl, RMSprop
from tensorfleet.keras.serialization import deserialize_keras_object, serialize_keras_object
from tensorfleet.ops.state.variables import Variable
from tensorfleet.train.object_graph import Tracked
from tensorfleet.train.optimizer import Optimizer as TrainOptimizer


class TFOptimizer(Tracked):
    """An optimizer of tf.train as one of Keras's.

    Args:
        optimizer: the optimizer.
        iterations: the variable that counts updates, by default one of its own.
    """

    def __init__(self, optimizer: Any, iterations: Any = None) -> None:
        self.optimizer = optimizer
        if iterations is None:
            with ops.init_scope():
                iterations = Variable(
                    0, trainable=False, name="iterations", dtype=dtypes.int64, use_resource=True
                )
            track_variable(iterations)
        self.iterations = iterations

    def get_updates(self, loss: Any, params: Any) -> list[Any]:
        """The operation that makes the loss less by one step."""
        params = list(params)
        pairs = self.optimizer.compute_gradients(loss, params)
        before = set(self.optimizer.variables())
        update = self.optimizer.apply_gradients(pairs, global_step=self.iterations)
        for variable in self.optimizer.variables():
            if variable not in before:
                track_variable(variable)
        return [update]

    @property
    def weights(self) -> list[Any]:
        """The optimizer's slots.

        Raises:
            NotImplementedError: always, as in Keras.
        """
        raise NotImplementedError("An optimizer of tf.train has no `weights`; see its `variables()`.")

    def get_config(self) -> dict[str, Any]:
        """Raises NotImplementedError: there is no configuration of an optimizer of tf.train."""
        raise NotImplementedError(
            "An optimizer of tf.train has no configuration. Use one of tf.keras.optimizers."
        )


_KNOWN: dict[str, Any] = {
    cls.__name__.lower(): cls for cls in (SGD, RMSprop, Adagrad, Adadelta, Adam, Adamax, Nadam, Ftrl)
}


def serialize(optimizer: Any) -> Any:
    """The class name and configuration of an optimizer."""
    return serialize_keras_object(optimizer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The optimizer of a configuration."""
    if config["class_name"].lower() in _KNOWN:
        config = {**config, "class_name": config["class_name"].lower()}
    return deserialize_keras_object(config, _KNOWN, custom_objects, "optimizer")


def get(identifier: Any) -> Any:
    """The optimizer of a name or configuration; one of tf.train is wrapped."""
    if isinstance(identifier, (Optimizer, TFOptimizer)):
        return identifier
    if isinstance(identifier, TrainOptimizer):
        return TFOptimizer(identifier)
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return deserialize({"class_name": identifier, "config": {}})
    if hasattr(identifier, "get_updates"):
        return identifier
    raise ValueError(f"Could not interpret optimizer identifier: {identifier}")
