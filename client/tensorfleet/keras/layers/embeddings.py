"""`tf.keras.layers.Embedding`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.keras import (
    constraint_classes as constraints,
    initializer_classes as initializers,
    ops,
    regularizer_classes as regularizers,
)
from tensorfleet.keras.engine.base_layer import Layer
from tensorfleet.keras.layers.core import dims_of


class Embedding(Layer):
    """A vector for each number (`tf.keras.layers.Embedding`).

    Args:
        input_dim: how many numbers there are.
        output_dim: the size of a vector.
        mask_zero: whether the number 0 stands for a step that does not count.
        input_length: the length of the sequences, if it is fixed.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        activity_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        input_length: Any = None,
        **kwargs: Any,
    ) -> None:
        if "input_shape" not in kwargs:
            kwargs["input_shape"] = (
                tuple(input_length) if isinstance(input_length, (list, tuple)) else (input_length,)
            )
        super().__init__(
            dtype=kwargs.pop("dtype", "float32"), activity_regularizer=activity_regularizer, **kwargs
        )
        self.input_dim, self.output_dim = input_dim, output_dim
        self.embeddings_initializer = initializers.get(embeddings_initializer)
        self.embeddings_regularizer = regularizers.get(embeddings_regularizer)
        self.embeddings_constraint = constraints.get(embeddings_constraint)
        self.mask_zero = self.supports_masking = mask_zero
        self.input_length = input_length

    def build(self, input_shape: Any) -> None:
        self.embeddings = self.add_weight(
            "embeddings",
            [self.input_dim, self.output_dim],
            initializer=self.embeddings_initializer,
            regularizer=self.embeddings_regularizer,
            constraint=self.embeddings_constraint,
        )
        self.built = True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return ops.not_equal(inputs, ops.cast(0, inputs.dtype.base)) if self.mask_zero else None

    def call(self, inputs: Any) -> Any:
        if inputs.dtype.base.name not in ("int32", "int64"):
            inputs = ops.cast(inputs, "int32")
        return ops.embedding_lookup(self.embeddings, inputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return TensorShape([*dims_of(input_shape), self.output_dim])

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "input_dim": self.input_dim,
            "output_dim": self.output_dim,
            "embeddings_initializer": initializers.serialize(self.embeddings_initializer),
            "embeddings_regularizer": regularizers.serialize(self.embeddings_regularizer),
            "activity_regularizer": regularizers.serialize(self._activity_regularizer),
            "embeddings_constraint": constraints.serialize(self.embeddings_constraint),
            "mask_zero": self.mask_zero,
            "input_length": self.input_length,
        }
