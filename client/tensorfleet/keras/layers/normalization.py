"""Batch and layer normalization."""

from __future__ import annotations

from typing import Any

from tensorfleet.keras import (
    backend as K,
    constraint_classes as constraints,
    initializer_classes as initializers,
    ops,
    regularizer_classes as regularizers,
)
from tensorfleet.keras.engine.base_layer import Layer
from tensorfleet.keras.layers.core import dims_of
from tensorfleet.layers.batch_statistics import Renormalization, check_virtual_batches, composed
from tensorfleet.layers.input_spec import InputSpec


class _Normalization(Layer):
    """What both share: `gamma` and `beta`."""

    def __init__(
        self,
        axis: Any,
        epsilon: float,
        center: bool,
        scale: bool,
        beta_initializer: Any,
        gamma_initializer: Any,
        beta_regularizer: Any,
        gamma_regularizer: Any,
        beta_constraint: Any,
        gamma_constraint: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.axis: Any = [int(a) for a in axis] if isinstance(axis, (list, tuple)) else int(axis)
        self.epsilon, self.center, self.scale = epsilon, center, scale
        self.beta_initializer = initializers.get(beta_initializer)
        self.gamma_initializer = initializers.get(gamma_initializer)
        self.beta_regularizer = regularizers.get(beta_regularizer)
        self.gamma_regularizer = regularizers.get(gamma_regularizer)
        self.beta_constraint = constraints.get(beta_constraint)
        self.gamma_constraint = constraints.get(gamma_constraint)
        self.gamma: Any = None
        self.beta: Any = None
        self.supports_masking = True

    def _axes(self, rank: int) -> list[int]:
        given = self.axis if isinstance(self.axis, list) else [self.axis]
        axes = [a + rank if a < 0 else a for a in given]
        if len(set(axes)) != len(axes) or any(not 0 <= a < rank for a in axes):
            raise ValueError(f"Invalid axis: {given}, for inputs of rank {rank}")
        return axes

    def _variable_dtype(self) -> Any:
        """float32 for inputs of half precision, which is too coarse for running averages."""
        return "float32" if self.dtype in ("float16", "bfloat16") else self.dtype or K.floatx()

    def _add_scale(self, shape: list[int | None]) -> None:
        if self.scale:
            self.gamma = self.add_weight(
                "gamma",
                shape,
                dtype=self._variable_dtype(),
                initializer=self.gamma_initializer,
                regularizer=self.gamma_regularizer,
                constraint=self.gamma_constraint,
            )
        if self.center:
            self.beta = self.add_weight(
                "beta",
                shape,
                dtype=self._variable_dtype(),
                initializer=self.beta_initializer,
                regularizer=self.beta_regularizer,
                constraint=self.beta_constraint,
            )

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "axis": self.axis,
            "epsilon": self.epsilon,
            "center": self.center,
            "scale": self.scale,
            "beta_initializer": initializers.serialize(self.beta_initializer),
            "gamma_initializer": initializers.serialize(self.gamma_initializer),
            "beta_regularizer": regularizers.serialize(self.beta_regularizer),
            "gamma_regularizer": regularizers.serialize(self.gamma_regularizer),
            "beta_constraint": constraints.serialize(self.beta_constraint),
            "gamma_constraint": constraints.serialize(self.gamma_constraint),
        }


class BatchNormalization(_Normalization):
    """Normalizes each channel to mean 0 and variance 1, then scales and shifts it
    (`tf.keras.layers.BatchNormalization`; Ioffe and Szegedy, arXiv:1502.03167).

    In training it uses the batch's mean and variance, and its updates move the running averages towards them.
    `Model.fit` runs them; a loop of one's own runs `layer.updates` or `model.updates`.

    Args:
        axis: the dimension, or the dimensions, that keep their own mean and variance.
        momentum: the fraction of the running averages that an update keeps.
        fused: whether to use the fused op; by default if possible.
        renorm, renorm_clipping, renorm_momentum, virtual_batch_size, adjustment: as of
            `tf.layers.batch_normalization`; never with the fused op.

    Raises:
        ValueError: an unknown bound in `renorm_clipping`, or virtual batches along an axis that keeps its own
            mean, or with an adjustment.
    """

    def __init__(
        self,
        axis: Any = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        renorm: bool = False,
        renorm_clipping: Any = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            *(axis, epsilon, center, scale, beta_initializer, gamma_initializer, beta_regularizer),
            *(gamma_regularizer, beta_constraint, gamma_constraint),
            name=name,
            trainable=trainable,
            **kwargs,
        )
        self.momentum, self.fused = momentum, fused
        self.renorm, self.virtual_batch_size, self.adjustment = renorm, virtual_batch_size, adjustment
        self._renormalization = Renormalization(renorm_clipping, renorm_momentum, epsilon) if renorm else None
        self.moving_mean_initializer = initializers.get(moving_mean_initializer)
        self.moving_variance_initializer = initializers.get(moving_variance_initializer)

    def build(self, input_shape: Any) -> None:
        sizes = dims_of(input_shape)
        axes = self._axes(len(sizes))
        if any(sizes[a] is None for a in axes):
            raise ValueError(
                f"There is a dimension with `None` in the shape of inputs, where `axis` is {axes}"
            )
        self._along, self._rank = axes, len(sizes)
        self.input_spec = InputSpec(ndim=len(sizes), axes={a: sizes[a] for a in axes})
        possible = len(sizes) == 4 and axes in ([1], [3])
        if self.renorm or self.virtual_batch_size is not None or self.adjustment is not None:
            self.fused = False
        if self.fused and not possible:
            raise ValueError("Fused batch normalization takes images, and axis 1 or 3 alone.")
        if self.fused is None:
            self.fused = possible and self._variable_dtype() == "float32"
        if len(axes) == 1 and self.virtual_batch_size is None:
            shape = [sizes[axes[0]]]
        else:
            shape = [s if i in axes else 1 for i, s in enumerate(sizes)]
        if self.virtual_batch_size is not None:
            check_virtual_batches(self.virtual_batch_size, axes, self.adjustment is not None)
            shape.insert(1, 1)
            self._along, self._rank = [a + 1 for a in axes], len(sizes) + 1
        self._add_scale(shape)

        def add(name: str, initializer: Any) -> Any:
            dtype = self._variable_dtype()
            return self.add_weight(name, shape, dtype=dtype, initializer=initializer, trainable=False)

        self.moving_mean = add("moving_mean", self.moving_mean_initializer)
        self.moving_variance = add("moving_variance", self.moving_variance_initializer)
        if self._renormalization is not None:
            self.moving_stddev, self.renorm_mean, self.renorm_stddev = self._renormalization.build(
                add, self.moving_mean_initializer, self.moving_variance_initializer
            )
        self.built = True

    def call(self, inputs: Any, training: Any = None) -> Any:
        if training is None:
            training = K.learning_phase()
        given = inputs
        if self.virtual_batch_size is not None:
            rest = inputs.shape.as_list()[1:]
            inputs = ops.reshape(inputs, [self.virtual_batch_size, -1, *rest])
        if self.fused:
            outputs, mean, variance = self._fused(inputs, training)
            if ops.known_predicate(training) is not False:
                self._move_both(mean, variance, training)
        else:
            outputs = self._composed(inputs, training)
        if self.virtual_batch_size is not None:
            outputs = ops.reshape(outputs, [-1, *rest])
        outputs.set_shape(given.shape)
        return outputs

    def _move_both(self, mean: Any, variance: Any, training: Any) -> None:
        self._move(self.moving_mean, mean, training)
        self._move(self.moving_variance, variance, training)

    def _move(self, average: Any, value: Any, training: Any) -> None:
        """Moves a running average; a batch that is not for training leaves it as it is."""
        part = 1.0 - self.momentum
        if ops.known_predicate(training) is None:
            part = ops.cast(training, average.dtype.base) * part
        with ops.name_scope("AssignMovingAvg"), ops.colocate_with(average.op):
            change = (average.read_value() - ops.cast(value, average.dtype.base)) * part
            self.add_update(ops.assign_sub(average, change).op, inputs=True)

    def _fused(self, inputs: Any, training: Any) -> Any:
        shape = self.moving_mean.shape.as_list()
        dtype = self._variable_dtype()
        gamma = self.gamma if self.scale else ops.ones(shape, dtype)
        beta = self.beta if self.center else ops.zeros(shape, dtype)
        order = "NCHW" if self._along == [1] else "NHWC"

        def train() -> Any:
            return ops.fused_batch_norm(inputs, gamma, beta, epsilon=self.epsilon, data_format=order)

        def infer() -> Any:
            return ops.fused_batch_norm(
                *(inputs, gamma, beta, self.moving_mean, self.moving_variance),
                epsilon=self.epsilon,
                data_format=order,
                is_training=False,
            )

        return ops.smart_cond(training, train, infer)

    def _composed(self, inputs: Any, training: Any) -> Any:
        rank = self._rank
        others = [a for a in range(rank) if a not in self._along]
        if self.virtual_batch_size is not None:
            del others[1]  # which virtual batch it is
        shape = self.moving_mean.shape.as_list()
        is_full = len(shape) == rank and rank > 1
        dtype = self._variable_dtype()

        def of_batch() -> Any:
            return ops.moments(ops.cast(inputs, dtype), others, keep_dims=is_full)

        def averages() -> Any:
            return ops.identity(self.moving_mean), ops.identity(self.moving_variance)

        mean, variance = ops.smart_cond(training, of_batch, averages)
        if self.virtual_batch_size is None:
            mean.set_shape(shape)
            variance.set_shape(shape)

        def wide(x: Any) -> Any:
            if x is None or is_full or self._along == [rank - 1]:
                return x
            return ops.reshape(x, [shape[0] if a in self._along else 1 for a in range(rank)])

        gamma, beta = wide(self.gamma), wide(self.beta)
        if ops.known_predicate(training) is not False:
            if self.adjustment is not None:
                gamma, beta = composed(*self._adjusted(inputs, training), gamma, beta)
            new_mean, new_variance = mean, variance
            if self.virtual_batch_size is not None:
                new_mean, new_variance = (
                    ops.reduce_mean(part, 1, keepdims=True) for part in (mean, variance)
                )
            if self._renormalization is not None:
                r, d = self._renormalization.corrections(new_mean, new_variance, training)
                gamma, beta = composed(wide(r), wide(d), gamma, beta)
                both = self.moving_mean, self.moving_variance
                for update in self._renormalization.updates(
                    new_mean, new_variance, *both, self.momentum, training
                ):
                    self.add_update(update.op, inputs=True)
            else:
                self._move_both(new_mean, new_variance, training)
        outputs = ops.batch_normalization(
            ops.cast(inputs, dtype), wide(mean), wide(variance), beta, gamma, self.epsilon
        )
        return ops.cast(outputs, inputs.dtype.base)

    def _adjusted(self, inputs: Any, training: Any) -> tuple[Any, Any]:
        scale, offset = self.adjustment(ops.shape(inputs))
        return (
            ops.smart_cond(training, lambda: scale, lambda: ops.ones_like(scale)),
            ops.smart_cond(training, lambda: offset, lambda: ops.zeros_like(offset)),
        )

    def get_config(self) -> dict[str, Any]:
        # Only where they are set, so that other versions of Keras load the layer.
        further: dict[str, Any] = {}
        if self._renormalization is not None:
            further["renorm"] = True
            further["renorm_clipping"] = self._renormalization.clipping
            further["renorm_momentum"] = self._renormalization.momentum
        if self.virtual_batch_size is not None:
            further["virtual_batch_size"] = self.virtual_batch_size
        return {
            **super().get_config(),
            **further,
            "momentum": self.momentum,
            "moving_mean_initializer": initializers.serialize(self.moving_mean_initializer),
            "moving_variance_initializer": initializers.serialize(self.moving_variance_initializer),
        }


class LayerNormalization(_Normalization):
    """Normalizes each example along `axis` to mean 0 and variance 1, then scales and shifts it
    (`tf.keras.layers.LayerNormalization`; Ba et al., arXiv:1607.06450)."""

    def __init__(
        self,
        axis: Any = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            *(axis, epsilon, center, scale, beta_initializer, gamma_initializer, beta_regularizer),
            *(gamma_regularizer, beta_constraint, gamma_constraint),
            name=name,
            trainable=trainable,
            **kwargs,
        )

    def build(self, input_shape: Any) -> None:
        sizes = dims_of(input_shape)
        self._along = self._axes(len(sizes))
        self._add_scale([sizes[a] for a in self._along])
        self.built = True

    def call(self, inputs: Any) -> Any:
        sizes = inputs.shape.as_list()
        mean, variance = ops.moments(inputs, self._along, keep_dims=True)

        def wide(x: Any) -> Any:
            if x is None or self._along == [len(sizes) - 1]:
                return x
            return ops.reshape(x, [s if a in self._along else 1 for a, s in enumerate(sizes)])

        outputs = ops.batch_normalization(
            inputs, mean, variance, wide(self.beta), wide(self.gamma), self.epsilon
        )
        outputs.set_shape(inputs.shape)
        return outputs
