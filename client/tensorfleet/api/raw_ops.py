"""Functions for op types, made from their definitions: `tf.raw_ops`."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable
from typing import Any

from tensorfleet.graph import op_def
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.op_def import Attr, OpDef

# The arguments of functions that have other names than in the op's definition.
_RENAMED = {
    **{
        (op_type, "reduction_indices"): "axis"
        for op_type in ("All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum")
    },
    ("ExpandDims", "dim"): "axis",
    ("Select", "t"): "x",
    ("Select", "e"): "y",
    ("Split", "split_dim"): "axis",
    ("SplitV", "split_dim"): "axis",
    ("Squeeze", "squeeze_dims"): "axis",
    ("Where", "input"): "condition",
}


class _RawOps:
    """A function for each op type, whose arguments are given by name: `tf.raw_ops.Add(x=1, y=2)`."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or (definition := op_def.lookup(name)) is None:
            raise AttributeError(
                f"tf.raw_ops has no op {name}. docs/ops.md lists the ops that TensorFleet has."
            )
        made = self.__dict__[name] = _function(definition)
        return made

    def __dir__(self) -> list[str]:
        return [name for name in op_def.registered() if not name.startswith("_")]

    def __repr__(self) -> str:
        return "<the raw ops of TensorFleet>"


def _function(definition: OpDef) -> Callable[..., Any]:
    inputs = [arg.name for arg in definition.inputs]
    attrs = [attr for attr in definition.attrs.values() if attr.name not in definition.inferred]
    given = [attr for attr in attrs if not attr.has_default]
    chosen = [attr for attr in attrs if attr.has_default]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature(
        [
            *(inspect.Parameter(_python(definition.name, name), kind) for name in inputs),
            *(inspect.Parameter(_python(definition.name, attr.name), kind) for attr in given),
            *(
                inspect.Parameter(_python(definition.name, attr.name), kind, default=_default(attr))
                for attr in chosen
            ),
            inspect.Parameter("name", kind, default=None),
        ]
    )

    def make(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise TypeError(
                f"{definition.name} only takes keyword args (possible keys: {list(signature.parameters)})."
            )
        values = signature.bind(**kwargs).arguments
        name = values.pop("name", None)
        tensors = [values.pop(_python(definition.name, key)) for key in inputs]
        set_attrs = {
            attr.name: values[key] for attr in attrs if (key := _python(definition.name, attr.name)) in values
        }
        return apply_op(definition.name, *tensors, name=name, **set_attrs)

    make.__name__ = make.__qualname__ = definition.name
    make.__doc__ = f"The op {definition.name}."
    make.__signature__ = signature  # type: ignore[attr-defined]
    return make


def _python(op_type: str, name: str) -> str:
    """An argument's name: TensorFlow renames some, and words of Python."""
    name = _RENAMED.get((op_type, name), name)
    return f"{name}_" if keyword.iskeyword(name) else name


def _default(attr: Attr) -> Any:
    return attr.default.decode() if isinstance(attr.default, bytes) else attr.default


raw_ops = _RawOps()
