"""`Defun` of `tensorflow.python.framework.function`: functions with declared arguments, in a graph's library.

The Python function is called once, with placeholders, when its definition is first needed. Each call is an
operation whose type is the function's name.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tensorfleet.core import attr_value, dtypes, errors
from tensorfleet.core.dtypes import DType
from tensorfleet.functions.body import BodyGraph, build
from tensorfleet.functions.call_node import call_attributes, call_function
from tensorfleet.functions.naming import hashed_name
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.function_def import definition_of
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.proto import op_def_pb2
from tensorfleet.proto.function_pb2 import FunctionDef

_LETTERS = {
    **{dtypes.float16: "f16", dtypes.float32: "f32", dtypes.float64: "f64", dtypes.bfloat16: "b16"},
    **{dtypes.int8: "i8", dtypes.int16: "i16", dtypes.int32: "i32", dtypes.int64: "i64"},
    **{dtypes.uint8: "i8", dtypes.uint16: "u16", dtypes.uint32: "u32", dtypes.uint64: "u64"},
    **{dtypes.complex64: "c64", dtypes.complex128: "c128", dtypes.bool: "b", dtypes.string: "s"},
    **{dtypes.qint8: "qi8", dtypes.quint8: "qu8", dtypes.qint16: "qi16", dtypes.quint16: "qu16"},
    dtypes.qint32: "qi32",
}


class Defun:
    """A decorator of functions of tensors (`function.Defun`).

    Args:
        input_types: the dtypes of the arguments; those of each call, if none is given.
        func_name: the name in the library; by default the function's own, with a hash of its definition.
        grad_func: a function of the arguments and of the gradients of the results, decorated as well.
        python_grad_func: a function of a call's operation and of those gradients, called by `tf.gradients`.
        out_names: as many names as there are results.
        shape_func: a function of a call's operation that returns the shapes of its results.
        capture_by_value: copy into the body what it uses of the graph around it.
        whitelisted_stateful_ops: operations with state that may be copied so.
        capture_resource_var_by_value: whether what `tf.get_variable` gives for a resource variable is its
            value, read outside of the function.
        noinline: keep each call an operation of its own when a step runs.
        compiled, separate_compiled_gradients: kept as attributes; nothing is compiled.

    Raises:
        ValueError: an attribute of another type.

    Example:
        >>> from tensorfleet.functions.defun import Defun
        >>> @Defun(tf.float32, func_name="Double")
        ... def double(x):
        ...     return x * 2
        >>> double(tf.constant(1.0)).op.type
        'Double'
    """

    def __init__(self, *input_types: Any, **kwargs: Any) -> None:
        self._types = [dtypes.as_dtype(each) for each in input_types]
        self._options = kwargs

    def __call__(self, func: Callable[..., Any]) -> Any:
        """The decorated function: a DefinedFunction, or an OverloadedFunction where no dtypes are known.

        Raises:
            ValueError: it takes another number of arguments than was declared, or arguments by keyword.
        """
        if not callable(func):
            raise ValueError(f"Function {func} must be a callable.")
        parameters = inspect.signature(func).parameters.values()
        kinds = [each.kind for each in parameters]
        if inspect.Parameter.VAR_KEYWORD in kinds or any(
            each.default is not each.empty for each in parameters
        ):
            raise ValueError(
                f"Functions with argument defaults or keywords arguments are not supported, such as {func}."
            )
        names = [each.name for each in parameters if each.kind is not each.VAR_POSITIONAL]
        takes_more = len(names) < len(kinds)
        if self._types:
            count = len(self._types)
            if count < len(names) or (count > len(names) and not takes_more):
                raise ValueError(
                    f"The function takes {len(names)} arguments; {count} is the number of specified input "
                    "types."
                )
            return DefinedFunction(func, names, self._types, **self._options)
        if not kinds:
            return DefinedFunction(func, [], [], **self._options)
        return OverloadedFunction(func, names, **self._options)


class DefinedFunction:
    """A function with declared arguments, and its definition, which is made when it is first needed."""

    def __init__(
        self,
        func: Callable[..., Any] | None,
        argument_names: Sequence[str],
        input_types: Sequence[DType],
        func_name: str | None = None,
        grad_func: Any = None,
        python_grad_func: Callable[..., Any] | None = None,
        out_names: Sequence[str] | None = None,
        shape_func: Callable[..., Any] | None = None,
        capture_by_value: bool = False,
        whitelisted_stateful_ops: Any = None,
        allowlisted_stateful_ops: Any = None,
        capture_resource_var_by_value: bool = True,
        **kwargs: Any,
    ) -> None:
        self._func = func
        self._func_name = func_name
        self._types = list(input_types)
        self._argument_names = [
            argument_names[i] if i < len(argument_names) else f"arg{i}" for i in range(len(self._types))
        ]
        self._grad_func: DefinedFunction | None = grad_func
        self._python_grad_func = python_grad_func
        self._out_names = out_names
        self._shape_func = shape_func
        self._by_value = capture_by_value
        self._copied_effects = frozenset(allowlisted_stateful_ops or whitelisted_stateful_ops or ())
        self._reads_variables = capture_resource_var_by_value
        self._options = kwargs
        call_attributes("function", kwargs)  # errors where the function is declared
        self._devices = get_default_graph()._scopes.devices[-1:]
        self._body: BodyGraph | None = None
        self._definition: FunctionDef | None = None
        self._is_being_defined = False
        if func is not None:
            functools.update_wrapper(self, func)

    # What programs ask

    @property
    def name(self) -> str:
        """The function's name in the library."""
        return self.definition.signature.name

    @property
    def definition(self) -> FunctionDef:
        """The function as a FunctionDef message."""
        if self._definition is None:
            self._define()
        assert self._definition is not None
        return self._definition

    @property
    def cached_definition(self) -> FunctionDef:
        """`definition`."""
        return self.definition

    @property
    def _signature(self) -> op_def_pb2.OpDef:
        return self.definition.signature

    @property
    def declared_input_types(self) -> tuple[DType, ...]:
        """The dtypes of the declared arguments."""
        return tuple(self._types)

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors of outer graphs that each call passes after the declared arguments."""
        _ = self.definition
        return [] if self._body is None else self._body.captured

    @property
    def stateful_ops(self) -> list[tuple[str, str]]:
        """(name, op type) of each operation of the body that has state."""
        _ = self.definition
        return [] if self._body is None else self._body.stateful_ops

    @property
    def grad_func(self) -> DefinedFunction | None:
        """The function that is the gradient."""
        return self._grad_func

    @property
    def grad_func_name(self) -> str | None:
        """The name of the function that is the gradient."""
        return None if self._grad_func is None else self._grad_func.name

    @property
    def python_grad_func(self) -> Callable[..., Any] | None:
        """The gradient as a Python function of a call's operation and of the gradients of its outputs."""
        return self._python_grad_func

    def set_grad_func(self, grad_func: DefinedFunction) -> None:
        """Names the function that is the gradient, once."""
        assert not self._grad_func
        assert isinstance(grad_func, DefinedFunction)
        self._grad_func = grad_func

    # The definition

    def _define(self) -> None:
        if self._is_being_defined:
            raise ValueError(f"Function {self._func} calls itself while it is being defined.")
        self._is_being_defined = True
        try:
            assert self._func is not None
            label = self._func_name or _base_name(self._func)
            body = build(
                self._func,
                [(name, dtype) for name, dtype in zip(self._argument_names, self._types, strict=True)],
                label,
                by_value=self._by_value,
                copied_effects=self._copied_effects,
                reads_variables=self._reads_variables,
                devices=self._devices,
            )
            definition = self._made(label, body)
        finally:
            self._is_being_defined = False
        self._body, self._definition = body, definition

    def _made(self, label: str, body: BodyGraph) -> FunctionDef:
        outputs = body.results
        if self._out_names:
            if len(self._out_names) != len(outputs):
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    "output names must be either empty or equal in size to outputs. output names size = "
                    f"{len(self._out_names)} outputs size = {len(outputs)}",
                )
            twice = next((name for name in self._out_names if list(self._out_names).count(name) > 1), None)
            if twice is not None:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Cannot have duplicate output names. Name '{twice}' appears more than once in "
                    "'output_names' array.",
                )
        definition = definition_of(
            "", body.get_operations(), body.arguments, outputs, self._out_names or None, False
        )
        if not self._func_name and self._grad_func is not None:
            label += f"_{self._grad_func.name}"
        for key, value in call_attributes(label, self._options).items():
            attr_value.to_proto(value, definition.attr[key])
        definition.signature.name = self._func_name or hashed_name(label, definition)
        if self._func is not None and self._func.__doc__:
            definition.signature.description = self._func.__doc__
        return definition

    def add_to_graph(self, g: Graph) -> None:
        """Puts the function, those that it calls, and its gradient into a graph's library.

        Raises:
            InvalidArgumentError: another function of one of these names is there, or an op of that name.
            ValueError: this function has two gradients.
        """
        if self._grad_func is not None and self._python_grad_func is not None:
            raise ValueError(f"Gradient defined twice for function {self.name}")
        g._add_function(self, self.grad_func_name)
        if self._body is not None:
            self._body.add_functions(g)
        if self._grad_func is not None:
            self._grad_func.add_to_graph(g)

    # Calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results of a call; its operation, if there are none.

        Args:
            args: what converts to tensors of the declared dtypes.
            kwargs: `name`, that of the operation; `noinline`; attributes whose names begin with
                "experimental_".

        Raises:
            ValueError: another number of arguments than was declared, a tensor of another dtype, an unknown
                keyword, or a result of the function that is None.
            InvalidArgumentError: another number of results than of `out_names`.
        """
        tensors = [convert_to_tensor(arg) for arg in args]
        op = self.call_with_captured([*tensors, *self.captured_inputs], **kwargs)
        if not op.outputs:
            return op
        return op.outputs[0] if len(op.outputs) == 1 else tuple(op.outputs)

    def call_with_captured(
        self, tensors: Sequence[Tensor], name: str | None = None, **kwargs: Any
    ) -> Operation:
        """The operation of a call that is given what stands for captured tensors, too."""
        graph = get_default_graph()
        self.add_to_graph(graph)
        op = call_function(self.definition.signature, graph, tensors, name, kwargs)
        if self._shape_func is not None:
            shapes = self._shape_func(op)
            if len(shapes) != len(op.outputs):
                raise ValueError(
                    f"shape_func {self._shape_func} produced {len(shapes)} shapes, which does not match "
                    f"{len(op.outputs)} outputs."
                )
            for tensor, shape in zip(op.outputs, shapes, strict=True):
                tensor.set_shape(shape)
        return op


class OverloadedFunction:
    """A function without declared arguments: one `DefinedFunction` for each list of dtypes."""

    def __init__(
        self,
        func: Callable[..., Any],
        argument_names: Sequence[str],
        func_name: str | None = None,
        grad_func: Any = None,
        python_grad_func: Callable[..., Any] | None = None,
        **options: Any,
    ) -> None:
        assert grad_func is None or isinstance(grad_func, OverloadedFunction)
        self._func = func
        self._argument_names = argument_names
        self._func_name = func_name
        self._grad_func = grad_func
        self._options = options
        self._python_grad_func = python_grad_func
        call_attributes("function", {k: v for k, v in options.items() if k not in _OWN_OPTIONS})
        self._overloads: dict[str, DefinedFunction] = {}
        functools.update_wrapper(self, func)

    @property
    def python_grad_func(self) -> Callable[..., Any] | None:
        """The gradient as a Python function of a call's operation and of the gradients of its outputs."""
        return self._python_grad_func

    def instantiate(self, input_types: Sequence[Any]) -> DefinedFunction:
        """The function of arguments of these dtypes.

        Raises:
            ValueError: a dtype that functions cannot be told apart by.
        """
        types = [dtypes.as_dtype(each).base for each in input_types]
        unknown = [dtype for dtype in types if dtype not in _LETTERS]
        if unknown:
            raise ValueError(f"Unsupported dtypes {unknown} in `types`. Supported dtypes are {_LETTERS}.")
        key = "".join(_LETTERS[dtype] for dtype in types)
        found = self._overloads.get(key)
        if found is None:
            found = DefinedFunction(
                self._func,
                self._argument_names,
                types,
                self._func_name and f"{self._func_name}_{key}",
                None,
                self._python_grad_func,
                **self._options,
            )
            signature = found.definition.signature
            if self._grad_func is not None:
                results = [dtypes.from_enum(arg.type) for arg in signature.output_arg]
                found.set_grad_func(self._grad_func.instantiate([*types, *results]))
            self._overloads[key] = found
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results of a call, as `DefinedFunction` gives them."""
        tensors = [convert_to_tensor(arg) for arg in args]
        return self.instantiate([tensor.dtype for tensor in tensors])(*tensors, **kwargs)


_OWN_OPTIONS = frozenset(
    (
        *("out_names", "shape_func", "capture_by_value", "whitelisted_stateful_ops"),
        *("allowlisted_stateful_ops", "capture_resource_var_by_value"),
    )
)


def _base_name(func: Callable[..., Any]) -> str:
    return str(getattr(func, "__name__", None) or type(func).__name__).strip("<>")
