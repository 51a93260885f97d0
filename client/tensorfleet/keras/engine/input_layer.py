"""`tf.keras.Input`: where a graph of layers begins."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.keras import backend as K, ops
from tensorfleet.keras.backend.state import unique_name
from tensorfleet.keras.engine.base_layer import Layer
from tensorfleet.keras.engine.node import Node


class InputLayer(Layer):
    """The layer whose output is a placeholder (`tf.keras.layers.InputLayer`).

    Args:
        input_shape: the shape without the batch.
        batch_size: the size of the batch, if it is fixed.
        input_tensor: a tensor to use in place of a placeholder.
        sparse: whether the placeholder is a sparse one.
    """

    def __init__(
        self,
        input_shape: Any = None,
        batch_size: int | None = None,
        dtype: Any = None,
        input_tensor: Any = None,
        sparse: bool = False,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        if "batch_input_shape" in kwargs:
            batch_size, *rest = kwargs.pop("batch_input_shape")
            input_shape = tuple(rest)
        if kwargs:
            raise ValueError(f"Unrecognized keyword arguments: {list(kwargs)}")
        if dtype is None:
            dtype = K.floatx() if input_tensor is None else input_tensor.dtype.base
        super().__init__(name=name or unique_name("input", zero_based=False), dtype=dtype)
        self.built, self.supports_masking, self.sparse = True, True, sparse
        self.batch_size = batch_size
        if isinstance(input_shape, int):
            input_shape = (input_shape,)
        if hasattr(input_shape, "as_list"):
            input_shape = tuple(input_shape.as_list())
        self.is_placeholder = input_tensor is None
        if input_tensor is None:
            shape = None if input_shape is None else (batch_size, *input_shape)
            with ops.init_scope(), ops.name_scope(None):
                make = ops.sparse_placeholder if sparse else ops.placeholder
                input_tensor = make(dtypes.as_dtype(dtype), shape=shape, name=self.name)
        elif not hasattr(input_tensor, "graph"):
            raise TypeError(f"input_tensor is no tensor: {input_tensor}")
        known = input_tensor.shape
        if known.ndims is not None:
            self._batch_input_shape = tuple(known.as_list())
        # A new tensor, as that of another input layer has its own history.
        if getattr(input_tensor, "_keras_history", None) is not None:
            input_tensor = ops.identity(input_tensor)
        Node(self, None, input_tensor)

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        return inputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {
            "batch_input_shape": getattr(self, "_batch_input_shape", None),
            "dtype": self.dtype,
            "sparse": self.sparse,
            "name": self.name,
        }


def Input(
    shape: Any = None,
    batch_size: int | None = None,
    name: str | None = None,
    dtype: Any = None,
    sparse: bool = False,
    tensor: Any = None,
    **kwargs: Any,
) -> Any:
    """A placeholder at which a graph of layers begins (`tf.keras.Input`).

    Args:
        shape: the shape without the batch.
        tensor: a tensor to use in place of a placeholder; nothing is fed for it.

    Example:
        >>> x = tf.keras.Input((3,))
        >>> model = tf.keras.Model(x, tf.keras.layers.Dense(2)(x))
        >>> model.output_shape
        (None, 2)
    """
    if "batch_shape" in kwargs:
        batch_size, *rest = kwargs.pop("batch_shape")
        shape = tuple(rest)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments: {list(kwargs)}")
    if shape is None and tensor is None:
        raise ValueError(
            "Please provide to Input either a `shape` or a `tensor` argument. Note that `shape` does not "
            "include the batch dimension."
        )
    layer = InputLayer(
        input_shape=shape, batch_size=batch_size, name=name, dtype=dtype, sparse=sparse, input_tensor=tensor
    )
    return layer._inbound_nodes[0].output_tensors
