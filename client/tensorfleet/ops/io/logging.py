"""Messages from a running graph: `tf.Assert`, `tf.Print`, `tf.print`, `tf.timestamp`."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_none, apply_one, apply_op
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor, is_tensor
from tensorfleet.ops.shape_rules import nothing, scalar, unchanged

op(
    "Assert(condition: bool, data: list(T)) -> ()",
    "T: list(type) >= 1",
    "summarize: int = 3",
    shape=nothing,
    stateful=True,
)
op(
    "Print(input: T, data: list(U)) -> (output: T)",
    "T: type",
    "U: list(type) >= 0",
    'message: string = ""',
    "first_n: int = -1",
    "summarize: int = 3",
    shape=unchanged,
    stateful=True,
)
op(
    "PrintV2(input: string) -> ()",
    'output_stream: string = "stderr"',
    'end: string = "\n"',
    shape=nothing,
    stateful=True,
)
op(
    "StringFormat(inputs: list(T)) -> (output: string)",
    "T: list(type) >= 0",
    'template: string = "%s"',
    'placeholder: string = "%s"',
    "summarize: int = 3",
    shape=scalar,
)
op("Timestamp() -> (ts: float64)", shape=scalar, stateful=True)


def Assert(condition: Any, data: Any, summarize: int | None = None, name: str | None = None) -> Operation:
    """An operation that fails with `data` in its message unless `condition` holds (`tf.Assert`).

    Args:
        condition: a bool of rank 0.
        data: a list of tensors and strings.
        summarize: the number of elements of each tensor to show, 3 by default; -1 for all.

    Raises:
        InvalidArgumentError: in a run: `assertion failed: [data] …`.
    """
    summarize = 3 if summarize is None else summarize
    items = list(data)
    with framework.name_scope(name, "Assert", [condition, *items]):
        # Constants are converted, too, as the numbers in later names count TensorFlow's nodes for them.
        tensors = [convert_to_tensor(item) for item in items]
        # TensorFlow makes the Assert of other dtypes on a branch, so that values are copied only on failure.
        # Here a branch costs more than it saves; the node that fails has the name of TensorFlow's.
        plain = all(tensor.dtype.base in (dtypes.string, dtypes.int32) for tensor in tensors)
        node_name = "Assert" if plain else "AssertGuard/Assert"
        return apply_none("Assert", condition, items, summarize=summarize, name=node_name)


def Print(
    input_: Any,
    data: Any,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """`input_`; when it is computed, its task writes `data` to its standard error (`tf.Print`).

    Args:
        message: the text before the data.
        first_n: the number of times to write; always if negative or None.
        summarize: the number of elements of each tensor to show, 3 by default.
    """
    return apply_one(
        "Print", input_, list(data), message=message, first_n=first_n, summarize=summarize, name=name
    )


_STREAMS = {"<stderr>": "stderr", "<stdout>": "stdout"}


def print(*inputs: Any, **kwargs: Any) -> Operation:
    """An operation that writes its inputs to a stream of the task that runs it (`tf.print`).

    Args:
        inputs: tensors, Python values, and nested lists, tuples and dicts of them.
        output_stream: sys.stderr (the default), sys.stdout, or "file://PATH".
        summarize: the number of elements to show at each end of a dimension, 3 by default; -1 for all.
        sep: the text between two inputs, " " by default.
        end: the text after the last input, a line break by default.
        name: the operation's name.
    """
    stream = kwargs.pop("output_stream", "stderr")
    summarize = kwargs.pop("summarize", None)
    separator = kwargs.pop("sep", " ")
    end = kwargs.pop("end", "\n")
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    if not isinstance(stream, str):
        stream = _STREAMS.get(getattr(stream, "name", ""), "")
    if stream not in ("stderr", "stdout") and not stream.startswith("file://"):
        raise ValueError("Unsupported output stream: it must be sys.stderr, sys.stdout or a file:// path.")
    tensors: list[Tensor] = []
    placeholder = _unused("{}", inputs)
    template = separator.join(_template(item, placeholder, tensors, top=True) for item in inputs)
    text = apply_op("StringFormat", tensors, template=template, placeholder=placeholder, summarize=summarize)
    return apply_none("PrintV2", text, output_stream=stream, end=end, name=name)


def string_format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """A text with tensors in place of placeholders (`tf.strings.format`).

    Args:
        template: the text, with a placeholder for each tensor.
        inputs: the tensors: a list, a tuple, or one.
        summarize: the number of elements to show at each end of a dimension; -1 for all.

    Raises:
        ValueError: the numbers of tensors and placeholders differ.
    """
    tensors = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    wanted = template.count(placeholder)
    if wanted != len(tensors):
        raise ValueError(
            f"The template expects {wanted} tensors, but the inputs only has {len(tensors)}. Please ensure "
            "the number of placeholders in template matches inputs length."
        )
    return apply_one(
        "StringFormat",
        tensors,
        template=template,
        placeholder=placeholder,
        summarize=summarize,
        name=name,
    )


def _unused(placeholder: str, inputs: Any) -> str:
    text = repr(inputs)
    candidate, number = placeholder, 0
    while candidate in text:
        candidate = f"{placeholder}{number}"
        number += 1
    return candidate


def _template(item: Any, placeholder: str, tensors: list[Tensor], top: bool = False) -> str:
    """The template of an input: its text with a placeholder for each tensor."""
    if is_tensor(item):
        tensors.append(convert_to_tensor(item))
        return placeholder
    if isinstance(item, dict):
        parts = [f"{key!r}: {_template(item[key], placeholder, tensors)}" for key in sorted(item)]
        return "{" + ", ".join(parts) + "}"
    if isinstance(item, (list, tuple)):
        inner = ", ".join(_template(part, placeholder, tensors) for part in item)
        if isinstance(item, list):
            return f"[{inner}]"
        return f"({inner},)" if len(item) == 1 else f"({inner})"
    if hasattr(item, "__array__"):
        tensors.append(constant(item))
        return placeholder
    return str(item) if top else repr(item)


def timestamp(name: str | None = None) -> Tensor:
    """Seconds since 1970-01-01 UTC, a float64 (`tf.timestamp`)."""
    return apply_one("Timestamp", name=name)
