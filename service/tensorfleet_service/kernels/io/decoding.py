"""Values decoded from strings: DecodeCSV, ParseTensor, SerializeTensor, DecodeCompressed, …"""

from __future__ import annotations

import io
from itertools import pairwise
from typing import Any

import numpy as np
from google.protobuf.json_format import Parse, ParseError
from google.protobuf.message import DecodeError

from tensorfleet.core import dtypes, tensor_util
from tensorfleet.proto.example_pb2 import Example
from tensorfleet.records.compression import KINDS, inflated
from tensorfleet_service.graph import tensor_pieces
from tensorfleet_service.graph.attributes import type_name
from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.values import (
    STRINGS_PART,
    array_kernel,
    each_string,
    host_array,
    invalid,
    results,
    shape_text,
)
from tensorfleet_service.records.columns import object_array
from tensorfleet_service.records.csv import Format, column
from tensorfleet_service.threads import unlocked
from tensorfleet_service.threads.running import check as check_step

_PART = 4 << 20
"""Number of bytes that are decompressed between two looks at the step."""


_PADDED = 1 << 20
"""Number of bytes of texts that are padded by one call."""


@array_kernel("DecodeCSV")
def decode_csv(node: KernelNode) -> Kernel:
    attrs = node.attrs
    types, select = attrs["OUT_TYPE"], attrs["select_cols"]
    if select and (len(select) != len(types) or any(i < 0 for i in select)):
        raise invalid("select_cols should match output size, and have no negative numbers")
    if any(a >= b for a, b in pairwise(select)):
        raise invalid("select_cols should be strictly increasing indices")
    form = Format(attrs["field_delim"], attrs["use_quote_delim"], attrs["na_value"], select)
    count = len(types)

    def run(records: Any, *defaults: Any) -> Any:
        for i, default in enumerate(defaults):
            if default.size > 1:
                raise invalid(f"There should only be 1 default per field but field {i} has {default.size}")
        columns: list[list[Any]] = [unlocked.Listed() for _ in types]
        for number, record in enumerate(each_string(records)):
            fields = form.take(form.fields(record))
            if len(fields) != count:
                raise invalid(f"Expect {count} fields but have {len(fields)} in record {number}")
            where = f" {number}"
            for place, (field, dtype, default) in enumerate(zip(fields, types, defaults, strict=True)):
                columns[place].append(form.value(field, dtype, default, place, where, f" {number}!"))
        return results(
            [
                _shaped(column(values, dtype), records.shape)
                for values, dtype in zip(columns, types, strict=True)
            ]
        )

    return run


def _shaped(values: Any, shape: tuple[int, ...]) -> Any:
    return values.reshape(shape) if shape or values.dtype == object else values[0]


@array_kernel("DecodePaddedRaw")
def decode_padded_raw(node: KernelNode) -> Kernel:
    dtype = node.output_types[0]
    assert dtype.np is not None
    stored = dtype.np if node.attrs["little_endian"] else dtype.np.newbyteorder(">")

    def run(x: Any, fixed_length: Any) -> Any:
        length = int(fixed_length)
        if length <= 0:
            raise invalid(f"fixed_length ({length}) must be greater than zero.")
        if length % dtype.size:
            raise invalid(
                f"fixed_length ({length}) must be a multiple of the size of out_type ({dtype.size})"
            )
        result = np.empty((x.size, length // dtype.size), dtype.np)
        flat, step = x.reshape(-1), min(max(_PADDED // length, 1), STRINGS_PART)
        for begin in range(0, flat.size, step):
            check_step()
            items = [item[:length].ljust(length, b"\0") for item in flat[begin : begin + step].tolist()]
            result[begin : begin + step] = np.frombuffer(b"".join(items), stored).reshape(len(items), -1)
        return result.reshape(*x.shape, length // dtype.size)

    return run


@array_kernel("ParseTensor")
def parse_tensor(node: KernelNode) -> Kernel:
    dtype, xp = node.attrs["out_type"], node.xp

    def run(serialized: Any) -> Any:
        if serialized.ndim:
            text = f"Expected `serialized` to be a scalar, got shape: {shape_text(serialized.shape)}"
            raise invalid(text)
        try:
            array = tensor_pieces.array(serialized[()])
        except (DecodeError, TypeError, ValueError) as e:
            raise invalid(f"Cannot parse tensor from proto: {e}") from None
        if array.dtype != dtype.np:
            found = type_name(dtypes.from_numpy(array.dtype))
            raise invalid(f"Type mismatch between parsed tensor ({found}) and dtype ({type_name(dtype)})")
        if array.dtype.hasobject:
            return array
        moved = xp.asarray(array)
        return moved if moved.ndim else moved[()]

    return run


@array_kernel("SerializeTensor")
def serialize_tensor(node: KernelNode) -> Kernel:
    return lambda tensor: tensor_util.serialized(host_array(tensor))


@array_kernel("DecodeJSONExample")
def decode_json_example(node: KernelNode) -> Kernel:
    def run(texts: Any) -> Any:
        found = []
        for text in each_string(texts, 64):
            try:
                found.append(Parse(text, Example()).SerializeToString())
            except (ParseError, UnicodeDecodeError) as e:
                raise invalid(f"Error while parsing JSON: {e}") from None
        return object_array(found).reshape(texts.shape)

    return run


@array_kernel("DecodeCompressed", lasting=True)
def decode_compressed(node: KernelNode) -> Kernel:
    kind = node.attrs["compression_type"].decode()
    if kind not in KINDS:
        raise invalid("Only ZLIB, GZIP or NONE are supported compressions")

    def run(data: Any) -> Any:
        found = [_decompressed(item, kind) if kind else item for item in data.reshape(-1).tolist()]
        return object_array(found).reshape(data.shape)

    return run


def _decompressed(data: bytes, kind: str) -> bytes:
    """The content of a compressed string, which may be a thousand times as long."""
    content, parts = inflated(io.BytesIO(data), kind), []
    while part := content.read(_PART):
        check_step()
        parts.append(part)
    return b"".join(parts)
