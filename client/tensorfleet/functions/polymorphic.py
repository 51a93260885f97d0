"""`tf.function`: Python functions that are traced once for each kind of arguments."""

from __future__ import annotations

import functools
import inspect
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorfleet.core import structures
from tensorfleet.core.type_specs import TensorSpec
from tensorfleet.functions.concrete import ConcreteFunction
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.tensor import Tensor

_eagerly = False


def functions_run_eagerly() -> bool:
    """What `run_functions_eagerly` set; False by default."""
    return _eagerly


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Whether calls of `tf.function` put the operations into the graph where they are called
    (`tf.config.experimental_run_functions_eagerly`)."""
    global _eagerly
    _eagerly = bool(run_eagerly)


class Function:
    """A function that `tf.function` has decorated: one `ConcreteFunction` for each kind of arguments.

    Tensors and arrays are told apart by dtype and shape, all else by its value.
    """

    def __init__(
        self, python_function: Callable[..., Any], name: str | None, input_signature: Any = None
    ) -> None:
        self._python_function = python_function
        self._name = str(name or getattr(python_function, "__name__", "function")).strip("<>")
        self._signature = inspect.signature(python_function)
        if input_signature is not None and not isinstance(input_signature, (list, tuple)):
            raise TypeError(
                f"input_signature must be either a tuple or a list, received {type(input_signature)}"
            )
        self._input_signature = None if input_signature is None else tuple(input_signature)
        self._made_variables = False
        self._lock = threading.RLock()
        self._bound: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()
        functools.update_wrapper(self, python_function)

    @property
    def python_function(self) -> Callable[..., Any]:
        """The function that was decorated."""
        return self._python_function

    @property
    def input_signature(self) -> tuple[Any, ...] | None:
        """The TensorSpecs of the arguments, if they were declared."""
        return self._input_signature

    def __get__(self, instance: Any, owner: Any) -> Function:
        """The method of an object: what it traces is the object's own."""
        if instance is None:
            return self
        try:
            found = self._bound.get(instance)
        except TypeError:  # the object cannot be referred to weakly, or has no hash
            method = self._python_function.__get__(instance, owner)
            return Function(method, self._name, self._input_signature)
        if found is None:
            # A weak reference, or the table would keep the object that is its key.
            reference = weakref.ref(instance)
            function = self._python_function
            signature = inspect.signature(function.__get__(instance, owner))

            def call(*args: Any, **kwargs: Any) -> Any:
                return function(reference(), *args, **kwargs)

            functools.update_wrapper(call, function)
            call.__signature__ = signature  # type: ignore[attr-defined]
            found = self._bound[instance] = Function(call, self._name, self._input_signature)
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results of a call, in the structure that the Python function returns.

        Raises:
            TypeError: the arguments do not fit the function or its input signature.
            ValueError: the function makes variables in another call than the first.
        """
        if _eagerly:
            return self._python_function(*args, **kwargs)
        concrete, tensors = self._find(args, kwargs)
        return concrete.call_flat(tensors)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The function for arguments of a kind, told by TensorSpecs or by values."""
        if not args and not kwargs and self._input_signature is not None:
            args = self._input_signature
        return self._find(args, kwargs)[0]

    def _find(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[ConcreteFunction, list[Tensor]]:
        """The traced function, and the tensors that a call passes."""
        own_args, own_kwargs = self._complete(args, kwargs)
        leaves = structures.flatten((own_args, own_kwargs))
        kinds: list[Any] = []
        tensors: list[Tensor] = []
        for leaf in leaves:
            if isinstance(leaf, (Tensor, np.ndarray, np.generic)):
                tensor = convert_to_tensor(leaf)
                tensors.append(tensor)
                kinds.append(TensorSpec(tensor.shape, tensor.dtype.base))
            else:
                kinds.append(leaf)
        kinds = self._declared(kinds)
        packed = structures.pack((own_args, own_kwargs), kinds)
        key = (_shape_of(packed), tuple(map(_key, kinds)))
        with self._lock:
            graph = get_default_graph()
            traced = graph._traced.setdefault(self, {})  # forgotten with the graph
            found = traced.get(key)
            if found is None:
                found = traced[key] = self._trace(packed)
        return found, tensors

    def _complete(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments with defaults, by position as far as the function takes them so."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self._name}() {error}") from None
        bound.apply_defaults()
        own = list(bound.args)
        if self._input_signature is not None:
            if len(own) != len(self._input_signature) or bound.kwargs:
                raise TypeError(
                    f"{self._name}() takes {len(self._input_signature)} arguments as the input_signature "
                    f"says, got {len(own) + len(bound.kwargs)}"
                )
            own = [_as_declared(value, spec) for value, spec in zip(own, self._input_signature, strict=True)]
        return own, dict(bound.kwargs)

    def _declared(self, kinds: list[Any]) -> list[Any]:
        """The specs of the input signature in place of those of the arguments, which have to fit them."""
        if self._input_signature is None:
            return kinds
        specs = structures.flatten(list(self._input_signature))
        if len(specs) != len(kinds):
            raise ValueError(
                f"Structure of Python function inputs does not match input_signature: {self._input_signature}"
            )
        for kind, spec in zip(kinds, specs, strict=True):
            if not isinstance(kind, TensorSpec) or not spec.is_compatible_with(kind):
                raise ValueError(
                    f"Python inputs incompatible with input_signature: inputs: {kind}, input_signature: "
                    f"{spec}"
                )
        return specs

    def _trace(self, packed: tuple[list[Any], dict[str, Any]]) -> ConcreteFunction:
        args, kwargs = packed
        names = self._names(args, kwargs)
        may_make = not self._made_variables

        def made(may_make_variables: bool) -> ConcreteFunction:
            return ConcreteFunction(
                self._python_function, args, kwargs, names, self._name, may_make_variables
            )

        found = made(may_make)
        if found.graph.made:
            # As it will be called from now on: a function that makes variables each time is told now.
            self._made_variables = True
            found = made(False)
        return found

    def _names(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[str]:
        """A name for each tensor: that of its spec, or of its parameter."""
        names = []
        parameters = list(self._signature.parameters)
        for i, value in enumerate([*args, *kwargs.values()]):
            if i >= len(args):
                label = list(kwargs)[i - len(args)]
            else:
                label = parameters[min(i, len(parameters) - 1)]
            names += [
                leaf.name or label for leaf in structures.flatten(value) if isinstance(leaf, TensorSpec)
            ]
        return names


def _as_declared(value: Any, spec: Any) -> Any:
    """An argument with tensors in place of numbers where the signature declares a tensor."""
    if not isinstance(spec, TensorSpec) or isinstance(value, (Tensor, TensorSpec)):
        return value
    return convert_to_tensor(value, spec.dtype)


def _shape_of(structure: Any) -> Any:
    """The nesting of a structure, as a value that can be compared."""
    if isinstance(structure, dict):
        return ("dict", tuple((key, _shape_of(structure[key])) for key in sorted(structure, key=str)))
    if isinstance(structure, (list, tuple)):
        return (type(structure).__name__, tuple(map(_shape_of, structure)))
    return None


def _key(kind: Any) -> Any:
    """What tells a leaf from others: a spec, a value with its type, or which object it is."""
    if isinstance(kind, TensorSpec):
        dims = kind.shape._dims
        return "tensor", kind.dtype.enum, dims, kind.name
    if kind is None or isinstance(kind, (bool, int, float, complex, str, bytes)):
        return type(kind), kind
    return "object", _Same(kind)


class _Same:
    """An object that equals only itself, and stays as long as it is a key."""

    __slots__ = ("_object",)

    def __init__(self, given: Any) -> None:
        self._object = given

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._object is other._object

    def __hash__(self) -> int:
        return id(self._object)


def function(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Any:
    """A function whose calls are operations of the graph (`tf.function`).

    The Python function is called once for each kind of arguments, with placeholders. What it does to
    variables happens in the order of its statements.

    Args:
        func: takes and returns tensors in nested structures; None to decorate with these options.
        input_signature: TensorSpecs of the arguments; one trace serves all arguments that fit.
        autograph: ignored: Python's control flow is not converted.
        jit_compile, reduce_retracing, experimental_implements, experimental_autograph_options,
            experimental_attributes, experimental_relax_shapes, experimental_compile,
            experimental_follow_type_hints: ignored.

    Example:
        >>> @tf.function
        ... def scaled(x, by=2.0):
        ...     return {"value": x * by}
        >>> tf.Session().run(scaled(tf.constant(3.0)))
        {'value': np.float32(6.0)}
    """

    def decorated(inner: Callable[..., Any]) -> Function:
        if not callable(inner):
            raise TypeError(f"tf.function takes a function, not {inner!r}")
        return Function(inner, None, input_signature)

    return decorated if func is None else decorated(func)
