"""Tensor: one output of an operation, by which other operations and `Session.run` name it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from tensorfleet.core import shapes
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import Dims, TensorShape
from tensorfleet.core.type_specs import TensorSpec, serve_value_type
from tensorfleet.graph.default_session import RunsSteps, eval_using_default_session

if TYPE_CHECKING:
    from tensorfleet.graph.graph import Graph
    from tensorfleet.graph.operation import Operation


class Tensor:
    """A symbolic value (`tf.Tensor`): it has a dtype and a static shape, and no data.

    Attributes:
        op: the Operation that makes it.
        value_index: its place among the outputs of `op`.
        dtype: its DType; a `_ref` type for the output of a reference variable.
        dims: its static shape in the internal form: a tuple of int or None, or None for an unknown rank.
    """

    # Libraries keep attributes of their own on tensors, hence __dict__.
    __slots__ = ("__dict__", "__weakref__", "_consumers", "dims", "dtype", "op", "value_index")

    # NumPy must leave `ndarray + Tensor` to Tensor.__radd__.
    __array_priority__ = 100
    # A set that can change, as in TensorFlow: libraries take out what they overload themselves.
    OVERLOADABLE_OPERATORS: ClassVar[set[str]] = set()

    def __init__(self, op: Operation, value_index: int, dtype: DType, dims: Dims = None) -> None:
        self.op = op
        self.value_index = value_index
        self.dtype = dtype
        self.dims = dims
        self._consumers: list[Operation] = []

    @property
    def name(self) -> str:
        """The name of its operation and the index of the output, such as "MatMul:0"."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def graph(self) -> Graph:
        """The graph that it is in."""
        return self.op.graph

    @property
    def device(self) -> str:
        """The device that was asked for its operation; "" leaves the choice to the master."""
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is known before a run."""
        return TensorShape(self.dims)

    @property
    def ndim(self) -> int | None:
        """The rank; None if it is not known."""
        return None if self.dims is None else len(self.dims)

    def get_shape(self) -> TensorShape:
        """The static shape, as `shape`."""
        return TensorShape(self.dims)

    def set_shape(self, shape: Any) -> None:
        """Merges what is known of the shape from elsewhere into the static shape.

        Raises:
            ValueError: `shape` contradicts what is known.
        """
        self.dims = shapes.merge(self.dims, shapes.as_dims(shape))

    def consumers(self) -> list[Operation]:
        """The operations that take this tensor as an input."""
        return list(self._consumers)

    def eval(self, feed_dict: dict[Any, Any] | None = None, session: RunsSteps | None = None) -> Any:
        """The tensor's value in `session`, or in the default session (`tf.Tensor.eval`)."""
        return eval_using_default_session(self, feed_dict, self.graph, session)

    def experimental_ref(self) -> TensorRef:
        """The tensor as a key of dictionaries, equal to the other references of the same tensor."""
        return TensorRef(self)

    ref = experimental_ref

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __str__(self) -> str:
        shape = "" if self.dims is None else f", shape={self.shape}"
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name}{device})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    def __iter__(self) -> Iterator[Tensor]:
        raise TypeError(
            f"iterating over `tf.Tensor` is not allowed in Graph execution: {self.name} has no values until "
            "a session runs it. Use tf.unstack."
        )

    def __len__(self) -> int:
        raise TypeError(f"len is not well defined for symbolic Tensors. ({self.name}) Use tf.shape.")

    def __bool__(self) -> bool:
        raise TypeError(
            f"using a `tf.Tensor` as a Python `bool` is not allowed in Graph execution: {self.name} has no "
            "value until a session runs it. Use `if t is not None:` to test whether a tensor is defined, and "
            "tf.cond to branch on its value."
        )

    __nonzero__ = __bool__  # its name in Python 2, by which libraries copy all operators

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(
            f"Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy array. Fetch it with Session.run."
        )

    @staticmethod
    def _override_operator(operator: str, func: Callable[..., Any]) -> None:
        setattr(Tensor, operator, func)

    if TYPE_CHECKING:  # The operators are set by tensorfleet.ops.math.operators.

        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __rfloordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __rmod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __rmatmul__(self, other: Any) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __rand__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __ror__(self, other: Any) -> Tensor: ...
        def __xor__(self, other: Any) -> Tensor: ...
        def __rxor__(self, other: Any) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __getitem__(self, item: Any) -> Tensor: ...


class TensorRef:
    """A hashable reference to a tensor, compared by identity (`Tensor.ref()`)."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def deref(self) -> Tensor:
        return self._tensor

    def __hash__(self) -> int:
        return id(self._tensor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorRef) and other._tensor is self._tensor


def is_tensor(x: Any) -> bool:
    """Whether `x` is symbolic: a Tensor, a Variable, or another type that stands for tensors."""
    return isinstance(x, Tensor) or hasattr(x, "_as_graph_element") or hasattr(x, "_is_composite_tensor")


serve_value_type(TensorSpec, Tensor)
