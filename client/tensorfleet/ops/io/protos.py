"""Fields of serialized protobuf messages as tensors, and back (`tf.io.decode_proto`, `encode_proto`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.core import dims
from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_one, apply_op
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.shape_rules import with_rank_at_least


def _decoded(node: RuleNode) -> list[Dims]:
    batch, count = node.inputs[0].dims, len(node.attrs["output_types"])
    if batch is None:
        return [None] * (1 + count)
    return [(*batch, len(node.attrs["field_names"])), *[(*batch, None)] * count]


def _encoded(node: RuleNode) -> list[Dims]:
    batch: Dims = None
    for given in node.inputs:
        shape = with_rank_at_least(given.dims, 2)
        batch = dims.merge(batch, None if shape is None else shape[:-1])
    return [batch]


op(
    "DecodeProtoV2(bytes: string) -> (sizes: int32, values: list(output_types))",
    "message_type: string",
    "field_names: list(string)",
    "output_types: list(type) >= 0",
    'descriptor_source: string = "local://"',
    'message_format: string = "binary"',
    "sanitize: bool = false",
    shape=_decoded,
)
op(
    "EncodeProto(sizes: int32, values: list(Tinput_types)) -> (bytes: string)",
    "field_names: list(string)",
    "message_type: string",
    'descriptor_source: string = "local://"',
    "Tinput_types: list(type) >= 1",
    shape=_encoded,
)


def decode_proto(
    bytes: Any,
    message_type: str,
    field_names: Sequence[str],
    output_types: Sequence[Any],
    descriptor_source: str | bytes = "local://",
    message_format: str = "binary",
    sanitize: bool = False,
    name: str | None = None,
) -> Any:
    """Fields of serialized protobuf messages, a tensor for each field (`tf.io.decode_proto`).

    Args:
        bytes: string messages, of any shape `[...]`.
        message_type: the full name of their type, such as "tensorflow.Example".
        field_names: the fields; an extension by its full name.
        output_types: the dtype of each: that of the field's type, or one that has all its numbers; int32 for
            enums, string for messages, which stay serialized.
        descriptor_source: where the type is defined: "local://" for TensorFlow's own messages, the path of a
            file on the task with a serialized FileDescriptorSet (`protoc --descriptor_set_out
            --include_imports`), or "bytes://" and such a set itself.
        message_format: "binary", or "text".
        sanitize: whether messages are parsed and serialized anew first: they have to be right in all their
            parts then, and what stays serialized is in the form that protobuf writes.

    Returns:
        A named tuple of `sizes`, int32 [..., number of fields], how many values each message has of each
        field; and `values`, for each field a tensor [..., largest number, at least 1], filled up with the
        field's default.

    Raises:
        InvalidArgumentError: when it runs: there is no such type or field, or a dtype does not fit.
        DataLossError: when it runs: what is given is no message of this type.

    Example:
        >>> message = tf.train.Int64List(value=[3, 4]).SerializeToString()
        >>> decoded = tf.io.decode_proto([message, b""], "tensorflow.Int64List", ["value"], [tf.int64])
        >>> tf.Session().run(decoded.values[0])
        array([[3, 4],
               [0, 0]])
    """
    return apply_op(
        "DecodeProtoV2",
        bytes,
        message_type=message_type,
        field_names=field_names,
        output_types=output_types,
        descriptor_source=descriptor_source,
        message_format=message_format,
        sanitize=sanitize,
        name=name,
    )


def encode_proto(
    sizes: Any,
    values: Sequence[Any],
    field_names: Sequence[str],
    message_type: str,
    descriptor_source: str | bytes = "local://",
    name: str | None = None,
) -> Tensor:
    """Serialized protobuf messages of tensors with the values of their fields (`tf.io.encode_proto`).

    Args:
        sizes: int32 [..., number of fields], how many values each message has of each field.
        values: for each field a tensor [..., at least as many values].
        field_names, message_type, descriptor_source: as of `decode_proto`.

    Returns:
        string [...].

    Raises:
        InvalidArgumentError: when it runs: there is no such type or field, a dtype does not fit, or a size is
            larger than the tensor of its values.
    """
    return apply_one(
        "EncodeProto",
        sizes,
        values,
        field_names=field_names,
        message_type=message_type,
        descriptor_source=descriptor_source,
        name=name,
    )
