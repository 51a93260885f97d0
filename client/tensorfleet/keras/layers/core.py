"""Dense layers, activations, dropout, and layers that change shapes."""

from __future__ import annotations

import inspect
import math
from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.keras import (
    activation_functions as activations,
    backend as K,
    ops,
    regularizer_classes as regularizers,
)
from tensorfleet.keras.engine.base_layer import Layer
from tensorfleet.keras.layers.kernel_and_bias import KernelAndBias
from tensorfleet.keras.serialization import deserialize_keras_object
from tensorfleet.layers.input_spec import InputSpec


def dims_of(shape: Any) -> list[int | None]:
    """A shape as a list with None for unknown sizes."""
    dims: list[int | None] = TensorShape(shape).as_list()
    return dims


class Dense(KernelAndBias):
    """`activation(inputs @ kernel + bias)` (`tf.keras.layers.Dense`).

    Args:
        units: the size of the last dimension of the outputs.

    Example:
        >>> tf.keras.layers.Dense(4)(tf.zeros([2, 3])).shape.as_list()
        [2, 4]
    """

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        if "input_shape" not in kwargs and "input_dim" in kwargs:
            kwargs["input_shape"] = (kwargs.pop("input_dim"),)
        super().__init__(
            activation,
            use_bias,
            kernel_initializer,
            bias_initializer,
            kernel_regularizer,
            bias_regularizer,
            activity_regularizer,
            kernel_constraint,
            bias_constraint,
            **kwargs,
        )
        self.units = int(units)
        self.supports_masking = True
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape: Any) -> None:
        size = dims_of(input_shape)[-1]
        if size is None:
            raise ValueError("The last dimension of the inputs to `Dense` should be defined. Found `None`.")
        self.input_spec = InputSpec(min_ndim=2, axes={-1: size})
        self._add_kernel([size, self.units])
        self._add_bias([self.units])
        self.built = True

    def call(self, inputs: Any) -> Any:
        rank = len(inputs.shape.as_list())
        if not inputs.dtype.is_floating:
            inputs = ops.cast(inputs, self.dtype)
        if rank == 2:
            outputs = ops.matmul(inputs, self.kernel)
        else:
            outputs = ops.tensordot(inputs, self.kernel, [[rank - 1], [0]])
            outputs.set_shape([*inputs.shape.as_list()[:-1], self.units])
        if self.use_bias:
            outputs = ops.bias_add(outputs, self.bias)
        return self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return TensorShape([*dims_of(input_shape)[:-1], self.units])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units}


class Activation(Layer):
    """A function of the inputs (`tf.keras.layers.Activation`)."""

    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.activation = activations.get(activation)

    def call(self, inputs: Any) -> Any:
        return self.activation(inputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "activation": activations.serialize(self.activation)}


class Dropout(Layer):
    """Random elements set to zero in training (`tf.keras.layers.Dropout`).

    Args:
        rate: the probability that an element is set to zero.
        noise_shape: the shape of the random choices, broadcast to the inputs' shape.
    """

    def __init__(self, rate: Any, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed
        self.supports_masking = True

    def _noise_shape(self, inputs: Any) -> Any:
        if self.noise_shape is None:
            return None
        shape = ops.shape(inputs)
        return [shape[i] if size is None else size for i, size in enumerate(self.noise_shape)]

    def call(self, inputs: Any, training: Any = None) -> Any:
        if isinstance(self.rate, (int, float)) and self.rate == 0:
            return ops.identity(inputs)
        outputs = ops.smart_cond(
            K.learning_phase() if training is None else training,
            lambda: ops.dropout(
                inputs, noise_shape=self._noise_shape(inputs), seed=self.seed, rate=self.rate
            ),
            lambda: ops.identity(inputs),
        )
        outputs.set_shape(inputs.shape)
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "rate": self.rate, "noise_shape": self.noise_shape, "seed": self.seed}


class _SpatialDropout(Dropout):
    _rank = 1

    def __init__(self, rate: Any, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)
        self.data_format = data_format or K.image_data_format()
        self.input_spec = InputSpec(ndim=self._rank + 2)

    def _noise_shape(self, inputs: Any) -> Any:
        shape = ops.shape(inputs)
        inner = [1] * self._rank
        if self.data_format == "channels_first" and self._rank > 1:
            return [shape[0], shape[1], *inner]
        return [shape[0], *inner, shape[self._rank + 1]]

    def get_config(self) -> dict[str, Any]:
        config = Layer.get_config(self)
        return {**config, "rate": self.rate, **({"data_format": self.data_format} if self._rank > 1 else {})}


class SpatialDropout1D(_SpatialDropout):
    """Whole channels of sequences set to zero in training (`tf.keras.layers.SpatialDropout1D`)."""


class SpatialDropout2D(_SpatialDropout):
    """Whole channels of images set to zero in training (`tf.keras.layers.SpatialDropout2D`)."""

    _rank = 2


class SpatialDropout3D(_SpatialDropout):
    """Whole channels of volumes set to zero in training (`tf.keras.layers.SpatialDropout3D`)."""

    _rank = 3


class Flatten(Layer):
    """The inputs as a matrix, with all dimensions but the first joined (`tf.keras.layers.Flatten`)."""

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = data_format or K.image_data_format()
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Any:
        rank = len(inputs.shape.as_list())
        if self.data_format == "channels_first" and rank > 2:
            inputs = ops.transpose(inputs, [0, *range(2, rank), 1])
        if rank == 1:
            return ops.expand_dims(inputs, -1)
        batch, size = self.compute_output_shape(inputs.shape).as_list()
        if size is not None:
            return ops.reshape(inputs, [-1, size])
        outputs = ops.reshape(inputs, ops.stack([ops.shape(inputs)[0], -1]))
        outputs.set_shape([batch, size])
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        batch, *rest = dims_of(input_shape)
        return TensorShape([batch, None if None in rest else math.prod(s for s in rest if s is not None)])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "data_format": self.data_format}


class Reshape(Layer):
    """The inputs in another shape (`tf.keras.layers.Reshape`).

    Args:
        target_shape: the shape without the batch; -1 for one size that follows from the others.
    """

    def __init__(self, target_shape: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def call(self, inputs: Any) -> Any:
        outputs = ops.reshape(inputs, ops.stack([ops.shape(inputs)[0], *self.target_shape]))
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        batch, *rest = dims_of(input_shape)
        target: list[int | None] = list(self.target_shape)
        if -1 in target:
            known = math.prod(s for s in target if s is not None and s != -1)
            total = None if None in rest else math.prod(s for s in rest if s is not None)
            if total is not None and (known == 0 or total % known):
                raise ValueError("total size of new array must be unchanged")
            target[target.index(-1)] = None if total is None else total // known
        return TensorShape([batch, *target])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "target_shape": self.target_shape}


class Permute(Layer):
    """The dimensions in another order (`tf.keras.layers.Permute`).

    Args:
        dims: the dimensions, counted from 1, without the batch.
    """

    def __init__(self, dims: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise ValueError(f"Invalid permutation `dims` for Permute Layer: {dims}.")
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def call(self, inputs: Any) -> Any:
        return ops.transpose(inputs, [0, *self.dims])

    def compute_output_shape(self, input_shape: Any) -> Any:
        sizes = dims_of(input_shape)
        return TensorShape([sizes[0], *(sizes[d] for d in self.dims)])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "dims": self.dims}


class RepeatVector(Layer):
    """A matrix repeated n times: from (batch, size) to (batch, n, size) (`tf.keras.layers.RepeatVector`)."""

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n = n
        self.input_spec = InputSpec(ndim=2)

    def call(self, inputs: Any) -> Any:
        return K.repeat(inputs, self.n)

    def compute_output_shape(self, input_shape: Any) -> Any:
        batch, size = dims_of(input_shape)
        return TensorShape([batch, self.n, size])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "n": self.n}


class ActivityRegularization(Layer):
    """The inputs, with a loss by their size (`tf.keras.layers.ActivityRegularization`)."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0, **kwargs: Any) -> None:
        super().__init__(activity_regularizer=regularizers.L1L2(l1=l1, l2=l2), **kwargs)
        self.supports_masking = True
        self.l1, self.l2 = l1, l2

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "l1": self.l1, "l2": self.l2}


class Masking(Layer):
    """Time steps whose elements all equal `mask_value` do not count for the layers behind
    (`tf.keras.layers.Masking`)."""

    def __init__(self, mask_value: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking, self.mask_value = True, mask_value

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return ops.reduce_any(ops.not_equal(inputs, self.mask_value), -1)

    def call(self, inputs: Any) -> Any:
        counts = ops.reduce_any(ops.not_equal(inputs, self.mask_value), -1, True)
        outputs = inputs * ops.cast(counts, inputs.dtype.base)
        outputs._keras_mask = ops.squeeze(counts, [-1])
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "mask_value": self.mask_value}


class Lambda(Layer):
    """A function as a layer (`tf.keras.layers.Lambda`).

    Args:
        function: from the inputs, and perhaps `mask` and `training`, to outputs.
        output_shape: ignored: graphs know the shapes.
        mask: the mask of the outputs, or a function from inputs and mask to it.
        arguments: other arguments of the function, by name.
    """

    def __init__(
        self, function: Any, output_shape: Any = None, mask: Any = None, arguments: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.function, self.arguments = function, dict(arguments or {})
        self._output_shape, self.mask = output_shape, mask
        if mask is not None:
            self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
        try:
            names = inspect.signature(self.function).parameters
        except (TypeError, ValueError):  # of functions written in C
            names = {}  # type: ignore[assignment]
        arguments = dict(self.arguments)
        if "mask" in names:
            arguments.setdefault("mask", mask)
        if "training" in names:
            arguments.setdefault("training", training)
        return self.function(inputs, **arguments)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    def get_config(self) -> dict[str, Any]:
        """The function itself, for layers made anew in this process; as JSON it is its name."""
        return {**super().get_config(), "function": self.function, "arguments": self.arguments}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The layer of `get_config`; the function is found among the custom objects."""
        config = dict(config)
        if isinstance(config["function"], str):
            config["function"] = deserialize_keras_object(
                config["function"], {}, custom_objects, "function of a Lambda layer"
            )
        return cls(**config)
