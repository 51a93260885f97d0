"""Types of a byte or less: casts, constants, feeds and fetches, and ops that move elements."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tests.compat.op_programs import Maker, program

NUMBERS = np.array([0, 1, -1.5, 3, 7.9, -9, 300, 1e6, -1e9, 1e-3, np.nan, np.inf, -np.inf, -0.0])
WHOLE = np.array([0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 100, -1, -2, -8, -9, -100, 255])
FLOAT8 = ("float8_e5m2", "float8_e4m3fn")
INT4 = ("int4", "uint4")
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_FLOATS = ("float16", "bfloat16", "float32", "float64")


def type_of(make: Maker, name: str) -> Any:
    return make.tf.as_dtype(name)


def cast(make: Maker, x: Any, name: str) -> Any:
    """The cast, also of a value that is not known before the run."""
    return make.tf.cast(x, type_of(make, name))


def _casts(small: str, others: tuple[str, ...], values: Any) -> None:
    def made(make: Maker) -> Any:
        small_values = make.fed(_numbers(values, small))
        fetches = [cast(make, small_values, other) for other in (*others, *small_family(small))]
        sources = [make.fed(_numbers(values, other)) for other in others]
        return [*fetches, *(cast(make, source, small) for source in sources)]

    made.__name__ = f"casts_of_{small}"
    program("Cast")(made)


def small_family(small: str) -> tuple[str, ...]:
    return FLOAT8 if small in FLOAT8 else INT4


def _numbers(values: Any, name: str) -> Any:
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    if values is WHOLE:
        return WHOLE.astype(dtype)
    with np.errstate(over="ignore"):
        return NUMBERS.astype(np.float32).astype(dtype) if dtype.kind in "fV" else WHOLE.astype(dtype)


for _name in FLOAT8:
    _casts(_name, _FLOATS, NUMBERS)
for _name in INT4:
    _casts(_name, _INTEGERS, WHOLE)


def _wide(small: str, others: tuple[str, ...]) -> None:
    def made(make: Maker) -> Any:
        # Only numbers that all of the types have.
        x = make.fed(np.array([0, 1, 3, 7]).astype(getattr(ml_dtypes, small)))
        return [cast(make, x, other) for other in others]

    made.__name__ = f"casts_of_{small}_to_more"
    program("Cast")(made)


for _name in FLOAT8:
    _wide(_name, (*_INTEGERS, "bool", "complex64", "complex128"))


def _refused(source: str, target: str) -> None:
    def made(make: Maker) -> Any:
        return cast(make, make.fed(np.array([1]).astype(getattr(ml_dtypes, source, source))), target)

    made.__name__ = f"cast_of_{source}_to_{target}"
    program("Cast")(made)


for _pair in (
    *(("int32", "float8_e5m2"), ("bool", "float8_e4m3fn"), ("float8_e5m2", "int4")),
    *(("float32", "int4"), ("int4", "float32"), ("int2", "int32"), ("uint2", "int2")),
):
    _refused(*_pair)


def _moved(small: str) -> None:
    def made(make: Maker) -> Any:
        tf, dtype = make.tf, getattr(ml_dtypes, small)
        fed = make.fed(np.array([[1, 0], [3, 1]]).astype(dtype))
        fixed = tf.constant(np.array([1, 0, 3]).astype(dtype))
        scalar = tf.constant(1, type_of(make, small))
        values = [tf.identity(fed), fixed, scalar, tf.reshape(fed, [4]), tf.zeros_like(fixed), tf.shape(fed)]
        if small in FLOAT8:
            values += [tf.concat([fed, fed], 1), tf.transpose(fed), tf.stack([fixed, fixed]), fixed[1:]]
            values += [tf.gather(fixed, [2, 0]), *tf.split(fed, 2)]
        return values

    made.__name__ = f"moves_of_{small}"
    program("Cast")(made)


for _name in (*FLOAT8, *INT4, "int2", "uint2", "float4_e2m1fn"):
    _moved(_name)
