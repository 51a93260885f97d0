"""Variants as messages: their form is TensorFlow's, and what comes back is what was sent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorfleet.core import dtypes, errors
from tensorfleet.proto.tensor_pb2 import TensorProto, VariantTensorDataProto
from tensorfleet_service.kernels.data_flow.tensor_list_value import TensorList
from tensorfleet_service.kernels.variant_messages import from_message, to_message
from tensorfleet_service.kernels.variants import Variant
from tensorfleet_service.net.tensor_protos import proto_of, value_of
from tests.kernels.harness import run_op

UNLIMITED = b"\xff" * 9 + b"\x01"  # -1 as an unsigned number of 64 bits


def a_list(rows: Any) -> Any:
    return run_op("TensorListFromTensor", np.float32(rows), np.array([2], np.int32))


def test_a_list_has_tensorflows_form() -> None:
    """Elements that are not set, dtype, limit, and shape, as TensorFlow's server wrote them."""
    made = run_op("TensorListReserve", np.int32(-1), np.int32(3), element_dtype=dtypes.int32)
    made = run_op("TensorListSetItem", made, np.int32(1), np.int32(5))
    (message,) = to_message(made).variant_val
    assert message.type_name == "tensorflow::TensorList"
    assert message.metadata == b"\x02\x00\x02\x03" + UNLIMITED + b"\x18\x01"
    assert [from_message(tensor) for tensor in message.tensors] == [5]
    back = from_message(to_message(made))
    assert (back.dtype, back.dims, back.limit, back.items()) == (dtypes.int32, None, -1, [None, 5, None])


def test_lists_in_lists_and_arrays_of_them() -> None:
    outer = TensorList(dtypes.variant, (), [a_list([[1, 2], [3, 4]])], 4)
    both = np.empty(2, object)
    both[:] = [outer, a_list([[5, 6]])]
    first, second = from_message(to_message(both))
    assert first.limit == 4
    np.testing.assert_array_equal(first.item(0).item(1), [3, 4])
    np.testing.assert_array_equal(second.item(0), [5, 6])


@pytest.mark.parametrize("values", [[1, 2], [b"a", b"c"]], ids=["numbers", "strings"])
def test_parts_of_a_sparse_tensor(values: Any) -> None:
    """Tensors in an array, in the form that TensorFlow's serialize_tensor shows; two of them of one shape."""
    parts = (
        np.array([[0, 0], [1, 1]]),
        np.array(values, object if values[0] == b"a" else None),
        np.array([2, 2]),
    )
    made = run_op("SerializeSparse", *parts, out_type=dtypes.variant)
    message = to_message(made)
    assert [part.type_name for part in message.variant_val] == ["tensorflow::Tensor"] * 3
    back = value_of(proto_of(made))
    assert back.shape == (3,)
    dtype = dtypes.from_numpy(parts[1].dtype)
    for part, expected in zip(run_op("DeserializeSparse", back, dtype=dtype), parts, strict=True):
        np.testing.assert_array_equal(part, expected)
    rows = run_op("SerializeManySparse", *parts, out_type=dtypes.variant)
    np.testing.assert_array_equal(
        run_op("DeserializeSparse", from_message(to_message(rows)), dtype=dtype)[1], parts[1]
    )


@pytest.mark.parametrize("components", [None, [np.float32([1, 2]), b"x"]], ids=["none", "two"])
def test_optionals(components: Any) -> None:
    made = run_op("OptionalNone") if components is None else run_op("OptionalFromValue", components)
    message = to_message(made)
    assert message.variant_val[0].type_name == "tensorflow::data::Optional"
    assert message.variant_val[0].metadata == bytes([components is not None])
    back = from_message(message)
    assert bool(run_op("OptionalHasValue", back)) == (components is not None)
    if components is not None:
        values = run_op(
            "OptionalGetValue", back, output_types=[dtypes.float32, dtypes.string], output_shapes=[(2,), ()]
        )
        np.testing.assert_array_equal(values[0], [1, 2])
        assert values[1] == b"x"


def test_maps() -> None:
    made = run_op("TensorMapInsert", run_op("EmptyTensorMap"), b"a", np.float32(5))
    back = from_message(to_message(made))
    assert run_op("TensorMapLookup", back, b"a", value_dtype=dtypes.float32) == 5


def test_raw_content() -> None:
    """Messages of variants may stand behind each other, as TensorFlow's server sends them."""
    (inner,) = to_message(a_list([[1, 2]])).variant_val
    raw = inner.SerializeToString()
    whole = TensorProto(dtype=dtypes.variant.enum, tensor_content=bytes([len(raw)]) + raw)  # type: ignore[arg-type]
    np.testing.assert_array_equal(from_message(whole).item(0), [1, 2])


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        (b"\x09", "lack more elements"),
        (b"\x01\x07\x01" + UNLIMITED, "not in it"),
        (b"\x00\x01", "cut off"),
        (b"\x00\x01" + UNLIMITED + b"\xff", "damaged"),
    ],
)
def test_damaged_lists(metadata: bytes, text: str) -> None:
    variant = VariantTensorDataProto(type_name="tensorflow::TensorList", metadata=metadata)
    with pytest.raises(ValueError, match=text):
        from_message(TensorProto(dtype=dtypes.variant.enum, variant_val=[variant]))  # type: ignore[arg-type]


def of(kind: str, *parts: TensorProto, metadata: bytes = b"") -> VariantTensorDataProto:
    return VariantTensorDataProto(type_name=kind, metadata=metadata, tensors=parts)


def test_one_message_does_not_stand_for_several() -> None:
    """A message of a few bytes would be decoded a million times."""
    (inner,) = to_message(a_list([[1, 2]])).variant_val
    wide = TensorProto(dtype=dtypes.variant.enum, variant_val=[inner])  # type: ignore[arg-type]
    wide.tensor_shape.dim.add(size=1_000_000)
    with pytest.raises(ValueError, match="1 messages are not the 1000000 variants"):
        from_message(wide)


def test_messages_that_contradict_themselves() -> None:
    inner = to_message(a_list([[1, 2]]))
    metadata = inner.variant_val[0].metadata
    for variant, text in (
        (of("tensorflow::TensorMap", inner, inner), "key of a map"),
        (of("tensorflow::TensorList", to_message(np.int32([1, 2])), metadata=metadata), "of another type"),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=text):
            value_of(TensorProto(dtype=dtypes.variant.enum, variant_val=[variant]))  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidArgumentError, match="damaged"):
        value_of(TensorProto(dtype=dtypes.variant.enum, tensor_content=b"\x02\xff\xff"))  # type: ignore[arg-type]


@pytest.mark.parametrize("depth", [60, 1000])
def test_values_that_are_nested_too_deeply(depth: int) -> None:
    made = a_list([[1, 2]])
    for _ in range(depth):
        made = TensorList(dtypes.variant, (), [made])
    with pytest.raises(errors.InvalidArgumentError, match="nested too deeply"):
        proto_of(made)


def test_what_has_no_form() -> None:
    with pytest.raises(ValueError, match="Could not decode"):
        from_message(
            TensorProto(dtype=dtypes.variant.enum, variant_val=[VariantTensorDataProto(type_name="else")])  # type: ignore[arg-type]
        )
    with pytest.raises(errors.InternalError, match="no form"):
        to_message(Variant())
