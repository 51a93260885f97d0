"""`tf.TensorArray` as a list of tensors: what control flow v2 hands from turn to turn."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.core.dtypes import as_dtype
from tensorfleet.core.shapes import as_dims
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_none, apply_one, apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.data_flow import tensor_lists  # noqa: F401  the ops register themselves
from tensorfleet.ops.data_flow.tensor_array import TensorArray


class ListArray(TensorArray):
    """A TensorArray whose flow is the list of its elements; those never written are zeros."""

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if flow is not None and size is not None:
            raise ValueError("Cannot provide both a `flow` and `size` arguments at the same time.")
        if flow is None and size is None:
            raise ValueError("Argument `size` must be provided if handle is not provided.")
        self._dtype = as_dtype(dtype).base
        self._infer_shape = infer_shape
        self._dynamic_size = bool(dynamic_size)
        self._colocate_with_first_write_call = colocate_with_first_write_call
        self._element_shape: list[Dims] = [as_dims(element_shape)]
        self._first_written: list[Tensor] = []
        self._handle = None  # type: ignore[assignment]
        if flow is not None:
            self._flow = flow
            self._size = None
            return
        with framework.name_scope(name, "TensorArrayV2", [size]) as scope:
            self._flow = apply_one(
                "TensorListReserve",
                _shape(as_dims(element_shape)),
                size,
                element_dtype=self._dtype,
                name=scope,
            )
        self._size = None if self._dynamic_size else size

    def _with_flow(self, flow: Tensor) -> ListArray:
        new = ListArray(self._dtype, flow=flow, infer_shape=self._infer_shape)
        new._element_shape = self._element_shape
        new._dynamic_size, new._size = self._dynamic_size, self._size
        return new

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """Raises NotImplementedError: the gradient of a list is a list, without an array of its own."""
        raise NotImplementedError("A TensorArray of control flow v2 has no array of gradients.")

    def read(self, index: Any, name: str | None = None) -> Tensor:
        dims = self._element_shape[0]
        value = apply_one(
            "TensorListGetItem", self._flow, index, _shape(dims), element_dtype=self._dtype, name=name
        )
        value.set_shape(dims)
        return value

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        with framework.name_scope(name, "TensorArrayV2Write", [self._flow, index, value]):
            tensor = convert_to_tensor(value, self._dtype, "value")
            self._learn(tensor.dims)
            flow = apply_one(
                "TensorListSetItem",
                self._flow,
                index,
                tensor,
                resize_if_index_out_of_bounds=self._dynamic_size,
                name=name,
            )
        return self._with_flow(flow)

    def stack(self, name: str | None = None) -> Tensor:
        with framework.name_scope(name, "TensorArrayV2Stack", [self._flow]):
            count = self._size if isinstance(self._size, int) else -1
            return apply_one(
                "TensorListStack",
                self._flow,
                _shape(self._element_shape[0]),
                element_dtype=self._dtype,
                num_elements=count,
                name=name,
            )

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        shape = _shape(self._element_shape[0])
        return apply_one("TensorListGather", self._flow, indices, shape, element_dtype=self._dtype, name=name)

    def concat(self, name: str | None = None) -> Tensor:
        dims = self._element_shape[0]
        shape = _shape(None if dims is None else (None, *dims[1:]))
        leading = convert_to_tensor([], dtypes.int64)
        value: Tensor = apply_op(
            "TensorListConcatV2", self._flow, shape, leading, element_dtype=self._dtype, name=name
        )[0]
        return value

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        with framework.name_scope(name, "TensorArrayUnstack", [self._flow, value]):
            tensor = convert_to_tensor(value, self._dtype, "value")
            dims = None if tensor.dims is None else tensor.dims[1:]
            self._learn(dims)
            flow = apply_one("TensorListFromTensor", tensor, _shape(dims), name=name)
        return self._with_flow(flow)

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        with framework.name_scope(name, "TensorArrayScatter", [self._flow, value, indices]):
            tensor = convert_to_tensor(value, self._dtype, "value")
            if tensor.dims is not None:
                self._learn(tensor.dims[1:])
            shape = _shape(self._element_shape[0])
            flow = apply_one("TensorListScatterV2", tensor, indices, shape, self.size(), name=name)
        return self._with_flow(flow)

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        from tensorfleet.ops.array.casting import cast

        with framework.name_scope(name, "TensorArraySplit", [self._flow, value, lengths]):
            tensor = convert_to_tensor(value, self._dtype, "value")
            dims = self._element_shape[0]
            if dims is None and tensor.dims is not None:
                dims = (None, *tensor.dims[1:])
            sizes = cast(lengths, dtypes.int64)
            flow = apply_one("TensorListSplit", tensor, _shape(dims), sizes, name=name)
        return self._with_flow(flow)

    def size(self, name: str | None = None) -> Tensor:
        if self._size is not None:
            return convert_to_tensor(self._size, dtypes.int32)
        return apply_one("TensorListLength", self._flow, name=name)

    def close(self, name: str | None = None) -> Operation:
        """Does nothing: the list goes with the step."""
        return apply_none("NoOp", name=name)


def _shape(dims: Dims) -> Tensor:
    if dims is None:
        return convert_to_tensor(-1, dtypes.int32)
    return convert_to_tensor([-1 if dim is None else dim for dim in dims], dtypes.int32)
