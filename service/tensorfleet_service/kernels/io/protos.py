"""DecodeProtoV2, EncodeProto: fields of protobuf messages of any type, which the graph or a file defines."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from google.protobuf import descriptor_pool, text_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, EncodeError
from google.protobuf.message_factory import GetMessageClass

from tensorfleet import proto
from tensorfleet.checkpoint.files import reported
from tensorfleet.core import errors
from tensorfleet.core.dtypes import DType
from tensorfleet.core.files import Files, path_of
from tensorfleet_service.graph.attributes import type_name
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import array_kernel, each_string, invalid, shape_text, string_vector
from tensorfleet_service.records.message_fields import Field, split
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.running import check as check_step

LOCAL, INLINE = b"local://", b"bytes://"

MAX_DESCRIPTORS = 16 << 20
"""The size of a FileDescriptorSet in bytes; programs with thousands of messages have one of a few MiB."""

MAX_VALUES = 1 << 27
"""Values of one field in a batch, with the padding: one long message makes the rows of all others long."""

_WELL_KNOWN = ("any", "descriptor", "duration", "empty", "field_mask", "struct", "timestamp", "wrappers")


# Definitions of messages


@cache
def _own_pool() -> DescriptorPool:
    """The messages that TensorFlow's programs have, by this library's names."""
    for name in _WELL_KNOWN:
        import_module(f"google.protobuf.{name}_pb2")
    for module in pkgutil.iter_modules(proto.__path__):
        if module.name.endswith("_pb2"):
            import_module(f"{proto.__name__}.{module.name}")
    return descriptor_pool.Default()


def _find_type(source: bytes, name: str, files: Files) -> tuple[DescriptorPool, Descriptor]:
    """A message type, and the pool with the types of its fields."""
    if source in (b"", LOCAL):
        pool = _own_pool()
        scope, dot, rest = name.partition(".")
        found = f"tensorfleet.{rest}" if dot and scope == "tensorflow" else name
    else:
        pool, found = _pool_of(source, files), name
    try:
        return pool, pool.FindMessageTypeByName(found)
    except KeyError:
        raise invalid(f"No descriptor found for message type {name}") from None


def _pool_of(source: bytes, files: Files) -> DescriptorPool:
    if source.startswith(INLINE):
        shown, content = "the bytes of descriptor_source", source[len(INLINE) :]
    else:
        shown = path = path_of(source)
        with reported(path), files.open_for_read(path) as file:
            content = _read(file)
    if len(content) > MAX_DESCRIPTORS:
        raise errors.ResourceExhaustedError(
            None,
            None,
            f"{shown}: descriptors of more than {MAX_DESCRIPTORS} bytes; leave out what is not used",
        )
    try:
        definitions = FileDescriptorSet.FromString(content).file
    except DecodeError:
        raise invalid(
            f"Source does not represent serialized file descriptor set proto: {shown}. "
            "protoc --descriptor_set_out=FILE --include_imports writes one."
        ) from None
    return _filled(definitions, shown)


def _read(file: Any) -> bytes:
    parts, size = [], 0
    while size <= MAX_DESCRIPTORS and (part := file.read(MAX_DESCRIPTORS + 1 - size)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _filled(definitions: Iterable[FileDescriptorProto], shown: str) -> DescriptorPool:
    """A pool of the definitions, each after those that it imports."""
    pool = DescriptorPool()
    waiting, known = list(definitions), set[str]()
    while waiting:
        ready = [each for each in waiting if known.issuperset(each.dependency)]
        if not ready:
            missing = sorted({name for each in waiting for name in each.dependency} - known)
            text = f"{shown}: {waiting[0].name} imports what is not there, or itself: {', '.join(missing)}"
            raise invalid(f"{text}. protoc --include_imports writes what is imported, too.")
        for each in ready:
            check_step()
            try:
                pool.Add(each)
            except (TypeError, ValueError) as e:
                raise invalid(f"{shown}: {each.name}: {e}") from None
            known.add(each.name)
        waiting = [each for each in waiting if each.name not in known]
    return pool


def _fields(node: KernelNode, types: list[DType], wrong_type: str) -> tuple[Any, list[Field]]:
    """The class of the messages, and the fields that a node names.

    Args:
        wrong_type: the message for a dtype that a field cannot have.
    """
    attrs = node.attrs
    name = attrs["message_type"].decode()
    pool, descriptor = _find_type(attrs["descriptor_source"], name, node.resources.files)
    fields = []
    for key, dtype in zip(attrs["field_names"], types, strict=True):
        named = _field(pool, descriptor, key.decode())
        if named is None:
            raise invalid(f"Unknown field: {key.decode()} in message type {name}")
        field = Field(named, dtype)
        if not field.fits:
            place = named.full_name if named.is_extension else f"{name}.{named.name}"
            raise invalid(
                wrong_type.format(
                    place=place,
                    name=named.name,
                    field=field.type_name,
                    number=field.number_name,
                    dtype=type_name(dtype),
                    type=type_name(dtype).upper(),
                )
            )
        fields.append(field)
    return GetMessageClass(descriptor), fields


def _field(pool: DescriptorPool, descriptor: Descriptor, name: str) -> FieldDescriptor | None:
    found = descriptor.fields_by_name.get(name)
    if found is not None:
        return found
    try:
        extension = pool.FindExtensionByName(name)
    except KeyError:
        return None
    return extension if extension.containing_type is descriptor else None


# Kernels


@array_kernel("DecodeProtoV2", lasting=True)
def decode_proto(node: KernelNode) -> Kernel:
    attrs = node.attrs
    types = attrs["output_types"]
    if len(attrs["field_names"]) != len(types):
        raise invalid("field_names and output_types attributes must have the same length")
    form = attrs["message_format"]
    if form not in (b"binary", b"text"):
        raise invalid("format must be one of binary or text")
    message, fields = _fields(node, types, "Unexpected output type for {place}: {number} to DT_{type}")
    anew = _reader(message, form == b"text") if form == b"text" or attrs["sanitize"] else None
    by_number = {field.number: field for field in reversed(fields)}  # the first of a name has the values

    def run(messages: Any) -> Any:
        if not messages.size:
            raise invalid("Bufs argument must contain at least one value")
        pieces: dict[int, list[list[bytes]]] = {number: [] for number in by_number}
        for item in each_string(messages, step=64):
            try:
                found = split(anew(item) if anew else item, by_number)
            except ValueError as e:
                raise _lost(f"Unable to parse binary protobuf: {e}") from None
            for number, parts in found.items():
                pieces[number].append(parts)
        sizes = np.zeros((messages.size, len(fields)), np.int32)
        outputs = []
        for place, (field, dtype) in enumerate(zip(fields, types, strict=True)):
            check_step()
            chosen = by_number[field.number] is field
            values, counts = _values(field, pieces[field.number] if chosen else [[]] * messages.size)
            sizes[:, place] = counts
            outputs.append(_filled_up(values, counts, field, dtype, messages.shape))
        return (sizes.reshape(*messages.shape, len(fields)), *outputs)

    return run if types else lambda messages: run(messages)[0]


def _lost(text: str) -> errors.DataLossError:
    return errors.DataLossError(None, None, text)


def _reader(message: Any, from_text: bool) -> Any:
    """A function that parses a message, and serializes it."""

    def read(item: bytes) -> bytes:
        try:
            if from_text:
                parsed = text_format.Parse(item, message(), descriptor_pool=message.DESCRIPTOR.file.pool)
            else:
                parsed = message.FromString(item)
            return bytes(parsed.SerializeToString())
        except (DecodeError, EncodeError, text_format.ParseError, UnicodeDecodeError, RecursionError) as e:
            raise _lost(f"Unable to parse {'text' if from_text else 'binary'} protobuf: {e}") from None

    return read


def _values(field: Field, pieces: list[list[bytes]]) -> tuple[Any, Any]:
    try:
        return field.values(pieces)
    except ValueError as e:
        raise _lost(f"Corrupt packed values of field {field.number}: {e}") from None


def _filled_up(values: Any, counts: Any, field: Field, dtype: DType, shape: tuple[int, ...]) -> Any:
    """The values of all messages as a dense array, with the field's default where there are none."""
    rows, width = len(counts), max(int(counts.max()), 1)
    if rows * width > MAX_VALUES:
        raise errors.ResourceExhaustedError(
            None,
            None,
            f"{rows} messages, one of them with {width} values of field {field.number}, would make a "
            f"tensor of more than {MAX_VALUES} elements; decode fewer messages at a time",
        )
    dense = np.full((rows, width), field.default, dtype.np)
    ends = np.cumsum(counts)
    dense[
        unlocked.repeat(np.arange(rows), counts),
        np.arange(len(values)) - unlocked.repeat(ends - counts, counts),
    ] = values
    return dense.reshape(*shape, width)


@array_kernel("EncodeProto", lasting=True)
def encode_proto(node: KernelNode) -> Kernel:
    types = node.attrs["Tinput_types"]
    if len(node.attrs["field_names"]) != len(types):
        raise invalid("Length of inputs list must match field_names")
    wrong = "Incompatible type for field {name}.  Saw dtype: {dtype} but field type is: {field}"
    fields = _fields(node, types, wrong)[1]
    in_order = sorted(range(len(fields)), key=lambda place: fields[place].number)

    def run(sizes: Any, *values: Any) -> Any:
        batch = _check(node, sizes, values)
        counts = sizes.reshape(-1, len(fields)).tolist()
        rows = [value.reshape(-1, value.shape[-1]) if value.size else None for value in values]
        found = []
        for message, wanted in enumerate(counts):
            if not message % 64:
                check_step()
            parts = []
            for place in in_order:
                count, width = wanted[place], values[place].shape[-1]
                if count > width:
                    raise invalid(
                        "Size to write must not be larger than value tensor; but saw: "
                        f"{count} > {width} at message {message} field {place}"
                    )
                row = rows[place]
                if count > 0 and row is not None:
                    parts.append(fields[place].written(row[message, :count]))
            found.append(b"".join(parts))
        return string_vector(found).reshape(batch)

    return run


def _check(node: KernelNode, sizes: Any, values: Any) -> tuple[int, ...]:
    """The shape of the batch. Raises InvalidArgumentError where the inputs do not have one."""
    for name, value in zip(node.attrs["field_names"], values, strict=True):
        if value.ndim < 2:
            raise invalid(f"Invalid shape for field {name.decode()}.  Saw shape {shape_text(value.shape)}")
        if value.shape[:-1] != values[0].shape[:-1]:
            raise invalid("Values must match up to the last dimension")
    batch: tuple[int, ...] = values[0].shape[:-1]
    expected = (*batch, len(values))
    if sizes.shape != expected:
        raise invalid(
            f"sizes should be batch_size + [len(field_names)].  Saw: {shape_text(sizes.shape)} "
            f"but expected: {shape_text(expected)}"
        )
    return batch
