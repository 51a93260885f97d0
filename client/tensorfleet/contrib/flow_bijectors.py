"""Flows: bijectors whose functions are networks (`tf.contrib.distributions.bijectors`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorfleet.core.shapes import TensorShape
from tensorfleet.distributions.bijectors.base import Bijector, ConditionalBijector
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.framework import name_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.layers.core import Dense, dense
from tensorfleet.layers.normalization import BatchNormalization as BatchNormalizationLayer
from tensorfleet.ops.array.constants import zeros, zeros_like
from tensorfleet.ops.array.identity import stop_gradient
from tensorfleet.ops.array.joining import concat, split, unstack
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.control_flow.control_flow import while_loop
from tensorfleet.ops.math.clip import clip_by_value
from tensorfleet.ops.math.elementwise import exp, log, sqrt
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.nn.activation import relu
from tensorfleet.ops.nn.norm import moments
from tensorfleet.ops.state.initializers import glorot_normal_initializer
from tensorfleet.ops.state.template import make_template


def _mask(blocks: int, inputs: int, outputs: int, exclusive: bool) -> Any:
    """Which inputs a block of outputs sees, [inputs, outputs]: those of the blocks before it, and with
    `exclusive` False its own."""
    rows, columns = outputs // blocks, inputs // blocks
    found = np.zeros([outputs, inputs], np.float32)
    for block in range(blocks):
        begin = (block + 1 if exclusive else block) * rows
        found[begin:, block * columns : (block + 1) * columns] = 1
    return found.T


def masked_dense(
    inputs: Any,
    units: int,
    num_blocks: int | None = None,
    exclusive: bool = False,
    kernel_initializer: Any = None,
    reuse: bool | None = None,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """A dense layer whose blocks of outputs see only the blocks of inputs up to their own
    (`bijectors.masked_dense`; Germain et al., arXiv:1502.03509).

    Args:
        inputs: [..., size], the size known.
        units: the size of the outputs.
        num_blocks: into how many blocks both are divided.
        exclusive: whether outputs do not see the inputs of their own block.

    The other arguments are those of `tf.layers.dense`.

    Raises:
        NotImplementedError: the size of the inputs is not known.
    """
    depth = inputs.shape.as_list()[-1]
    if depth is None:
        raise NotImplementedError("Rightmost dimension must be known prior to graph execution.")
    mask = _mask(num_blocks or 1, depth, units, exclusive)
    initial = glorot_normal_initializer() if kernel_initializer is None else kernel_initializer

    def initializer(dims: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return constant(mask, dtype) * initial(dims, dtype, partition_info)

    with name_scope(name, "masked_dense", [inputs, units, num_blocks]):
        own: dict[str, Any] = {
            "kernel_initializer": initializer,
            "kernel_constraint": lambda kernel: constant(mask, kernel.dtype.base_dtype) * kernel,
            "name": name,
            "_scope": name,
            "_reuse": reuse,
        }
        make: Any = Dense
        return make(units, *args, **own, **kwargs).apply(inputs)


def masked_autoregressive_default_template(
    hidden_layers: Sequence[int],
    shift_only: bool = False,
    activation: Any = relu,
    log_scale_min_clip: float = -5.0,
    log_scale_max_clip: float = 3.0,
    log_scale_clip_gradient: bool = False,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """A network from vectors to (shift, logarithm of the scale), each element by those before it, as
    MaskedAutoregressiveFlow takes it (`bijectors.masked_autoregressive_default_template`).

    Args:
        hidden_layers: the sizes of the layers.
        shift_only: whether the scale is None.
        log_scale_min_clip, log_scale_max_clip: the limits of the logarithm.
        log_scale_clip_gradient: whether gradients end at these limits; otherwise they pass.

    The other arguments are those of `masked_dense`, by name, such as `kernel_initializer`.
    """

    layer: Any = masked_dense  # given positions too, it says so like TensorFlow's

    def network(x: Any) -> tuple[Any, Any]:
        x = convert_to_tensor(x, name="x")
        depth = x.shape.as_list()[-1]
        if depth is None:
            raise NotImplementedError("Rightmost dimension must be known prior to graph execution.")
        dims = x.shape.as_list() if x.shape.is_fully_defined() else shape(x)
        for number, units in enumerate(hidden_layers):
            own: dict[str, Any] = {"num_blocks": depth, "exclusive": number == 0, "activation": activation}
            x = layer(*args, inputs=x, units=units, **own, **kwargs)
        outputs = depth if shift_only else 2 * depth
        x = layer(*args, inputs=x, units=outputs, num_blocks=depth, activation=None, **kwargs)
        if shift_only:
            return reshape(x, dims), None
        shift, log_scale = unstack(reshape(x, concat([convert_to_tensor(dims), [2]], 0)), 2, axis=-1)
        log_scale = _clipped(log_scale, log_scale_min_clip, log_scale_max_clip, log_scale_clip_gradient)
        return shift, log_scale

    return make_template(name or "masked_autoregressive_default_template", network)


def _clipped(x: Any, low: float, high: float, with_gradient: bool) -> Any:
    clipped = clip_by_value(x, low, high)
    return clipped if with_gradient else x + stop_gradient(clipped - x)


class MaskedAutoregressiveFlow(ConditionalBijector):
    """x · exp(log_scale(y)) + shift(y), where both depend for each element on those of y before it
    (`bijectors.MaskedAutoregressiveFlow`; Papamakarios et al., arXiv:1705.07057).

    The inverse takes one call of the network, the forward function one for each element.

    Args:
        shift_and_log_scale_fn: from vectors, and further arguments by name, to (shift, log_scale), of which
            one may be None; see `masked_autoregressive_default_template`.
        is_constant_jacobian: whether log_scale is None, or does not depend on y.
        unroll_loop: whether the forward function has no loop; the size must be known then.
    """

    def __init__(
        self,
        shift_and_log_scale_fn: Callable[..., tuple[Any, Any]],
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        unroll_loop: bool = False,
        name: str | None = None,
    ) -> None:
        self._network, self._unroll_loop = shift_and_log_scale_fn, unroll_loop
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name or "masked_autoregressive_flow",
        )

    def _forward(self, x: Tensor, **kwargs: Any) -> Any:
        def once(y: Any) -> Any:
            return _scaled(x, *self._network(y, **kwargs))

        if self._unroll_loop:
            size = x.shape.as_list()[-1]
            if size is None:
                raise ValueError("The event size must be known for `unroll_loop=True`.")
            found: Any = zeros_like(x)
            for _ in range(size):
                found = once(found)
            return found
        start = zeros_like(x)
        # The network's variables are made outside of the loop.
        self._network(start, **kwargs)
        _, found = while_loop(
            lambda i, y: i < shape(x)[-1],
            lambda i, y: (i + 1, once(y)),
            (0, start),
            shape_invariants=(TensorShape([]), x.shape),
        )
        return found

    def _inverse(self, y: Tensor, **kwargs: Any) -> Any:
        return _unscaled(y, *self._network(y, **kwargs))

    def _inverse_log_det_jacobian(self, y: Tensor, **kwargs: Any) -> Any:
        return _log_scale_sum(self._network(y, **kwargs)[1], y, -1)


def _scaled(x: Any, shift: Any, log_scale: Any) -> Any:
    x = x if log_scale is None else x * exp(log_scale)
    return x if shift is None else x + shift


def _unscaled(y: Any, shift: Any, log_scale: Any) -> Any:
    y = y if shift is None else y - shift
    return y if log_scale is None else y * exp(-log_scale)


def _log_scale_sum(log_scale: Any, like: Any, sign: int) -> Any:
    return zeros(shape(like)[:-1], like.dtype) if log_scale is None else sign * reduce_sum(log_scale, -1)


def real_nvp_default_template(
    hidden_layers: Sequence[int],
    shift_only: bool = False,
    activation: Any = relu,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """A network from vectors and a size to (shift, logarithm of the scale) of that size, as RealNVP takes it
    (`bijectors.real_nvp_default_template`).

    Args:
        hidden_layers: the sizes of the layers.
        shift_only: whether the scale is None.

    The other arguments are those of `masked_dense`, by name, such as `kernel_initializer`.
    """

    def network(x: Any, output_units: int, **condition_kwargs: Any) -> tuple[Any, Any]:
        if condition_kwargs:
            raise NotImplementedError("Conditioning not implemented in the default template.")
        x = x[None, ...] if x.shape.ndims == 1 else x
        for units in hidden_layers:
            x = dense(x, units, activation, *args, **kwargs)
        x = dense(x, output_units if shift_only else 2 * output_units, None, *args, **kwargs)
        if shift_only:
            return x, None
        shift, log_scale = split(x, 2, axis=-1)
        return shift, log_scale

    return make_template(name or "real_nvp_default_template", network)


class RealNVP(ConditionalBijector):
    """The first elements of vectors as they are, the others scaled and shifted by a function of the first
    (`bijectors.RealNVP`; Dinh et al., arXiv:1605.08803).

    Args:
        num_masked: how many are the first.
        shift_and_log_scale_fn: from these, and the number of the others, to (shift, log_scale), of which one
            may be None; see `real_nvp_default_template`.
        is_constant_jacobian: whether log_scale is None, or does not depend on the first elements.

    Raises:
        ValueError: `num_masked` is less than 1.
    """

    def __init__(
        self,
        num_masked: int,
        shift_and_log_scale_fn: Callable[..., tuple[Any, Any]],
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        if num_masked <= 0:
            raise ValueError("num_masked must be a positive integer.")
        self._num_masked, self._network = num_masked, shift_and_log_scale_fn
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name or "real_nvp",
        )

    def _parts(self, x: Tensor, kwargs: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
        size = x.shape.as_list()[-1]
        if size is None:
            raise NotImplementedError("Rightmost dimension must be known prior to graph execution.")
        if self._num_masked >= size:
            raise ValueError("Number of masked units must be smaller than the event size.")
        first, rest = x[..., : self._num_masked], x[..., self._num_masked :]
        return (first, rest, *self._network(first, size - self._num_masked, **kwargs))

    def _forward(self, x: Tensor, **kwargs: Any) -> Any:
        first, rest, shift, log_scale = self._parts(x, kwargs)
        return concat([first, reshape(_scaled(rest, shift, log_scale), shape(rest))], -1)

    def _inverse(self, y: Tensor, **kwargs: Any) -> Any:
        first, rest, shift, log_scale = self._parts(y, kwargs)
        return concat([first, reshape(_unscaled(rest, shift, log_scale), shape(rest))], -1)

    def _inverse_log_det_jacobian(self, y: Tensor, **kwargs: Any) -> Any:
        return _log_scale_sum(self._parts(y, kwargs)[3], y, -1)

    def _forward_log_det_jacobian(self, x: Tensor, **kwargs: Any) -> Any:
        return _log_scale_sum(self._parts(x, kwargs)[3], x, 1)


class BatchNormalization(Bijector):
    """What a batch norm took away: the inverse normalizes (`bijectors.BatchNormalization`; Dinh et al.,
    arXiv:1605.08803).

    Args:
        batchnorm_layer: a `tf.layers.BatchNormalization` of the last dimension; by default one whose gamma
            stays above 1e-6.
        training: whether the inverse normalizes by the batch, or by the moving averages; the forward function
            takes the moving averages.
    """

    def __init__(
        self,
        batchnorm_layer: Any = None,
        training: bool = True,
        validate_args: bool = False,
        name: str = "batch_normalization",
    ) -> None:
        if batchnorm_layer is None:
            batchnorm_layer = BatchNormalizationLayer(gamma_constraint=lambda x: relu(x) + 1e-6)
        self.batchnorm, self._training = batchnorm_layer, training
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _built(self, x: Tensor) -> Any:
        if not self.batchnorm.built:
            self.batchnorm.build(x.shape)
        return self.batchnorm

    def _forward(self, x: Tensor) -> Any:
        layer = self._built(x)
        x = x if layer.beta is None else x - layer.beta
        x = x if layer.gamma is None else x / layer.gamma
        return x * sqrt(layer.moving_variance + layer.epsilon) + layer.moving_mean

    def _inverse(self, y: Tensor) -> Any:
        self._built(y)
        found: Tensor = self.batchnorm.apply(y, training=self._training)
        return found

    def _inverse_log_det_jacobian(self, y: Tensor) -> Any:
        layer = self._built(y)
        variance = layer.moving_variance
        if self._training:
            _, variance = moments(y, list(range(y.shape.ndims or 1))[:-1])
        logs = -0.5 * log(variance + layer.epsilon)
        if layer.gamma is not None:
            logs = logs + log(layer.gamma)
        return reduce_sum(logs, -1) + zeros(shape(y)[:-1], y.dtype)

    def _forward_log_det_jacobian(self, x: Tensor) -> Any:
        return -self._moving_inverse(x)

    def _moving_inverse(self, x: Tensor) -> Any:
        layer = self._built(x)
        logs = -0.5 * log(layer.moving_variance + layer.epsilon)
        if layer.gamma is not None:
            logs = logs + log(layer.gamma)
        return reduce_sum(logs, -1) + zeros(shape(x)[:-1], x.dtype)
