"""Element types: their attributes, their spellings, and that there is one object for each."""

from __future__ import annotations

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

from tensorfleet.core import dtypes

ENUMS = range(1, 34)


@pytest.mark.parametrize("enum", ENUMS)
def test_every_type_is_one_object_under_all_its_names(enum: int) -> None:
    dt = dtypes.from_enum(enum)
    assert dt.enum == dt.as_datatype_enum == hash(dt) == enum
    assert (
        dtypes.as_dtype(enum) is dtypes.as_dtype(dt.name) is dtypes.as_dtype(dt) is dtypes.DType(enum) is dt
    )
    assert pickle.loads(pickle.dumps(dt)) is copy.deepcopy(dt) is dt


@pytest.mark.parametrize("enum", ENUMS)
def test_reference_types_differ_only_in_being_references(enum: int) -> None:
    dt = dtypes.from_enum(enum)
    ref = dt._as_ref
    assert ref is dtypes.from_enum(enum + 100) is ref._as_ref
    assert (dt.is_ref, ref.is_ref, dt.base, ref.base) == (False, True, dt, dt)
    assert (ref.np, ref.size, ref.is_floating, ref.is_integer) == (
        dt.np,
        dt.size,
        dt.is_floating,
        dt.is_integer,
    )
    assert ref != dt
    assert dt.is_compatible_with(ref)
    assert not ref.is_compatible_with(dt)


@pytest.mark.parametrize("enum", [enum for enum in ENUMS if enum not in (20, 21)])
def test_numpy_dtypes_lead_back_to_the_type(enum: int) -> None:
    dt = dtypes.from_enum(enum)
    assert dt.np is not None
    assert dtypes.from_numpy(dt.np) is dtypes.as_dtype(dt.np) is dtypes.as_dtype(dt.as_numpy_dtype) is dt


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("float", dtypes.float32),
        ("half", dtypes.float16),
        ("double_ref", dtypes.float64._as_ref),
        (float, dtypes.float32),
        (bool, dtypes.bool),
        (object, dtypes.string),
        (np.float32, dtypes.float32),
        (np.float64(0.5), dtypes.float64),
        (np.zeros(2, np.int8), dtypes.int8),
        (np.longlong, dtypes.int64),
        (np.ulonglong, dtypes.uint64),
        (np.dtype("U3"), dtypes.string),
        (np.dtype("S3"), dtypes.string),
        (np.dtype("O"), dtypes.string),
        (np.dtype(">f4"), dtypes.float32),
        (ml_dtypes.bfloat16, dtypes.bfloat16),
    ],
)
def test_spellings(spelling: object, expected: dtypes.DType) -> None:
    assert dtypes.as_dtype(spelling) is expected
    assert expected == spelling


@pytest.mark.parametrize(
    "bad", [int, str, bytes, complex, None, "foo", "FLOAT32", "f4", 99, 0, [1], {}, np.dtype("M8[s]")]
)
def test_anything_else_is_refused_by_name(bad: object) -> None:
    with pytest.raises(TypeError) as caught:
        dtypes.as_dtype(bad)
    assert str(caught.value) == f"Cannot convert the argument `type_value`: {bad!r} to a TensorFlow DType."
    assert dtypes.float32 != bad


def test_text_forms() -> None:
    assert repr(dtypes.float32) == "tf.float32"
    assert str(dtypes.float32._as_ref) == "<dtype: 'float32_ref'>"


def test_ranges() -> None:
    assert (dtypes.int8.min, dtypes.int8.max, dtypes.int8.limits) == (-128, 127, (0, 127))
    assert dtypes.float32.max == np.finfo(np.float32).max
    assert float(dtypes.bfloat16.max) == 2.0**127 * (2 - 2**-7)
    with pytest.raises(
        TypeError, match=r"^Cannot find minimum value of <dtype: 'qint8'> with quantized type"
    ):
        _ = dtypes.qint8.min
    with pytest.raises(TypeError, match=r"^Cannot find maximum value of <dtype: 'resource'>\.$"):
        _ = dtypes.resource.max
    with pytest.raises(ValueError, match="does not have defined limits"):
        _ = dtypes.complex64.limits


def test_types_without_arrays() -> None:
    for dt in (dtypes.resource, dtypes.variant):
        assert dt.np is None
        assert not dt.is_numpy_compatible
        with pytest.raises(KeyError):
            _ = dt.as_numpy_dtype


def test_quantized_types_are_marked() -> None:
    assert {dt.name for dt in dtypes.QUANTIZED_DTYPES if not dt.is_ref} == {
        "qint8",
        "quint8",
        "qint16",
        "quint16",
        "qint32",
    }
    assert len(dtypes.QUANTIZED_DTYPES) == 10
    assert not dtypes.qint8.is_integer


def test_real_part() -> None:
    assert dtypes.complex64.real_dtype is dtypes.float32
    assert dtypes.complex128._as_ref.real_dtype is dtypes.float64
    assert dtypes.int32.real_dtype is dtypes.int32
