"""Layers that add noise in training."""

from __future__ import annotations

import math
from typing import Any

from tensorfleet.keras import backend as K, ops
from tensorfleet.keras.engine.base_layer import Layer


class _Noise(Layer):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def _noised(self, inputs: Any) -> Any:
        raise NotImplementedError

    def call(self, inputs: Any, training: Any = None) -> Any:
        if training is None:
            training = K.learning_phase()
        outputs = ops.smart_cond(training, lambda: self._noised(inputs), lambda: ops.identity(inputs))
        outputs.set_shape(inputs.shape)
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape


class GaussianNoise(_Noise):
    """The inputs plus normally distributed numbers in training (`tf.keras.layers.GaussianNoise`)."""

    def __init__(self, stddev: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stddev = stddev

    def _noised(self, inputs: Any) -> Any:
        return inputs + ops.random_normal(ops.shape(inputs), 0.0, self.stddev, dtype=inputs.dtype.base)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "stddev": self.stddev}


class GaussianDropout(_Noise):
    """The inputs times normally distributed numbers around 1 in training
    (`tf.keras.layers.GaussianDropout`)."""

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = rate

    def _noised(self, inputs: Any) -> Any:
        stddev = math.sqrt(self.rate / (1.0 - self.rate))
        return inputs * ops.random_normal(ops.shape(inputs), 1.0, stddev, dtype=inputs.dtype.base)

    def call(self, inputs: Any, training: Any = None) -> Any:
        return super().call(inputs, training) if 0 < self.rate < 1 else ops.identity(inputs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "rate": self.rate}


class AlphaDropout(_Noise):
    """Dropout that keeps mean and variance of inputs of `selu` (`tf.keras.layers.AlphaDropout`)."""

    def __init__(self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def _noised(self, inputs: Any) -> Any:
        dropped = -1.6732632423543772 * 1.0507009873554805
        scale = ((1 - self.rate) * (1 + self.rate * dropped**2)) ** -0.5
        shape = ops.shape(inputs) if self.noise_shape is None else self.noise_shape
        kept = ops.cast(ops.random_uniform(shape, seed=self.seed) >= self.rate, inputs.dtype.base)
        return scale * (inputs * kept + dropped * (1 - kept)) - scale * dropped * self.rate

    def call(self, inputs: Any, training: Any = None) -> Any:
        return super().call(inputs, training) if 0.0 < self.rate < 1.0 else ops.identity(inputs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "rate": self.rate}
