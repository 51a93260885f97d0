"""Virtual batch normalization (`tf.contrib.gan.features.VBN`)."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.math.elementwise import square
from tensorfleet.ops.math.reduction import reduce_mean
from tensorfleet.ops.nn.norm import batch_normalization
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import ones_initializer, zeros_initializer
from tensorfleet.ops.state.variable_scope import variable_scope


def _statistics(x: Any, axes: list[int]) -> tuple[Any, Any]:
    """The mean and the mean of squares, with sizes of 1 along the axes; computed in float32 for float16."""
    values = cast(x, dtypes.float32) if x.dtype == dtypes.float16 else x
    found = reduce_mean(values, axes, keepdims=True), reduce_mean(square(values), axes, keepdims=True)
    return cast(found[0], x.dtype), cast(found[1], x.dtype)


def _axis(batch: Any, axis: int) -> int:
    ndims: int | None = batch.shape.ndims
    if ndims is None:
        raise ValueError("`reference_batch` has unknown dimensions.")
    if not -ndims <= axis < ndims:
        raise ValueError(f"Value of `axis` argument {axis} is out of range for input with rank {ndims}")
    return axis % ndims


class VBN:
    """Normalizes each example by the statistics of a reference batch and its own
    (`tf.contrib.gan.features.VBN`; Salimans et al., arXiv:1606.03498).

    Args:
        reference_batch: a tensor whose size along `axis` is known.
        axis: of the features.
        epsilon: added to variances.
        center, scale: whether there is an offset `beta` and a factor `gamma` for each feature.
        batch_axis: of the examples.

    Raises:
        ValueError: the rank is not known, or both axes are the same.
    """

    def __init__(
        self,
        reference_batch: Any,
        axis: int = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = zeros_initializer(),  # noqa: B008
        gamma_initializer: Any = ones_initializer(),  # noqa: B008
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        trainable: bool = True,
        name: str | None = None,
        batch_axis: int = 0,
    ) -> None:
        axis, self._batch_axis = _axis(reference_batch, axis), _axis(reference_batch, batch_axis)
        if axis == self._batch_axis:
            raise ValueError("`axis` and `batch_axis` cannot be the same.")
        self._epsilon, self._reference_batch = epsilon, reference_batch
        ndims = reference_batch.shape.ndims
        size = reference_batch.shape.as_list()[axis]
        self._parameter_dims = [size if i == axis else 1 for i in range(ndims)]
        self._example_axes = [i for i in range(ndims) if i not in (axis, self._batch_axis)]
        self._beta: Any = None
        self._gamma: Any = None
        with variable_scope(name, "VBN", values=[reference_batch]) as self._scope:
            others = [i for i in range(ndims) if i != axis]
            self._mean, self._squares = _statistics(reference_batch, others)
            batch = shape(reference_batch)[self._batch_axis]
            self._own_weight = 1.0 / (cast(batch, reference_batch.dtype.base_dtype) + 1.0)
            options = {"trainable": trainable, "dtype": reference_batch.dtype.base_dtype}
            if center:
                self._beta = get_variable(
                    "beta", [size], initializer=beta_initializer, regularizer=beta_regularizer, **options
                )
            if scale:
                self._gamma = get_variable(
                    "gamma", [size], initializer=gamma_initializer, regularizer=gamma_regularizer, **options
                )

    def reference_batch_normalization(self) -> Any:
        """The reference batch, normalized by its own statistics."""
        with framework.name_scope(self._scope.name):
            return self._normalized(self._reference_batch, self._mean, self._squares)

    def __call__(self, inputs: Any) -> Any:
        """`inputs`, normalized.

        Raises:
            ValueError: the shape differs from that of the reference batch, but for the size of the batch.
        """
        sizes = [x.shape.as_list() for x in (inputs, self._reference_batch)]
        for each in sizes:
            del each[self._batch_axis]
        TensorShape(sizes[0]).assert_is_compatible_with(TensorShape(sizes[1]))
        with framework.name_scope(self._scope.name):
            mean, squares = _statistics(inputs, self._example_axes)
            own = self._own_weight
            return self._normalized(
                inputs, own * mean + (1.0 - own) * self._mean, own * squares + (1.0 - own) * self._squares
            )

    def _normalized(self, x: Any, mean: Any, squares: Any) -> Any:
        beta, gamma = (
            None if each is None else reshape(each, self._parameter_dims)
            for each in (self._beta, self._gamma)
        )
        return batch_normalization(x, mean, squares - square(mean), beta, gamma, self._epsilon)
