"""Batch normalization: `tf.layers.BatchNormalization`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.layers.base import Layer, run_layer
from tensorfleet.layers.batch_statistics import Renormalization, check_virtual_batches, composed, moved
from tensorfleet.layers.input_spec import InputSpec
from tensorfleet.layers.parts import ONES, ZEROS, initializer_of
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones, ones_like, zeros, zeros_like
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.array.shaping import reshape, shape as shape_of
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.control_flow.smart_cond import known_predicate, smart_cond
from tensorfleet.ops.math.reduction import reduce_mean
from tensorfleet.ops.nn.norm import batch_normalization as nn_batch_normalization, fused_batch_norm, moments
from tensorfleet.ops.state.variable_options import VariableAggregation, VariableSynchronization


class BatchNormalization(Layer):
    """Normalizes each channel to mean 0 and variance 1, then scales and shifts it
    (`tf.layers.BatchNormalization`; Ioffe and Szegedy, arXiv:1502.03167).

    In training it uses the batch's mean and variance, and the operations in the collection UPDATE_OPS move
    the running averages towards them. Otherwise it uses the running averages.

    Args:
        axis: the dimension, or the dimensions, that keep their own mean and variance.
        momentum: the fraction of the running averages that an update keeps.
        epsilon: a number that is added to the variance.
        center, scale: whether there are `beta` and `gamma`.
        renorm: whether to correct a batch in training by averages of its own (arXiv:1702.03275).
        renorm_clipping: the bounds of these corrections, by "rmax", "rmin" and "dmax".
        renorm_momentum: the fraction of these averages that an update keeps.
        fused: whether to use the fused op; by default if possible, for images along one dimension. It never
            is with `renorm`, `virtual_batch_size` or `adjustment`.
        virtual_batch_size: the size of parts of a batch that are normalized each on its own; it divides that
            of the batch.
        adjustment: from the shape of the inputs, a tensor, to a scale and an offset of the normalized values
            in training.

    Raises:
        ValueError: `fused` for inputs that the op does not take, an unknown bound, or virtual batches along
            an axis that keeps its own mean, or with an adjustment.
    """

    def __init__(
        self,
        axis: Any = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = ZEROS,
        gamma_initializer: Any = ONES,
        moving_mean_initializer: Any = ZEROS,
        moving_variance_initializer: Any = ONES,
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
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        self.axis: Any = [int(a) for a in axis] if isinstance(axis, (list, tuple)) else int(axis)
        self.momentum, self.epsilon, self.center, self.scale = momentum, epsilon, center, scale
        self.beta_initializer = initializer_of(beta_initializer)
        self.gamma_initializer = initializer_of(gamma_initializer)
        self.moving_mean_initializer = initializer_of(moving_mean_initializer)
        self.moving_variance_initializer = initializer_of(moving_variance_initializer)
        self.beta_regularizer, self.gamma_regularizer = beta_regularizer, gamma_regularizer
        self.beta_constraint, self.gamma_constraint = beta_constraint, gamma_constraint
        self.fused = fused
        self.renorm, self.virtual_batch_size, self.adjustment = renorm, virtual_batch_size, adjustment
        self._renormalization = Renormalization(renorm_clipping, renorm_momentum, epsilon) if renorm else None
        self.gamma: Any = None
        self.beta: Any = None
        self.moving_mean: Any = None
        self.moving_variance: Any = None

    def build(self, input_shape: Any) -> None:
        sizes = TensorShape(input_shape).as_list()
        given = self.axis if isinstance(self.axis, list) else [self.axis]
        axes = [a + len(sizes) if a < 0 else a for a in given]
        if len(set(axes)) != len(axes) or any(not 0 <= a < len(sizes) for a in axes):
            raise ValueError(f"Invalid axis: {given}, for inputs of shape {input_shape}")
        if any(sizes[a] is None for a in axes):
            raise ValueError(
                f"Dimension with `None` in the shape of inputs, where `axis` is {given}: {input_shape}"
            )
        self.axis = axes
        self.input_spec = InputSpec(ndim=len(sizes), axes={a: sizes[a] for a in axes})
        self._set_fused(len(sizes))
        # With several axes, the variables have the rank of the inputs.
        wanted = {a: sizes[a] for a in axes}
        if len(axes) == 1 and self.virtual_batch_size is None:
            shape = [sizes[axes[0]]]
        else:
            shape = [wanted.get(a, 1) for a in range(len(sizes))]
        if self.virtual_batch_size is not None:
            check_virtual_batches(self.virtual_batch_size, axes, self.adjustment is not None)
            shape.insert(1, 1)
            self.axis = [a + 1 for a in axes]
        dtype = self._variable_dtype()

        def add(
            name: str, initializer: Any, trainable: bool, regularizer: Any = None, constraint: Any = None
        ) -> Any:
            return self.add_weight(
                name,
                shape,
                dtype=dtype,
                initializer=initializer,
                regularizer=regularizer,
                constraint=constraint,
                trainable=trainable,
                # Of several replicas, each moves its averages by its own batch.
                synchronization=(
                    VariableSynchronization.AUTO if trainable else VariableSynchronization.ON_READ
                ),
                aggregation=VariableAggregation.NONE if trainable else VariableAggregation.MEAN,
            )

        if self.scale:
            self.gamma = add(
                "gamma", self.gamma_initializer, True, self.gamma_regularizer, self.gamma_constraint
            )
        if self.center:
            self.beta = add("beta", self.beta_initializer, True, self.beta_regularizer, self.beta_constraint)
        # Averages are moved as a whole, so a partitioner of the scope does not divide them.
        assert self._scope is not None
        partitioner = self._scope.partitioner
        self._scope.set_partitioner(None)
        try:
            self.moving_mean = add("moving_mean", self.moving_mean_initializer, False)
            self.moving_variance = add("moving_variance", self.moving_variance_initializer, False)
            if self._renormalization is not None:
                self.moving_stddev, self.renorm_mean, self.renorm_stddev = self._renormalization.build(
                    lambda name, initializer: add(name, initializer, False),
                    self.moving_mean_initializer,
                    self.moving_variance_initializer,
                )
        finally:
            self._scope.set_partitioner(partitioner)
        self._shape, self._rank = shape, len(sizes) + (self.virtual_batch_size is not None)
        self.built = True

    def _set_fused(self, rank: int) -> None:
        if self.renorm or self.virtual_batch_size is not None or self.adjustment is not None:
            self.fused = False
            return
        possible = rank == 4 and self.axis in ([1], [3])
        if self.fused and not possible:
            raise ValueError(
                "Unsupported axis or rank: fused batch normalization takes images, and axis 1 or 3 alone. "
                f"Received: axis={self.axis} for inputs of rank {rank}"
            )
        if self.fused is None:
            self.fused = possible and self.dtype != "float64"

    def _variable_dtype(self) -> Any:
        """float32 for inputs of half precision, which is too coarse for running averages."""
        return (
            dtypes.float32
            if self.dtype in ("float16", "bfloat16")
            else dtypes.as_dtype(self.dtype or "float32")
        )

    def call(self, inputs: Any, training: Any = False) -> Any:
        """`training`: a bool, or a bool tensor of rank 0."""
        given = inputs
        if self.virtual_batch_size is not None:
            rest = TensorShape(inputs.dims).as_list()[1:]
            inputs = reshape(inputs, [self.virtual_batch_size, -1, *rest])
        outputs: Tensor = (self._fused if self.fused else self._composed)(inputs, training)
        if self.virtual_batch_size is not None:
            outputs = reshape(outputs, [-1, *rest])
        outputs.set_shape(given.dims)
        return outputs

    def _fused(self, inputs: Tensor, training: Any) -> Tensor:
        dtype = self._variable_dtype()
        gamma = self.gamma if self.scale else ones(self._shape, dtype)
        beta = self.beta if self.center else zeros(self._shape, dtype)
        data_format = "NCHW" if self.axis == [1] else "NHWC"

        def train() -> Any:
            return fused_batch_norm(inputs, gamma, beta, epsilon=self.epsilon, data_format=data_format)

        def infer() -> Any:
            return fused_batch_norm(
                inputs,
                gamma,
                beta,
                mean=self.moving_mean,
                variance=self.moving_variance,
                epsilon=self.epsilon,
                is_training=False,
                data_format=data_format,
            )

        outputs, mean, variance = smart_cond(training, train, infer)
        known = known_predicate(training)
        if known is not False:
            momentum = self.momentum
            if known is None:
                # A batch that is not for training leaves the averages as they are.
                momentum = smart_cond(
                    training, lambda: constant(self.momentum, dtype), lambda: constant(1.0, dtype)
                )
            self._move(mean, variance, lambda average, value: moved(average, value, momentum))
        result: Tensor = outputs
        return result

    def _move(self, mean: Any, variance: Any, update: Callable[[Any, Any], Any]) -> None:
        self.add_update(update(self.moving_mean, mean))
        self.add_update(update(self.moving_variance, variance))

    def _composed(self, inputs: Any, training: Any) -> Tensor:
        others = [a for a in range(self._rank) if a not in self.axis]
        if self.virtual_batch_size is not None:
            del others[1]  # which virtual batch it is
        dtype = self._variable_dtype()
        is_full = len(self._shape) == self._rank and self._rank > 1

        def spread(vector: Any) -> Any:
            """A vector of channels, reshaped to broadcast to inputs whose last axis is another one."""
            if vector is None or is_full or self.axis == [self._rank - 1]:
                return vector
            shape = [1] * self._rank
            shape[self.axis[0]] = self._shape[0]
            return apply_one("Reshape", vector, shape)

        gamma, beta = spread(self.gamma), spread(self.beta)
        known = known_predicate(training)
        if known is False:
            mean, variance = convert_to_tensor(self.moving_mean), convert_to_tensor(self.moving_variance)
        else:
            if self.adjustment is not None:
                gamma, beta = composed(*self._adjusted(inputs, training), gamma, beta)
            batch_mean, batch_variance = moments(cast(inputs, dtype), others, keep_dims=is_full)
            mean = smart_cond(training, lambda: batch_mean, lambda: convert_to_tensor(self.moving_mean))
            variance = smart_cond(
                training, lambda: batch_variance, lambda: convert_to_tensor(self.moving_variance)
            )
            new_mean, new_variance = mean, variance
            if self.virtual_batch_size is not None:
                new_mean, new_variance = (reduce_mean(part, 1, keepdims=True) for part in (mean, variance))
            if self._renormalization is not None:
                r, d = self._renormalization.corrections(new_mean, new_variance, training)
                gamma, beta = composed(spread(r), spread(d), gamma, beta)
                averages = self.moving_mean, self.moving_variance
                for update in self._renormalization.updates(
                    new_mean, new_variance, *averages, self.momentum, training
                ):
                    self.add_update(update)
            else:
                self._move_if_training(new_mean, new_variance, training)
        kind = inputs.dtype.base
        return nn_batch_normalization(
            inputs,
            cast(spread(mean), kind),
            cast(spread(variance), kind),
            None if beta is None else cast(beta, kind),
            None if gamma is None else cast(gamma, kind),
            self.epsilon,
        )

    def _move_if_training(self, mean: Any, variance: Any, training: Any) -> None:
        known = known_predicate(training)

        def update(average: Any, value: Any) -> Any:
            if known is not None:
                return moved(average, value, self.momentum)
            # Both branches must return values, as only one of them has a reference.
            return cond(
                training,
                lambda: identity(moved(average, value, self.momentum)),
                lambda: identity(average),
            )

        self._move(mean, variance, update)

    def _adjusted(self, inputs: Any, training: Any) -> tuple[Any, Any]:
        scale, offset = self.adjustment(shape_of(inputs))
        return (
            smart_cond(training, lambda: scale, lambda: ones_like(scale)),
            smart_cond(training, lambda: offset, lambda: zeros_like(offset)),
        )

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return TensorShape(input_shape)


def batch_normalization(
    inputs: Any,
    axis: Any = -1,
    momentum: float = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Any = ZEROS,
    gamma_initializer: Any = ONES,
    moving_mean_initializer: Any = ZEROS,
    moving_variance_initializer: Any = ONES,
    beta_regularizer: Any = None,
    gamma_regularizer: Any = None,
    beta_constraint: Any = None,
    gamma_constraint: Any = None,
    training: Any = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_momentum: float = 0.99,
    fused: bool | None = None,
    virtual_batch_size: int | None = None,
    adjustment: Any = None,
) -> Tensor:
    """The output of a `BatchNormalization` layer for `inputs` (`tf.layers.batch_normalization`).

    Args:
        training: whether to use the batch's moments and update the running averages: a bool, or a bool
            tensor of rank 0.
    """
    return run_layer(BatchNormalization, locals())
