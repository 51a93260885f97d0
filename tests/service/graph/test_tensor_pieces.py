"""Large tensors are read from their messages' bytes by parts, with the result that protobuf gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from google.protobuf.message import DecodeError

from tensorfleet.core import dtypes, tensor_util
from tensorfleet.proto import master_pb2
from tensorfleet.proto.named_tensor_pb2 import NamedTensorProto
from tensorfleet.proto.tensor_pb2 import TensorProto, VariantTensorDataProto
from tensorfleet_service.graph import message_pieces, tensor_pieces

NUMBERS = np.arange(300)
MESSAGES = (
    {
        "content": tensor_util.to_proto(NUMBERS.astype(np.float32).reshape(3, 100)),
        "bools": tensor_util.to_proto(NUMBERS % 2 == 0),
        "strings": tensor_util.to_proto(np.array([b"a" * i for i in range(40)], object)),
        "raw strings": TensorProto(
            dtype=dtypes.string.enum,  # type: ignore[arg-type]
            tensor_shape={"dim": [{"size": 2}]},  # type: ignore[arg-type]
            tensor_content=b"\x03\x60abc" + b"d" * 96,
        ),
        "one string": tensor_util.to_proto(np.array(b"ab" * 100, object)),
        "variants": TensorProto(
            dtype=dtypes.variant.enum,  # type: ignore[arg-type]
            tensor_shape={"dim": [{"size": 9}]},  # type: ignore[arg-type]
            variant_val=[VariantTensorDataProto(type_name="n", metadata=b"m" * i) for i in range(9)],
        ),
    }
    | {
        dt.name: tensor_util._one_by_one(NUMBERS[: 100 + 4 * i].astype(dt.np), dt, (100 + 4 * i,))
        for i, dt in enumerate(
            (
                *(dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.complex64),
                *(dtypes.complex128, dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.int32, dtypes.int64),
                *(dtypes.uint32, dtypes.uint64, dtypes.bool, dtypes.qint8, dtypes.float8_e5m2),
            )
        )
    }
)


@pytest.fixture(params=[8, 64])
def piece(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    size: int = request.param
    monkeypatch.setattr(message_pieces, "PIECE", size)
    monkeypatch.setattr(message_pieces, "_SHORT", 1 << 20)  # each field is looked at
    monkeypatch.setattr(tensor_pieces, "_VARINTS", size)
    return size


@pytest.mark.parametrize("name", MESSAGES)
def test_it_is_what_the_message_has(name: str, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    message = MESSAGES[name]
    expected = tensor_util.make_ndarray(message)
    data = message.SerializeToString()
    read: list[int] = []

    parse = TensorProto.FromString

    class Parts:
        DESCRIPTOR = TensorProto.DESCRIPTOR

        @staticmethod
        def FromString(part: bytes) -> Any:
            read.append(len(part))
            return parse(part)

    if name != "variants":
        monkeypatch.setattr(tensor_pieces, "TensorProto", Parts)
    found = tensor_pieces.array(data)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tolist() == expected.tolist()
    assert found.flags.writeable
    if name != "variants":
        assert max(read) <= 3 * piece + 32  # never the whole


@pytest.mark.parametrize("split", [1, 3])
def test_fields_that_come_again(split: int, piece: int) -> None:
    """Bytes joined are messages merged; numbers one by one need not be packed."""
    head = TensorProto(dtype=3, tensor_shape={"dim": [{"size": 60}]})  # type: ignore[arg-type]
    values = [1, -1, 300, 2**31 - 1, 0, -(2**31)] * 10
    unpacked = b"".join(
        b"\x38" + message_pieces._encoded(value & (1 << 64) - 1) for value in values[: 10 * split]
    )
    rest = TensorProto(int_val=values[10 * split :]).SerializeToString()
    data = unpacked + head.SerializeToString() + rest
    assert tensor_pieces.array(data).tolist() == values == list(TensorProto.FromString(data).int_val)


@pytest.mark.parametrize("name", ["content", "int32", "float32", "strings"])
def test_what_is_no_message(name: str, piece: int) -> None:
    data = MESSAGES[name].SerializeToString()
    with pytest.raises(DecodeError):
        tensor_pieces.array(data[:-1])
    with pytest.raises((DecodeError, ValueError)):
        tensor_pieces.array(data + b"\xff")


def test_halves_of_packed_numbers(piece: int) -> None:
    head = MESSAGES["float32"].SerializeToString()
    with pytest.raises(DecodeError):
        tensor_pieces.array(head + b"\x2a\x7f" + b"a" * 127)


@pytest.mark.parametrize("is_named", [True, False])
def test_large_tensors_of_requests_come_apart(is_named: bool, piece: int) -> None:
    tensors = [MESSAGES["float32"], tensor_util.to_proto(np.float32(3)), MESSAGES["strings"]]
    request: Any
    if is_named:
        feeds = [NamedTensorProto(name=f"{i}", tensor=tensor) for i, tensor in enumerate(tensors)]
        request = master_pb2.RunStepRequest(session_handle="s" * 90, feed=feeds, fetch=["f"] * 90)
    else:
        request = master_pb2.RunCallableRequest(session_handle="s" * 90, feed=tensors)
    apart: message_pieces.Apart = {}
    found: Any = message_pieces.parse(type(request), request.SerializeToString(), apart)
    assert [*apart] == [("feed", i) for i in range(3) if i != 1 or piece == 8]
    for (_, place), data in apart.items():
        own, tensor = request.feed[place], tensors[place]
        assert tensor_pieces.array(data).tolist() == tensor_util.make_ndarray(tensor).tolist()
        (own.tensor if is_named else own).Clear()
    assert found == request
