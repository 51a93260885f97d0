"""Layers in which queries look at the steps of other sequences."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.keras import backend as K, ops
from tensorfleet.keras.engine.base_layer import Layer
from tensorfleet.keras.layers.core import dims_of

_FAR = 1e9
"""What the scores of steps are less that a query must not see."""


class _DenseAttention(Layer):
    """What attention layers share: weights by scores, of which a mask takes some away.

    Args:
        causal: whether a query sees the steps up to its own place alone.
        dropout: which part of the weights is dropped in training.
    """

    def __init__(self, causal: bool = False, dropout: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.causal, self.dropout = causal, dropout
        self.supports_masking = True

    def _scores(self, query: Any, key: Any) -> Any:
        raise NotImplementedError

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
        query, value, key = _parts(inputs)
        query_mask, value_mask = _masks(mask)
        scores = self._scores(query, key)
        seen = None if value_mask is None else ops.expand_dims(ops.cast(value_mask, "bool"), -2)
        if self.causal:
            size = ops.shape(scores)
            rows, columns = ops.range(size[1]), ops.range(size[2])
            before = ops.expand_dims(ops.expand_dims(rows, -1) >= ops.expand_dims(columns, 0), 0)
            seen = before if seen is None else ops.logical_and(seen, before)
        if seen is not None:
            scores -= _FAR * ops.cast(ops.logical_not(seen), scores.dtype)
        weights = ops.softmax(scores)
        if self.dropout:
            drawn = weights
            weights = K.in_train_phase(
                lambda: ops.dropout(drawn, rate=self.dropout), drawn, training=training
            )
        result = ops.matmul(weights, value)
        if query_mask is not None:
            result *= ops.cast(ops.expand_dims(query_mask, -1), result.dtype)
        return result

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return _masks(mask)[0]

    def compute_output_shape(self, input_shape: Any) -> Any:
        query, value = dims_of(input_shape[0]), dims_of(input_shape[1])
        return TensorShape([*query[:-1], value[-1]])

    def get_config(self) -> dict[str, Any]:
        own = {"causal": self.causal, **({"dropout": self.dropout} if self.dropout else {})}
        return {**super().get_config(), **own}


def _parts(inputs: Any) -> tuple[Any, Any, Any]:
    """Query, value and key, which is the value by default. Raises ValueError: not two or three tensors."""
    if not isinstance(inputs, (list, tuple)) or len(inputs) not in (2, 3):
        raise ValueError(
            "An attention layer must be called on a list of inputs, namely [query, value] or "
            "[query, value, key]."
        )
    query, value, *key = inputs
    return query, value, key[0] if key else value


def _masks(mask: Any) -> tuple[Any, Any]:
    if mask is None:
        return None, None
    if not isinstance(mask, (list, tuple)) or len(mask) < 2:
        raise ValueError("An attention layer's mask must be a list, namely [query_mask, value_mask].")
    return mask[0], mask[1]


class Attention(_DenseAttention):
    """Attention by products of queries and keys (`tf.keras.layers.Attention`; Luong et al.,
    arXiv:1508.04025).

    Args:
        use_scale: whether the scores are multiplied with a weight of the layer.
        causal: whether a query sees the steps up to its own place alone.
    """

    def __init__(self, use_scale: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale, self.scale = use_scale, None

    def build(self, input_shape: Any) -> None:
        if self.use_scale:
            self.scale = self.add_weight("scale", [], initializer="ones")
        self.built = True

    def _scores(self, query: Any, key: Any) -> Any:
        scores = ops.matmul(query, key, transpose_b=True)
        return scores if self.scale is None else scores * self.scale

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "use_scale": self.use_scale}


class AdditiveAttention(_DenseAttention):
    """Attention by sums of queries and keys (`tf.keras.layers.AdditiveAttention`; Bahdanau et al.,
    arXiv:1409.0473).

    Args:
        use_scale: whether the parts of a sum have weights of the layer.
        causal: whether a query sees the steps up to its own place alone.
    """

    def __init__(self, use_scale: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale, self.scale = use_scale, None

    def build(self, input_shape: Any) -> None:
        if self.use_scale:
            width = dims_of(input_shape[1])[-1]
            self.scale = self.add_weight("scale", [width], initializer="glorot_uniform")
        self.built = True

    def _scores(self, query: Any, key: Any) -> Any:
        sums = ops.tanh(ops.expand_dims(query, -2) + ops.expand_dims(key, -3))
        return ops.reduce_sum(sums if self.scale is None else sums * self.scale, -1)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "use_scale": self.use_scale}
