"""`tf.TensorArray`: arrays of tensors that are written one by one, as in loops."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.composite_specs import TensorArraySpec
from tensorfleet.core.dims import Dims, concatenate, merge
from tensorfleet.core.dtypes import DType, as_dtype
from tensorfleet.core.shapes import TensorShape, as_dims
from tensorfleet.core.type_specs import serve_value_type
from tensorfleet.graph import framework, functional_flow
from tensorfleet.graph.apply import apply_none, apply_one, apply_op
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.shape_rules import nothing, scalar


def _made(op: RuleNode) -> list[Dims]:
    return [(2,), ()]


def _unknown(op: RuleNode) -> list[Dims]:
    return [None]


def _gathered(op: RuleNode) -> list[Dims]:
    indices = op.inputs[1].dims
    return [concatenate((None,) if indices is None else (indices[0],), op.attrs["element_shape"])]


def _concatenated(op: RuleNode) -> list[Dims]:
    return [concatenate((None,), op.attrs["element_shape_except0"]), (None,)]


op(
    "TensorArrayV3(size: int32) -> (handle: resource, flow: float32)",
    "dtype: type",
    "element_shape: shape = ?",
    "dynamic_size: bool = false",
    "clear_after_read: bool = true",
    "identical_element_shapes: bool = false",
    'tensor_array_name: string = ""',
    shape=_made,
    stateful=True,
)
op(
    "TensorArrayGradV3(handle: resource, flow_in: float32) -> (grad_handle: resource, flow_out: float32)",
    "source: string",
    shape=_made,
    stateful=True,
)
op(
    "TensorArrayGradWithShape(handle: resource, flow_in: float32, shape_to_prepend: int32) -> "
    "(grad_handle: resource, flow_out: float32)",
    "source: string",
    shape=_made,
    stateful=True,
)
op("TensorArrayCloseV3(handle: resource) -> ()", shape=nothing, stateful=True)
op("TensorArraySizeV3(handle: resource, flow_in: float32) -> (size: int32)", shape=scalar, stateful=True)
op(
    "TensorArrayReadV3(handle: resource, index: int32, flow_in: float32) -> (value: dtype)",
    "dtype: type",
    shape=_unknown,
    stateful=True,
)
op(
    "TensorArrayWriteV3(handle: resource, index: int32, value: T, flow_in: float32) -> (flow_out: float32)",
    "T: type",
    shape=scalar,
    stateful=True,
)
op(
    "TensorArrayGatherV3(handle: resource, indices: int32, flow_in: float32) -> (value: dtype)",
    "dtype: type",
    "element_shape: shape = ?",
    shape=_gathered,
    stateful=True,
)
op(
    "TensorArrayScatterV3(handle: resource, indices: int32, value: T, flow_in: float32) -> "
    "(flow_out: float32)",
    "T: type",
    shape=scalar,
    stateful=True,
)
op(
    "TensorArrayConcatV3(handle: resource, flow_in: float32) -> (value: dtype, lengths: int64)",
    "dtype: type",
    "element_shape_except0: shape = ?",
    shape=_concatenated,
    stateful=True,
)
op(
    "TensorArraySplitV3(handle: resource, value: T, lengths: int64, flow_in: float32) -> (flow_out: float32)",
    "T: type",
    shape=scalar,
    stateful=True,
)


class TensorArray:
    """An array of tensors of one dtype (`tf.TensorArray`).

    Each method that changes the array returns a new object, to be used from then on.

    Args:
        dtype: the dtype of the elements.
        size: the initial number of elements.
        dynamic_size: whether the array grows when an element past its end is written.
        clear_after_read: whether reading an element removes it.
        tensor_array_name: a name for the array itself.
        handle, flow: those of an existing array.
        infer_shape: whether all elements have the shape of the first one.
        element_shape: the shape of the elements.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> TensorArray:
        """With control flow v2, an array that is a list of tensors, whose gradients loops hand on."""
        is_new = cls is TensorArray and kwargs.get("handle") is None and len(args) < 6
        return super().__new__(_list_array() if is_new and functional_flow.is_used() else cls)

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
        if handle is not None and tensor_array_name:
            raise ValueError(
                "Cannot provide both `handle` and `tensor_array_name` arguments at the same time."
            )
        if handle is not None and size is not None:
            raise ValueError("Cannot provide both a `handle` and `size` arguments at the same time.")
        if handle is None and size is None:
            raise ValueError("Argument `size` must be provided if handle is not provided.")
        if handle is not None and element_shape is not None:
            raise ValueError("Cannot provide both `handle` and `element_shape` arguments at the same time.")
        if handle is not None and dynamic_size is not None:
            raise ValueError("Cannot provide both `handle` and `dynamic_size` arguments at the same time.")
        if handle is not None and clear_after_read is not None:
            raise ValueError(
                "Cannot provide both `handle` and `clear_after_read` arguments at the same time."
            )
        self._dtype = as_dtype(dtype).base
        self._infer_shape = infer_shape
        self._dynamic_size = bool(dynamic_size)
        self._colocate_with_first_write_call = colocate_with_first_write_call
        # A list that all objects of one array share, so that all learn the shape of its elements.
        self._element_shape: list[Dims] = [as_dims(element_shape)]
        self._first_written: list[Tensor] = []
        self._size: Any = None
        if handle is not None:
            assert flow is not None, "a handle comes with its flow"
            self._handle, self._flow = handle, flow
            return
        # Its device is that of its first value, not that of the current scopes.
        placed = (
            framework.colocate_with(None, ignore_existing=True)
            if colocate_with_first_write_call
            else nullcontext()
        )
        with framework.name_scope(name, "TensorArray", [size]) as scope, placed:
            made = apply_op(
                "TensorArrayV3",
                size,
                dtype=self._dtype,
                element_shape=element_shape,
                identical_element_shapes=infer_shape,
                dynamic_size=self._dynamic_size,
                clear_after_read=True if clear_after_read is None else clear_after_read,
                tensor_array_name=tensor_array_name or "",
                name=scope,
            )
        self._handle, self._flow = made.handle, made.flow
        if not self._dynamic_size:
            self._size = size

    @property
    def flow(self) -> Tensor:
        """The tensor that orders the uses of the array."""
        return self._flow

    @property
    def handle(self) -> Tensor:
        """The handle of the array."""
        return self._handle

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def dynamic_size(self) -> bool:
        """Whether it grows when an element past its end is written."""
        return self._dynamic_size

    @property
    def element_shape(self) -> TensorShape:
        """The shape of each element, as far as it is known."""
        return TensorShape(self._element_shape[0])

    def _with_flow(self, flow: Tensor) -> TensorArray:
        new = TensorArray(self._dtype, handle=self._handle, flow=flow, infer_shape=self._infer_shape)
        new._element_shape = self._element_shape
        new._dynamic_size = self._dynamic_size
        new._colocate_with_first_write_call = self._colocate_with_first_write_call
        new._first_written, new._size = self._first_written, self._size
        return new

    def _beside_first(self, value: Tensor) -> AbstractContextManager[None]:
        """Colocates the array with the first value that is written to it."""
        if not self._colocate_with_first_write_call:
            return nullcontext()
        if not self._first_written:
            self._first_written.append(value)
        return framework.colocate_with(self._first_written[0])

    def _learn(self, dims: Dims) -> None:
        if self._infer_shape:
            self._element_shape[0] = merge(self._element_shape[0], dims)

    def identity(self) -> TensorArray:
        """The same array, after the current control dependencies."""
        from tensorfleet.ops.array.identity import identity

        return self._with_flow(identity(self._flow))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """An array for the gradients of the elements; several writes to one element are added up.

        Args:
            source: the name of the call of `tf.gradients`; equal sources share the array of gradients.
            flow: the flow after which the array of gradients is made, with this array's size at that time.
        """
        from tensorfleet.ops.array.identity import identity

        flow = self._flow if flow is None else flow
        with (
            framework.name_scope(name, "TensorArrayGrad", [self._handle]),
            framework.colocate_with(self._handle),
        ):
            handle, _ = apply_op("TensorArrayGradV3", self._handle, flow, source=source, name=name)
            with framework.control_dependencies([handle]):
                flow = identity(flow, name="gradient_flow")
        new = TensorArray(
            self._dtype,
            handle=handle,
            flow=flow,
            infer_shape=self._infer_shape,
            colocate_with_first_write_call=False,
        )
        new._element_shape = self._element_shape
        return new

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The element at `index`."""
        value: Tensor = apply_op(
            "TensorArrayReadV3", self._handle, index, self._flow, dtype=self._dtype, name=name
        )
        value.dims = self._element_shape[0]
        return value

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with `value` as its element at `index`."""
        with framework.name_scope(name, "TensorArrayWrite", [self._handle, index, value]):
            value = convert_to_tensor(value, self._dtype, "value")
            self._learn(value.dims)
            with self._beside_first(value):
                flow = apply_op("TensorArrayWriteV3", self._handle, index, value, self._flow, name=name)
        return self._with_flow(flow)

    def stack(self, name: str | None = None) -> Tensor:
        """All elements as one tensor."""
        from tensorfleet.ops.array.constants import range as range_of

        with (
            framework.colocate_with(self._handle),
            framework.name_scope(name, "TensorArrayStack", [self._handle]),
        ):
            return self.gather(range_of(0, self.size()), name=name)

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements at `indices` as one tensor."""
        return apply_one(
            "TensorArrayGatherV3",
            self._handle,
            indices,
            self._flow,
            dtype=self._dtype,
            element_shape=TensorShape(self._element_shape[0]),
            name=name,
        )

    def concat(self, name: str | None = None) -> Tensor:
        """All elements, concatenated along their first dimension."""
        dims = self._element_shape[0]
        value: Tensor = apply_op(
            "TensorArrayConcatV3",
            self._handle,
            self._flow,
            dtype=self._dtype,
            element_shape_except0=TensorShape(None if dims is None else dims[1:]),
            name=name,
        )[0]
        return value

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """The array with the rows of a tensor as its elements."""
        from tensorfleet.ops.array.constants import range as range_of
        from tensorfleet.ops.array.shaping import shape

        with framework.name_scope(name, "TensorArrayUnstack", [self._handle, value]):
            tensor = convert_to_tensor(value, self._dtype)
            return self.scatter(range_of(0, shape(tensor)[0]), tensor, name=name)

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with the rows of a tensor as its elements at `indices`."""
        with framework.name_scope(name, "TensorArrayScatter", [self._handle, value, indices]):
            tensor = convert_to_tensor(value, self._dtype, "value")
            if tensor.dims is not None:
                self._learn(tensor.dims[1:])
            with self._beside_first(tensor):
                flow = apply_op("TensorArrayScatterV3", self._handle, indices, tensor, self._flow, name=name)
        return self._with_flow(flow)

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """The array with consecutive parts of a tensor, of the given lengths, as its elements."""
        from tensorfleet.ops.array.casting import cast

        with framework.name_scope(name, "TensorArraySplit", [self._handle, value, lengths]):
            tensor = convert_to_tensor(value, self._dtype)
            sizes = cast(lengths, dtypes.int64)
            with self._beside_first(tensor):
                flow = apply_op("TensorArraySplitV3", self._handle, tensor, sizes, self._flow, name=name)
        return self._with_flow(flow)

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements of the array: int32, rank 0."""
        if self._size is not None:
            return convert_to_tensor(self._size, dtypes.int32)
        return apply_one("TensorArraySizeV3", self._handle, self._flow, name=name)

    def close(self, name: str | None = None) -> Operation:
        """Drops the elements."""
        return apply_none("TensorArrayCloseV3", self._handle, name=name)


_self, *_parameters = inspect.signature(TensorArray.__init__).parameters.values()
TensorArray.__signature__ = inspect.Signature(_parameters)  # type: ignore[attr-defined]  # not that of __new__


_list_array: Callable[[], type[TensorArray]]


def serve_list_array(load: Callable[[], type[TensorArray]]) -> None:
    """Registers what gives the class of arrays for control flow v2."""
    global _list_array
    _list_array = load


def as_flow(value: Any) -> Any:
    """The flow of an array, which loops carry in its place; other values unchanged."""
    return value.flow if isinstance(value, TensorArray) else value


def with_flow(value: Any, flow: Tensor) -> Any:
    """The array `value` with another flow; `flow` itself if `value` is not an array."""
    return value._with_flow(flow) if isinstance(value, TensorArray) else flow


serve_value_type(TensorArraySpec, TensorArray)
