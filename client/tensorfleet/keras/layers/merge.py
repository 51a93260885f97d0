"""Layers that make one tensor of several."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.keras import backend as K, ops
from tensorfleet.keras.engine.base_layer import Layer
from tensorfleet.keras.layers.core import dims_of


class _Merge(Layer):
    """What these layers share: inputs of one rank, or with dimensions of size 1 put behind the batch."""

    _least = 2

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        if not isinstance(input_shape, (list, tuple)) or len(input_shape) < self._least:
            raise ValueError(f"A merge layer should be called on a list of at least {self._least} inputs.")
        self.built = True

    def _merge(self, inputs: list[Any]) -> Any:
        raise NotImplementedError

    def call(self, inputs: Any) -> Any:
        if not isinstance(inputs, (list, tuple)):
            raise ValueError("A merge layer should be called on a list of inputs.")
        ranks = [len(x.shape.as_list()) for x in inputs]
        aligned = []
        for x, rank in zip(inputs, ranks, strict=True):
            for _ in range(max(ranks) - rank):
                x = ops.expand_dims(x, 1)
            aligned.append(x)
        return self._merge(aligned)

    def compute_output_shape(self, input_shape: Any) -> Any:
        shapes = [dims_of(shape) for shape in input_shape]
        rank = max(map(len, shapes))
        result: list[int | None] = []
        for sizes in zip(*([s[0], *[1] * (rank - len(s)), *s[1:]] for s in shapes), strict=True):
            others = {s for s in sizes if s != 1}
            result.append(1 if not others else others.pop() if len(others) == 1 else None)
        return TensorShape(result)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        known = [m for m in mask or () if m is not None]
        if not known:
            return None
        result = known[0]
        for one in known[1:]:
            result = ops.logical_and(result, one)
        return result


class Add(_Merge):
    """The sum (`tf.keras.layers.Add`)."""

    def _merge(self, inputs: list[Any]) -> Any:
        output = inputs[0]
        for x in inputs[1:]:
            output += x
        return output


class Subtract(_Merge):
    """The first of two inputs less the second (`tf.keras.layers.Subtract`)."""

    def _merge(self, inputs: list[Any]) -> Any:
        if len(inputs) != 2:
            raise ValueError("A `Subtract` layer should be called on exactly 2 inputs")
        return inputs[0] - inputs[1]


class Multiply(_Merge):
    """The product by elements (`tf.keras.layers.Multiply`)."""

    def _merge(self, inputs: list[Any]) -> Any:
        output = inputs[0]
        for x in inputs[1:]:
            output = output * x
        return output


class Average(_Merge):
    """The mean (`tf.keras.layers.Average`)."""

    def _merge(self, inputs: list[Any]) -> Any:
        output = inputs[0]
        for x in inputs[1:]:
            output += x
        return output / len(inputs)


class Maximum(_Merge):
    """The greatest elements (`tf.keras.layers.Maximum`)."""

    def _merge(self, inputs: list[Any]) -> Any:
        output = inputs[0]
        for x in inputs[1:]:
            output = ops.maximum(output, x)
        return output


class Minimum(_Merge):
    """The least elements (`tf.keras.layers.Minimum`)."""

    def _merge(self, inputs: list[Any]) -> Any:
        output = inputs[0]
        for x in inputs[1:]:
            output = ops.minimum(output, x)
        return output


class Concatenate(_Merge):
    """The inputs joined along a dimension (`tf.keras.layers.Concatenate`)."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        if not isinstance(inputs, (list, tuple)):
            raise ValueError("A `Concatenate` layer should be called on a list of inputs.")
        return K.concatenate(list(inputs), axis=self.axis)

    def compute_output_shape(self, input_shape: Any) -> Any:
        shapes = [dims_of(shape) for shape in input_shape]
        sizes = [shape[self.axis] for shape in shapes]
        result = list(shapes[0])
        result[self.axis] = None if None in sizes else sum(s for s in sizes if s is not None)
        return TensorShape(result)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        if mask is None or all(m is None for m in mask):
            return None
        parts = []
        for x, one in zip(inputs, mask, strict=True):
            if one is None:
                parts.append(ops.ones_like(x, dtype="bool"))
            elif len(one.shape.as_list()) < len(x.shape.as_list()):
                parts.append(ops.logical_and(ops.expand_dims(one, -1), ops.ones_like(x, dtype="bool")))
            else:
                parts.append(one)
        return ops.reduce_all(ops.concat(parts, self.axis), -1, False)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "axis": self.axis}


class Dot(_Merge):
    """The products of two inputs along a dimension of each (`tf.keras.layers.Dot`).

    Args:
        axes: the dimension, or one of each input.
        normalize: whether both are divided by their norms along it first.
    """

    def __init__(self, axes: Any, normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axes, self.normalize = axes, normalize

    def _pair(self, inputs: Any) -> list[int]:
        axes = [self.axes, self.axes] if isinstance(self.axes, int) else list(self.axes)
        return [a % len(x.shape.as_list()) for a, x in zip(axes, inputs, strict=True)]

    def call(self, inputs: Any) -> Any:
        if not isinstance(inputs, (list, tuple)) or len(inputs) != 2:
            raise ValueError("A `Dot` layer should be called on exactly 2 inputs")
        axes = self._pair(inputs)
        first, second = inputs
        if self.normalize:
            first, second = (ops.l2_normalize(x, axis) for x, axis in zip(inputs, axes, strict=True))
        return K.batch_dot(first, second, axes)

    def compute_output_shape(self, input_shape: Any) -> Any:
        first, second = (dims_of(shape) for shape in input_shape)
        axes = [self.axes, self.axes] if isinstance(self.axes, int) else list(self.axes)
        first.pop(axes[0] % len(first))
        second.pop(axes[1] % len(second))
        joined = [*first, *second[1:]]
        return TensorShape(joined if len(joined) > 1 else [*joined, 1])

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return None

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "axes": self.axes, "normalize": self.normalize}


def add(inputs: Any, **kwargs: Any) -> Any:
    """The sum of several tensors, by an `Add` layer."""
    return Add(**kwargs)(inputs)


def subtract(inputs: Any, **kwargs: Any) -> Any:
    """The difference of two tensors, by a `Subtract` layer."""
    return Subtract(**kwargs)(inputs)


def multiply(inputs: Any, **kwargs: Any) -> Any:
    """The product of several tensors, by a `Multiply` layer."""
    return Multiply(**kwargs)(inputs)


def average(inputs: Any, **kwargs: Any) -> Any:
    """The mean of several tensors, by an `Average` layer."""
    return Average(**kwargs)(inputs)


def maximum(inputs: Any, **kwargs: Any) -> Any:
    """The greatest elements of several tensors, by a `Maximum` layer."""
    return Maximum(**kwargs)(inputs)


def minimum(inputs: Any, **kwargs: Any) -> Any:
    """The least elements of several tensors, by a `Minimum` layer."""
    return Minimum(**kwargs)(inputs)


def concatenate(inputs: Any, axis: int = -1, **kwargs: Any) -> Any:
    """Several tensors joined along a dimension, by a `Concatenate` layer."""
    return Concatenate(axis=axis, **kwargs)(inputs)


def dot(inputs: Any, axes: Any, normalize: bool = False, **kwargs: Any) -> Any:
    """The products of two tensors along a dimension of each, by a `Dot` layer."""
    return Dot(axes=axes, normalize=normalize, **kwargs)(inputs)
