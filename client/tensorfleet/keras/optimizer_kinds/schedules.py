"""`tf.keras.optimizers.schedules`: learning rates that depend on the step."""

from __future__ import annotations

from typing import Any

from tensorfleet.keras import ops
from tensorfleet.keras.serialization import deserialize_keras_object, serialize_keras_object
from tensorfleet.train import decay


class LearningRateSchedule:
    """The base class of functions from the step to a learning rate
    (`tf.keras.optimizers.schedules.LearningRateSchedule`)."""

    def __call__(self, step: Any) -> Any:
        raise NotImplementedError("Learning rate schedule must override __call__")

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        raise NotImplementedError("Learning rate schedule must override get_config")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A schedule with the arguments of `get_config`."""
        return cls(**config)


class _Decay(LearningRateSchedule):
    """A schedule by one of the functions of tf.train."""

    _settings: dict[str, Any]

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return dict(self._settings)


class ExponentialDecay(_Decay):
    """initial_learning_rate * decay_rate ** (step / decay_steps)
    (`tf.keras.optimizers.schedules.ExponentialDecay`)."""

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str | None = None,
    ) -> None:
        self._settings = {
            "initial_learning_rate": initial_learning_rate,
            "decay_steps": decay_steps,
            "decay_rate": decay_rate,
            "staircase": staircase,
            "name": name,
        }

    def __call__(self, step: Any) -> Any:
        s = self._settings
        return decay.exponential_decay(
            s["initial_learning_rate"], step, s["decay_steps"], s["decay_rate"], s["staircase"]
        )


class InverseTimeDecay(_Decay):
    """initial_learning_rate / (1 + decay_rate * step / decay_steps)
    (`tf.keras.optimizers.schedules.InverseTimeDecay`)."""

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str | None = None,
    ) -> None:
        self._settings = {
            "initial_learning_rate": initial_learning_rate,
            "decay_steps": decay_steps,
            "decay_rate": decay_rate,
            "staircase": staircase,
            "name": name,
        }

    def __call__(self, step: Any) -> Any:
        s = self._settings
        return decay.inverse_time_decay(
            s["initial_learning_rate"], step, s["decay_steps"], s["decay_rate"], s["staircase"]
        )


class PolynomialDecay(_Decay):
    """From the initial to the end learning rate by a polynomial
    (`tf.keras.optimizers.schedules.PolynomialDecay`)."""

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        end_learning_rate: Any = 0.0001,
        power: Any = 1.0,
        cycle: bool = False,
        name: str | None = None,
    ) -> None:
        self._settings = {
            "initial_learning_rate": initial_learning_rate,
            "decay_steps": decay_steps,
            "end_learning_rate": end_learning_rate,
            "power": power,
            "cycle": cycle,
            "name": name,
        }

    def __call__(self, step: Any) -> Any:
        s = self._settings
        return decay.polynomial_decay(
            s["initial_learning_rate"], step, s["decay_steps"], s["end_learning_rate"], s["power"], s["cycle"]
        )


class PiecewiseConstantDecay(_Decay):
    """A constant up to each boundary (`tf.keras.optimizers.schedules.PiecewiseConstantDecay`)."""

    def __init__(self, boundaries: Any, values: Any, name: str | None = None) -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError("The length of boundaries should be 1 less than the length of values")
        self._settings = {"boundaries": list(boundaries), "values": list(values), "name": name}

    def __call__(self, step: Any) -> Any:
        boundaries = [ops.cast(b, step.dtype.base) for b in self._settings["boundaries"]]
        return decay.piecewise_constant(ops.identity(step), boundaries, self._settings["values"])


_KNOWN = {
    c.__name__: c for c in (ExponentialDecay, InverseTimeDecay, PolynomialDecay, PiecewiseConstantDecay)
}


def serialize(learning_rate_schedule: Any) -> Any:
    """The configuration of a schedule."""
    return serialize_keras_object(learning_rate_schedule)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The schedule of a configuration."""
    return deserialize_keras_object(config, _KNOWN, custom_objects, "decay")
