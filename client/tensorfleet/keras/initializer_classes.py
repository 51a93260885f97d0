"""The initializers of `tf.keras.initializers`, by the names that configurations give them."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.keras.serialization import deserialize_keras_object, serialize_keras_object
from tensorfleet.ops.state import initializers as base
from tensorfleet.ops.state.initializers import Initializer


class RandomNormal(base.random_normal_initializer):
    """Normally distributed, by default with a standard deviation of 0.05
    (`tf.keras.initializers.RandomNormal`)."""

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__(mean, stddev, seed, dtype)


class RandomUniform(base.random_uniform_initializer):
    """Uniform, by default within 0.05 around 0 (`tf.keras.initializers.RandomUniform`)."""

    def __init__(
        self, minval: Any = -0.05, maxval: Any = 0.05, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__(minval, maxval, seed, dtype)


class TruncatedNormal(base.truncated_normal_initializer):
    """Normally distributed within two standard deviations, by default of 0.05
    (`tf.keras.initializers.TruncatedNormal`)."""

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__(mean, stddev, seed, dtype)


class _Scaled(base.variance_scaling_initializer):
    _mode = "fan_avg"
    _scale = 1.0
    _distribution = "uniform"

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(
            scale=self._scale, mode=self._mode, distribution=self._distribution, seed=seed, dtype=dtype
        )

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed, "dtype": self.dtype.name}


class he_normal(_Scaled):
    """Truncated normal with variance 2 / inputs (`tf.keras.initializers.he_normal`)."""

    _mode, _scale, _distribution = "fan_in", 2.0, "truncated_normal"


class he_uniform(_Scaled):
    """Uniform with variance 2 / inputs (`tf.keras.initializers.he_uniform`)."""

    _mode, _scale = "fan_in", 2.0


class lecun_normal(_Scaled):
    """Truncated normal with variance 1 / inputs (`tf.keras.initializers.lecun_normal`)."""

    _mode, _distribution = "fan_in", "truncated_normal"


class lecun_uniform(_Scaled):
    """Uniform with variance 1 / inputs (`tf.keras.initializers.lecun_uniform`)."""

    _mode = "fan_in"


class Ones(base.ones_initializer):
    """Ones (`tf.keras.initializers.Ones`)."""


class Zeros(base.zeros_initializer):
    """Zeros (`tf.keras.initializers.Zeros`)."""


class Constant(base.constant_initializer):
    """A constant (`tf.keras.initializers.Constant`)."""


Identity = base.identity_initializer
Orthogonal = base.orthogonal_initializer
VarianceScaling = base.variance_scaling_initializer
glorot_normal = base.glorot_normal_initializer
glorot_uniform = base.glorot_uniform_initializer

_KNOWN: dict[str, Any] = {
    "Constant": Constant,
    "GlorotNormal": glorot_normal,
    "GlorotUniform": glorot_uniform,
    "HeNormal": he_normal,
    "HeUniform": he_uniform,
    "Identity": Identity,
    "LecunNormal": lecun_normal,
    "LecunUniform": lecun_uniform,
    "Ones": Ones,
    "Orthogonal": Orthogonal,
    "RandomNormal": RandomNormal,
    "RandomUniform": RandomUniform,
    "TruncatedNormal": TruncatedNormal,
    "VarianceScaling": VarianceScaling,
    "Zeros": Zeros,
    "constant": Constant,
    "glorot_normal": glorot_normal,
    "glorot_uniform": glorot_uniform,
    "he_normal": he_normal,
    "he_uniform": he_uniform,
    "identity": Identity,
    "lecun_normal": lecun_normal,
    "lecun_uniform": lecun_uniform,
    "normal": RandomNormal,
    "one": Ones,
    "ones": Ones,
    "orthogonal": Orthogonal,
    "random_normal": RandomNormal,
    "random_uniform": RandomUniform,
    "truncated_normal": TruncatedNormal,
    "uniform": RandomUniform,
    "zero": Zeros,
    "zeros": Zeros,
    **{
        cls.__name__: cls
        for cls in (
            *(base.random_normal_initializer, base.random_uniform_initializer, base.zeros_initializer),
            *(base.truncated_normal_initializer, base.ones_initializer, base.constant_initializer),
            *(Identity, Orthogonal, VarianceScaling, glorot_normal, glorot_uniform),
        )
    },
}


def serialize(initializer: Any) -> Any:
    """The class name and configuration of an initializer."""
    return serialize_keras_object(initializer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The initializer of a configuration or name."""
    return deserialize_keras_object(config, _KNOWN, custom_objects, "initializer")


def get(identifier: Any) -> Any:
    """The initializer of a name or configuration; a function is itself, None is None."""
    if identifier is None:
        return None
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    if isinstance(identifier, type) and issubclass(identifier, Initializer):
        return identifier()
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret initializer identifier: {identifier!r}")
