"""`tf.Variable`: the common base of reference and resource variables, and their creation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tensorfleet.core import shapes
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.func_graph import FuncGraph
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.init_scope import init_scope
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.scopes import prepend_scope, strip_scope
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.state import save_slice, variable_ops
from tensorfleet.ops.state.variable_options import VariableAggregation, VariableSynchronization, creators
from tensorfleet.proto import variable_pb2

if TYPE_CHECKING:
    from tensorfleet.session.session import BaseSession


_create: Callable[..., Variable] | None = None


def serve_creation(create: Callable[..., Variable]) -> None:
    """Registers the function that makes variables; called by `variable_creation`, which has the classes."""
    global _create
    _create = create


class VariableMeta(type):
    """Lets `tf.Variable(...)` make a variable of the class that `use_resource` and the scopes select."""

    @property
    def __signature__(cls) -> inspect.Signature:
        """The signature of `__init__`, which `inspect` shows instead of that of `__call__`."""
        signature = inspect.signature(cls.__init__)  # type: ignore[misc]
        return signature.replace(
            parameters=list(signature.parameters.values())[1:], return_annotation=inspect.Signature.empty
        )

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is not Variable:
            return super().__call__(*args, **kwargs)
        parameters = list(inspect.signature(Variable.__init__).parameters.values())[1:]
        names = [parameter.name for parameter in parameters]
        if len(args) > len(names):
            raise TypeError(f"Variable() takes at most {len(names)} positional arguments")
        arguments = dict(zip(names, args, strict=False))
        for key, value in kwargs.items():
            if key not in names or key in arguments:
                raise TypeError(f"Variable() got an unexpected or repeated argument {key!r}")
            arguments[key] = value
        # A creator gets all arguments, also those that were not given.
        arguments = {parameter.name: parameter.default for parameter in parameters} | arguments
        assert _create is not None
        create: Callable[..., Any] = _create
        graph = get_default_graph()
        for creator in creators(graph):
            create = _with_next(creator, create)
        if not isinstance(graph, FuncGraph) or not graph.lifts_variables:
            return create(**arguments)
        graph._before_variable(arguments)
        with init_scope():
            return create(**arguments)


def _with_next(creator: Callable[..., Any], following: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **arguments: creator(following, **arguments)


class Variable(metaclass=VariableMeta):
    """A tensor whose value lasts between runs (`tf.Variable`).

    Args:
        initial_value: the value, of any form that converts to a tensor, or a function that returns it.
        trainable: whether optimizers change the variable, which then is in the collection
            TRAINABLE_VARIABLES.
        collections: the collections to add it to, by default GLOBAL_VARIABLES.
        validate_shape: whether the shape must be known and cannot change.
        caching_device: a device on which readers share a copy.
        dtype: the dtype that `initial_value` is converted to.
        constraint: a function from the variable's value to the one that an optimizer stores instead.
        use_resource: whether to make a resource variable; the default is a reference variable.
        shape: the shape, by default that of `initial_value`.

    Example:
        >>> v = tf.Variable([1.0, 2.0], name="v")
        >>> with tf.Session() as session:
        ...     session.run(tf.global_variables_initializer())
        ...     session.run(v.assign_add([1.0, 1.0]))
        array([2., 3.], dtype=float32)
    """

    SaveSliceInfo = save_slice.SaveSliceInfo
    _is_reference = False
    # NumPy must leave `ndarray + Variable` to Variable.__radd__.
    __array_priority__ = 100

    _variable: Tensor
    _initial_value: Tensor | None
    _initializer_op: Operation | None

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: variable_pb2.VariableDef | None = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: Any = None,
    ) -> None:
        raise NotImplementedError("Subclasses of tf.Variable make themselves")

    def _set_up(
        self,
        collections: Any,
        trainable: bool | None,
        constraint: Any,
        synchronization: VariableSynchronization,
        aggregation: VariableAggregation,
    ) -> list[Any]:
        """Keeps the arguments that are not in the graph; returns the collections to join."""
        if collections is None:
            collections = [GraphKeys.GLOBAL_VARIABLES]
        if not isinstance(collections, (list, tuple, set)):
            raise ValueError(
                "collections argument to Variable constructor must be a list, tuple, or set. "
                f"Got {collections} of type {type(collections)}"
            )
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        if synchronization is not None and not isinstance(synchronization, VariableSynchronization):
            raise ValueError(f"Invalid variable synchronization mode: {synchronization}")
        if aggregation is not None and not isinstance(aggregation, VariableAggregation):
            raise ValueError(f"Invalid variable aggregation mode: {aggregation}")
        on_read = synchronization is VariableSynchronization.ON_READ
        self._trainable = not on_read if trainable is None else bool(trainable)
        self._constraint = constraint
        self._synchronization = synchronization or VariableSynchronization.AUTO
        self._aggregation = aggregation or VariableAggregation.NONE
        self._save_slice_info: save_slice.SaveSliceInfo | None = None
        joined = list(collections)
        if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in joined:
            joined.append(GraphKeys.TRAINABLE_VARIABLES)
        return joined

    def _set_up_from_proto(
        self, definition: variable_pb2.VariableDef, import_scope: str | None
    ) -> Callable[[str], Any]:
        """Keeps the fields of a VariableDef; returns a function from names in it to elements of the graph."""
        graph = get_default_graph()

        def element(name: str) -> Any:
            return graph.as_graph_element(prepend_scope(name, import_scope))

        self._variable = element(definition.variable_name)
        self._name = self._variable.name
        self._initializer_op = element(definition.initializer_name)
        initial_value = definition.initial_value_name
        self._initial_value = element(initial_value) if initial_value else None
        self._trainable = definition.trainable
        self._synchronization = VariableSynchronization(definition.synchronization)
        self._aggregation = VariableAggregation(definition.aggregation)
        self._constraint = None
        self._save_slice_info = None
        if definition.HasField("save_slice_info_def"):
            self._save_slice_info = save_slice.SaveSliceInfo(
                save_slice_info_def=definition.save_slice_info_def, import_scope=import_scope
            )
        return element

    # Properties

    @property
    def name(self) -> str:
        """The name, such as "w:0"."""
        return self._name

    @property
    def op(self) -> Operation:
        """The operation of the variable itself."""
        return self._variable.op

    @property
    def graph(self) -> Graph:
        """The graph of the variable."""
        return self._variable.graph

    @property
    def device(self) -> str:
        """The device requested for the variable; "" leaves the choice to the master."""
        return self._variable.device

    @property
    def dtype(self) -> DType:
        """The dtype; of a reference variable the reference type, such as float32_ref."""
        return self._variable.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is known before a run."""
        return self._variable.shape

    def get_shape(self) -> TensorShape:
        """The shape, as far as it is known before a run."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Merges `shape` into the static shape."""
        self._variable.set_shape(shape)
        self.value().set_shape(shape)

    @property
    def initializer(self) -> Any:
        """The operation that gives the variable its initial value."""
        return self._initializer_op

    @property
    def initial_value(self) -> Any:
        """The tensor that the initializer assigns."""
        return self._initial_value

    @property
    def trainable(self) -> bool:
        """Whether optimizers change the variable by default."""
        return self._trainable

    @property
    def synchronization(self) -> VariableSynchronization:
        """When copies of the variable are synchronized; without effect."""
        return self._synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        """How copies of the variable are aggregated; without effect."""
        return self._aggregation

    @property
    def constraint(self) -> Any:
        """The function from a value to the one that an optimizer stores in its place, or None."""
        return self._constraint

    def _get_save_slice_info(self) -> save_slice.SaveSliceInfo | None:
        return self._save_slice_info

    def _set_save_slice_info(self, save_slice_info: save_slice.SaveSliceInfo | None) -> None:
        self._save_slice_info = save_slice_info

    def _snapshot_name(self) -> str:
        raise NotImplementedError

    def to_proto(self, export_scope: str | None = None) -> variable_pb2.VariableDef | None:
        """The variable as a VariableDef, or None if it is not in the name scope `export_scope`."""
        if export_scope is not None and not self._variable.name.startswith(export_scope):
            return None
        definition = variable_pb2.VariableDef(
            variable_name=strip_scope(self._variable.name, export_scope),
            initializer_name=strip_scope(self.initializer.name, export_scope),
            snapshot_name=strip_scope(self._snapshot_name(), export_scope),
            is_resource=not self._is_reference,
            trainable=self._trainable,
            synchronization=self._synchronization.value,  # type: ignore[arg-type]
            aggregation=self._aggregation.value,  # type: ignore[arg-type]
        )
        if self._initial_value is not None:
            definition.initial_value_name = strip_scope(self._initial_value.name, export_scope)
        if self._save_slice_info is not None:
            info = self._save_slice_info.to_proto(export_scope)
            if info is not None:
                definition.save_slice_info_def.CopyFrom(info)
        return definition

    @staticmethod
    def from_proto(variable_def: variable_pb2.VariableDef, import_scope: str | None = None) -> Variable:
        """The variable of the default graph that a VariableDef describes."""
        assert _create is not None
        return _create(variable_def=variable_def, import_scope=import_scope)

    # Reading

    def value(self) -> Tensor:
        """The value as a tensor; readers of a reference variable share one."""
        raise NotImplementedError

    def read_value(self) -> Tensor:
        """The value as a new tensor, read after the current control dependencies."""
        raise NotImplementedError

    def initialized_value(self) -> Tensor:
        """The value, or the initial value if the variable is not initialized."""
        from tensorfleet.ops.control_flow.control_flow import cond

        value: Tensor = cond(
            variable_ops.is_variable_initialized(self), self.read_value, lambda: self.initial_value
        )
        return value

    def eval(self, session: BaseSession | None = None) -> Any:
        """The value in `session`, or in the default session."""
        return self._as_graph_element().eval(session=session)

    def load(self, value: Any, session: BaseSession | None = None) -> None:
        """Sets the value in `session`, or in the default session, through the initializer's input.

        Raises:
            ValueError: there is no session.
        """
        from tensorfleet.graph.default_session import get_default_session

        session = session or get_default_session()
        if session is None:
            raise ValueError(
                "Either session argument should be provided or default session should be established"
            )
        session.run(self.initializer, {self.initializer.inputs[1]: value})

    def _as_graph_element(self) -> Tensor:
        """The tensor that `Session.run` fetches for the variable."""
        raise NotImplementedError

    # Changing; `tensorfleet.ops.state.variable_ops` distinguishes the two kinds.

    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Sets the value (`tf.assign`); with `read_value=False` the operation alone."""
        raise NotImplementedError

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Adds to the value (`tf.assign_add`); with `read_value=False` the operation alone."""
        raise NotImplementedError

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtracts from the value (`tf.assign_sub`); with `read_value=False` the operation alone."""
        raise NotImplementedError

    def count_up_to(self, limit: int) -> Tensor:
        """`tf.count_up_to` of the variable."""
        counted: Tensor = variable_ops.count_up_to(self, limit=limit)
        return counted

    def scatter_update(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Sets the rows at the indices of `sparse_delta`, an IndexedSlices (`tf.scatter_update`).

        Raises TypeError for another type.
        """
        return self._scatter(variable_ops.scatter_update, sparse_delta, use_locking, name)

    def scatter_add(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Adds to the rows at the indices of `sparse_delta`, an IndexedSlices (`tf.scatter_add`).

        Raises TypeError for another type.
        """
        return self._scatter(variable_ops.scatter_add, sparse_delta, use_locking, name)

    def scatter_sub(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Subtracts from the rows at the indices of `sparse_delta`, an IndexedSlices (`tf.scatter_sub`).

        Raises TypeError for another type.
        """
        return self._scatter(variable_ops.scatter_sub, sparse_delta, use_locking, name)

    def scatter_mul(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Multiplies the rows at the indices of `sparse_delta`, an IndexedSlices (`tf.scatter_mul`).

        Raises TypeError for another type.
        """
        return self._scatter(variable_ops.scatter_mul, sparse_delta, use_locking, name)

    def scatter_div(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Divides the rows at the indices of `sparse_delta`, an IndexedSlices (`tf.scatter_div`).

        Raises TypeError for another type.
        """
        return self._scatter(variable_ops.scatter_div, sparse_delta, use_locking, name)

    def scatter_min(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Takes the minimum with each row of `sparse_delta`, an IndexedSlices (`tf.scatter_min`).

        Raises TypeError for another type.
        """
        return self._scatter(variable_ops.scatter_min, sparse_delta, use_locking, name)

    def scatter_max(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Takes the maximum with each row of `sparse_delta`, an IndexedSlices (`tf.scatter_max`).

        Raises TypeError for another type.
        """
        return self._scatter(variable_ops.scatter_max, sparse_delta, use_locking, name)

    def _scatter(self, function: Callable[..., Any], delta: Any, use_locking: bool, name: str | None) -> Any:
        if not (hasattr(delta, "indices") and hasattr(delta, "values")):
            raise TypeError(f"sparse_delta is not IndexedSlices: {delta}")
        return function(self, delta.indices, delta.values, use_locking=use_locking, name=name)

    def batch_scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """`tf.batch_scatter_update` by the indices and values of `sparse_delta`, an IndexedSlices.

        Raises TypeError for another type.
        """
        from tensorfleet.ops.state.batch_scatter import batch_scatter_update

        return self._scatter(batch_scatter_update, sparse_delta, use_locking, name)

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """The slices `variable[indices]`; only variables that are resources have it.

        Raises AttributeError for others.
        """
        raise _needs_resource("sparse_read", "tf.gather")

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements or slices at `indices`; only variables that are resources have it.

        Raises AttributeError for others.
        """
        raise _needs_resource("gather_nd", "tf.gather_nd")

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """`tf.scatter_nd_update` of the variable."""
        return variable_ops.scatter_nd_update(self, indices, self._as_value(updates), name=name)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """`tf.scatter_nd_add` of the variable."""
        return variable_ops.scatter_nd_add(self, indices, self._as_value(updates), name=name)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """`tf.scatter_nd_sub` of the variable."""
        return variable_ops.scatter_nd_sub(self, indices, self._as_value(updates), name=name)

    def _as_value(self, value: Any) -> Tensor:
        from tensorfleet.graph.convert import convert_to_tensor

        return convert_to_tensor(value, self.dtype.base)

    # As a Python object

    def experimental_ref(self) -> VariableRef:
        """A hashable reference, compared by identity."""
        return VariableRef(self)

    ref = experimental_ref

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={shapes.TensorShape(self.shape)} dtype={self.dtype.name}>"

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(
            f"Variable {self.name} is not iterable: a graph's variables have no values. Use tf.unstack."
        )

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(
            f"Cannot convert the variable {self.name} to a numpy array. Fetch it with Session.run."
        )

    def __getitem__(self, item: Any) -> Tensor:
        """A slice of the value; its method `assign` sets that part of the variable."""
        from tensorfleet.ops.array.slicing import _slice_helper

        return _slice_helper(self.value(), item, self)


def _needs_resource(method: str, function: str) -> AttributeError:
    return AttributeError(f"Only a variable with use_resource=True has {method}; take {function} for others.")


class VariableRef:
    """A hashable reference to a variable, compared by identity (`Variable.ref()`)."""

    __slots__ = ("_variable",)

    def __init__(self, variable: Variable) -> None:
        self._variable = variable

    def deref(self) -> Variable:
        return self._variable

    def __hash__(self) -> int:
        return id(self._variable)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VariableRef) and other._variable is self._variable


def _overload(operator: str) -> None:
    def apply(self: Variable, *args: Any) -> Any:
        return getattr(Tensor, operator)(self.value(), *args)

    apply.__name__ = operator
    setattr(Variable, operator, apply)


for _name in (
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "div", "rdiv", "floordiv",
    "rfloordiv",
    "mod", "rmod", "pow", "rpow", "matmul", "rmatmul", "lt", "le", "gt", "ge", "and", "rand", "or", "ror",
    "xor", "rxor", "invert", "neg", "abs",
):  # fmt: skip
    _overload(f"__{_name}__")
