"""Element types: `tf.DType`, its constants and `tf.as_dtype`.

There is exactly one `DType` object per member of the `DataType` enum, so identity is equality, and
everything a hot path may ask of a type is a plain slot filled once, here. Four of them are the
internal contract: `dt.np`, `dt.enum`, `dt.base` and `dt.is_ref`.
"""

from __future__ import annotations

import builtins
from typing import Any

import ml_dtypes
import numpy as np

_REF_OFFSET = 100
_QUANTIZED_NAMES = frozenset(("qint8", "quint8", "qint16", "quint16", "qint32"))

_by_enum: dict[int, DType] = {}


class DType:
    """The type of a tensor's elements (`tf.DType`).

    `DType(enum)` gives the one object for that member of the `DataType` enum; TypeError if there is none.
    """

    __slots__ = (  # noqa: RUF023 - in the order in which they are declared
        "enum",  # member of the DataType enum, as an int
        "name",
        "np",  # numpy.dtype, or None for resource and variant
        "base",  # the type without its reference-ness
        "is_ref",
        "_as_ref",
        "is_floating",
        "is_integer",
        "is_complex",
        "is_bool",
        "is_unsigned",
        "is_quantized",
        "is_numpy_compatible",
        "size",  # bytes per element; 0 where it varies
    )

    enum: int
    name: str
    np: np.dtype[Any] | None
    base: DType
    is_ref: builtins.bool
    _as_ref: DType
    is_floating: builtins.bool
    is_integer: builtins.bool
    is_complex: builtins.bool
    is_bool: builtins.bool
    is_unsigned: builtins.bool
    is_quantized: builtins.bool
    is_numpy_compatible: builtins.bool
    size: int

    def __new__(cls, type_enum: int) -> DType:
        return from_enum(type_enum)

    @property
    def _is_ref_dtype(self) -> builtins.bool:
        return self.is_ref

    @property
    def is_numeric(self) -> builtins.bool:
        """Whether values are numbers: real, complex or quantized ones."""
        return self.is_floating or self.is_integer or self.is_complex or self.is_quantized

    @property
    def base_dtype(self) -> DType:
        """This type without its reference-ness."""
        return self.base

    @property
    def real_dtype(self) -> DType:
        """The type of this type's real part: a complex type's component, any other type itself."""
        if self.base is complex64:
            return float32
        if self.base is complex128:
            return float64
        return self

    @property
    def as_numpy_dtype(self) -> Any:
        """The matching Python type, such as `np.float32`; a structured `np.dtype` for quantized types.

        Raises KeyError for resource and variant, which have none.
        """
        if self.np is None:
            raise KeyError(self.enum)
        if self.is_quantized:
            return self.np
        return object if self is string else self.np.type

    @property
    def as_datatype_enum(self) -> int:
        """The member of the `DataType` enum, as an int."""
        return self.enum

    @property
    def min(self) -> Any:
        """The least representable value; TypeError where the type has no order or no numbers."""
        return self._extreme("minimum", "min")

    @property
    def max(self) -> Any:
        """The greatest representable value; TypeError where the type has no order or no numbers."""
        return self._extreme("maximum", "max")

    def _extreme(self, word: str, attribute: str) -> Any:
        if self.is_floating:
            return getattr(ml_dtypes.finfo(self.as_numpy_dtype), attribute)  # type: ignore[no-untyped-call]
        if self.is_integer:
            return getattr(ml_dtypes.iinfo(self.as_numpy_dtype), attribute)  # type: ignore[no-untyped-call]
        if self.np is None:
            raise TypeError(f"Cannot find {word} value of {self}.")
        kind = "quantized type" if self.is_quantized else "type"
        raise TypeError(f"Cannot find {word} value of {self} with {kind} {self.base}.")

    @property
    def limits(self) -> tuple[Any, Any]:
        """`(0, max)`: the range of intensities of an image of this type; 1 is a float's greatest."""
        if self.as_numpy_dtype in (np.float32, np.float64):
            return 0, 1
        if self.is_bool:
            return 0, True
        if self.is_integer and self.base not in SMALL_INTEGER_DTYPES:
            return 0, self.max
        raise ValueError(f"{self} does not have defined limits.")

    def is_compatible_with(self, other: object) -> builtins.bool:
        """Whether a tensor of type `other` may stand where this type is wanted: a reference as its base."""
        other = as_dtype(other)
        return self is other or self is other.base

    def __eq__(self, other: object) -> builtins.bool:
        if type(other) is DType or other is None:
            return self is other
        try:
            return self is as_dtype(other)
        except TypeError:
            return False

    def __hash__(self) -> int:
        return self.enum

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


def _intern(enum: int, name: str, np_type: Any, base: DType | None) -> DType:
    dt = object.__new__(DType)
    dt.enum, dt.name = enum, name
    dt.np = None if np_type is None else np.dtype(np_type)
    dt.base = base or dt
    dt.is_ref = base is not None
    kind = dt.base.name.split("_")[0].rstrip("0123456789")
    dt.is_quantized = dt.base.name in _QUANTIZED_NAMES
    dt.is_floating = kind in ("float", "bfloat")
    dt.is_integer = kind in ("int", "uint")
    dt.is_complex = kind == "complex"
    dt.is_bool = kind == "bool"
    dt.is_unsigned = kind == "uint"
    dt.is_numpy_compatible = dt.np is not None
    dt.size = 0 if dt.np is None or dt.np.hasobject else dt.np.itemsize
    _by_enum[enum] = dt
    return dt


def _define(enum: int, name: str, np_type: Any) -> DType:
    """Makes a type together with its reference type."""
    base = _intern(enum, name, np_type, None)
    ref = _intern(enum + _REF_OFFSET, name + "_ref", np_type, base)
    base._as_ref = ref._as_ref = ref
    return base


def _quantized(name: str, np_type: Any) -> np.dtype[Any]:
    # A one-field struct keeps quantized arrays apart from plain integers in numpy, as TensorFlow does.
    return np.dtype([(name, np_type)])


float32 = _define(1, "float32", np.float32)
float64 = _define(2, "float64", np.float64)
int32 = _define(3, "int32", np.int32)
uint8 = _define(4, "uint8", np.uint8)
int16 = _define(5, "int16", np.int16)
int8 = _define(6, "int8", np.int8)
string = _define(7, "string", np.object_)
complex64 = _define(8, "complex64", np.complex64)
int64 = _define(9, "int64", np.int64)
bool = _define(10, "bool", np.bool_)
qint8 = _define(11, "qint8", _quantized("qint8", np.int8))
quint8 = _define(12, "quint8", _quantized("quint8", np.uint8))
qint32 = _define(13, "qint32", _quantized("qint32", np.int32))
bfloat16 = _define(14, "bfloat16", ml_dtypes.bfloat16)
qint16 = _define(15, "qint16", _quantized("qint16", np.int16))
quint16 = _define(16, "quint16", _quantized("quint16", np.uint16))
uint16 = _define(17, "uint16", np.uint16)
complex128 = _define(18, "complex128", np.complex128)
float16 = _define(19, "float16", np.float16)
resource = _define(20, "resource", None)
variant = _define(21, "variant", None)
uint32 = _define(22, "uint32", np.uint32)
uint64 = _define(23, "uint64", np.uint64)
float8_e5m2 = _define(24, "float8_e5m2", ml_dtypes.float8_e5m2)
float8_e4m3fn = _define(25, "float8_e4m3fn", ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz = _define(26, "float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz)
float8_e4m3b11fnuz = _define(27, "float8_e4m3b11fnuz", ml_dtypes.float8_e4m3b11fnuz)
float8_e5m2fnuz = _define(28, "float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz)
int4 = _define(29, "int4", ml_dtypes.int4)
uint4 = _define(30, "uint4", ml_dtypes.uint4)
int2 = _define(31, "int2", ml_dtypes.int2)
uint2 = _define(32, "uint2", ml_dtypes.uint2)
float4_e2m1fn = _define(33, "float4_e2m1fn", ml_dtypes.float4_e2m1fn)
half = float16
double = float64

FLOAT8_DTYPES = frozenset(dt for dt in _by_enum.values() if dt.name.startswith("float8_"))
SMALL_INTEGER_DTYPES = frozenset((int4, uint4, int2, uint2))
QUANTIZED_DTYPES = frozenset(dt for dt in _by_enum.values() if dt.is_quantized)

_by_numpy_type: dict[type, DType] = {
    dt.np.type: dt for dt in _by_enum.values() if dt.np is not None and not dt.is_ref and not dt.is_quantized
}
# The C names are types of their own in numpy, even where their width has a type already.
_by_numpy_type |= {np.longlong: int64, np.ulonglong: uint64, np.bytes_: string, np.str_: string}

_by_spelling: dict[Any, DType] = {
    **_by_enum,
    **{dt.name: dt for dt in _by_enum.values()},
    **{dt.np: dt for dt in _by_enum.values() if dt.is_quantized and not dt.is_ref},
    **_by_numpy_type,
    builtins.float: float32,
    builtins.bool: bool,
    object: string,
}
for _alias, _dtype in (("half", float16), ("float", float32), ("double", float64)):
    _by_spelling |= {_alias: _dtype, _alias + "_ref": _dtype._as_ref}


def as_dtype(type_value: object) -> DType:
    """The `DType` that `type_value` spells (`tf.as_dtype`).

    Takes a `DType`, a member of the `DataType` enum, a name ("float32", "half", "int32_ref"), a numpy
    dtype, scalar type or array, or one of Python's `float`, `bool` and `object`. Python's `int`, `str`,
    `bytes` and `complex` are refused, as TensorFlow refuses them. Raises TypeError.

    Example:
        >>> tf.as_dtype("float32") is tf.float32
        True
    """
    if type(type_value) is DType:
        return type_value
    if isinstance(type_value, np.dtype):
        found = _by_numpy_type.get(type_value.type)
        if found is not None:
            return found
    try:
        return _by_spelling[type_value]
    except (KeyError, TypeError):  # TypeError: not hashable
        pass
    try:
        return _by_numpy_type[np.dtype(type_value.dtype).type]  # type: ignore[attr-defined]
    except (AttributeError, KeyError, TypeError):
        raise TypeError(
            f"Cannot convert the argument `type_value`: {type_value!r} to a TensorFlow DType."
        ) from None


def from_numpy(dtype: np.dtype[Any]) -> DType:
    """The `DType` of arrays of `dtype`; arrays of str, bytes and objects are strings. Raises TypeError."""
    found = _by_numpy_type.get(dtype.type)
    return as_dtype(dtype) if found is None else found


def from_enum(enum: int) -> DType:
    """The `DType` of a member of the `DataType` enum. Raises TypeError for an unknown one."""
    try:
        return _by_enum[enum]
    except KeyError:
        raise TypeError(
            f"Cannot convert the argument `type_value`: {enum!r} to a TensorFlow DType."
        ) from None
