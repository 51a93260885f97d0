"""The client's leaf modules beside TensorFlow's own, in one process, over many inputs.

Each comparison runs one piece of code on both libraries and compares results, or exception types and texts.
"""

from __future__ import annotations

import importlib
import itertools
import operator
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("tensorflow")

import tensorflow.compat.v1 as tf

from tensorfleet.core import dtypes, errors, shapes, tensor_util

# `tensorfleet.device` the attribute is `tf.device`.
device = importlib.import_module("tensorfleet.core.device")

tf.disable_v2_behavior()

pytestmark = pytest.mark.slow


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """The outcome of a call, in a form that compares between the libraries."""
    try:
        return comparable(function(*args))
    except Exception as error:
        return type(error).__name__, str(error)


def comparable(value: Any) -> Any:
    if isinstance(value, (dtypes.DType, tf.DType)):
        return "dtype", value.name
    if isinstance(value, (shapes.TensorShape, tf.TensorShape, shapes.Dimension, tf.Dimension)):
        return "shape", repr(value), str(value)
    if isinstance(value, (device.DeviceSpec, tf.DeviceSpec)):
        return "device", repr(value), value.to_string()
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        items = array.tolist() if array.dtype == object else array.tobytes()
        return "array", array.dtype, array.shape, items
    if isinstance(value, (list, tuple)):
        return [comparable(item) for item in value]
    if hasattr(value, "SerializeToString"):
        return value.SerializeToString(deterministic=True)
    return value


# dtypes

ENUMS = [*range(1, 34), *range(101, 134)]
ATTRIBUTES = """
    name as_numpy_dtype as_datatype_enum is_floating is_integer is_complex is_bool is_unsigned is_quantized
    is_numpy_compatible real_dtype base_dtype _is_ref_dtype _as_ref size min max limits
""".split()  # noqa: SIM905


@pytest.mark.parametrize("enum", ENUMS)
@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_dtype_attributes(enum: int, attribute: str) -> None:
    ours, theirs = dtypes.as_dtype(enum), tf.as_dtype(enum)
    assert outcome(getattr, ours, attribute) == outcome(getattr, theirs, attribute)


@pytest.mark.parametrize("enum", ENUMS)
def test_dtype_text_and_hash(enum: int) -> None:
    ours, theirs = dtypes.as_dtype(enum), tf.as_dtype(enum)
    assert (repr(ours), str(ours), hash(ours)) == (repr(theirs), str(theirs), hash(theirs))


def test_dtype_compatibility() -> None:
    for a, b in itertools.product(ENUMS, ENUMS):
        assert dtypes.as_dtype(a).is_compatible_with(b) == tf.as_dtype(a).is_compatible_with(b), (a, b)


SPELLINGS = [
    *ENUMS, 0, 99, -1, 200, None, True, False, 1.0, 1.5, int, float, bool, str, bytes, complex, object,
    type, "float", "half", "double", "float_ref", "half_ref", "double_ref", "int32_ref", "bfloat16", "int",
    "str", "object", "f4", "FLOAT32", "", "string_ref", "resource", np.float16, np.float32, np.float64,
    np.int_, np.intc, np.longlong, np.ulonglong, np.uint, np.bool_, np.str_, np.bytes_, np.object_,
    np.complex64, np.longdouble, np.datetime64, np.void, ml_dtypes.bfloat16, np.dtype("S3"), np.dtype("U"),
    np.dtype("O"), np.dtype(">f4"), np.dtype("M8[s]"), np.dtype(ml_dtypes.bfloat16),
    np.dtype([("qint8", "i1")]), np.dtype([("a", "i1")]), np.float32(0.5), np.int64(3), np.array([1,
    2]), np.array(["a"]), [1],
    {}, dict, "float32", "uint64", b"float32",
]  # fmt: skip


@pytest.mark.parametrize("spelling", SPELLINGS, ids=repr)
def test_spellings_of_dtypes(spelling: Any) -> None:
    assert outcome(dtypes.as_dtype, spelling) == outcome(tf.as_dtype, spelling)
    for enum in (1, 3, 7, 101):
        ours, theirs = dtypes.as_dtype(enum), tf.as_dtype(enum)
        if not isinstance(spelling, np.ndarray):
            assert (ours == spelling, ours != spelling) == (theirs == spelling, theirs != spelling)


# shapes

SHAPES: list[Any] = [
    None, [], [2], [None], [0], 3, (2, 3), [2, None], [None, 3], [1, 2, 3],
    [-1], ["a"], [1j], "ab", 1j,  # the last five are no shapes; floats are sizes in version 1 alone
]  # fmt: skip
PAIRWISE = """
    is_compatible_with assert_is_compatible_with assert_same_rank merge_with concatenate
    most_specific_compatible_shape __eq__ __add__ __radd__
""".split()  # noqa: SIM905
ALONE = """
    dims ndims rank as_list num_elements is_fully_defined as_proto assert_is_fully_defined
    __len__ __bool__ __hash__ __repr__ __str__
""".split()  # noqa: SIM905
RANK_CHECKS = ("with_rank", "with_rank_at_least", "with_rank_at_most", "assert_has_rank")
SLICES = [(None,), (1,), (1, None), (1, 3), (-1, None), (0, 2, 2)]


def call(library: Any, dims: Any, name: str, *args: Any) -> Any:
    found = getattr(library.TensorShape(dims), name)
    return found(*args) if callable(found) else found


@pytest.mark.parametrize("dims", SHAPES, ids=repr)
def test_one_shape(dims: Any) -> None:
    assert outcome(shapes.TensorShape, dims) == outcome(tf.TensorShape, dims)
    for name in ALONE:
        assert outcome(call, shapes, dims, name) == outcome(call, tf, dims, name), name
    for name, rank in itertools.product(RANK_CHECKS, range(4)):
        assert outcome(call, shapes, dims, name, rank) == outcome(call, tf, dims, name, rank), (name, rank)
    for key in (0, 1, -1, 5, *itertools.starmap(slice, SLICES), "a"):
        ours, theirs = (outcome(call, library, dims, "__getitem__", key) for library in (shapes, tf))
        # Python's own words differ with the container that is indexed; the type of error must not.
        if theirs[0] in ("TypeError", "IndexError"):
            assert ours[0] == theirs[0], key
        else:
            assert ours == theirs, key


@pytest.mark.parametrize("name", PAIRWISE)
def test_pairs_of_shapes(name: str) -> None:
    for a, b in itertools.product(SHAPES[:10], SHAPES):
        assert outcome(call, shapes, a, name, b) == outcome(call, tf, a, name, b), (a, b)
    for a, b in itertools.product(SHAPES[:10], SHAPES[:10]):
        ours = outcome(call, shapes, a, name, shapes.TensorShape(b))
        assert ours == outcome(call, tf, a, name, tf.TensorShape(b)), (a, b)


@pytest.mark.parametrize("name", "add sub mul floordiv mod truediv lt le gt ge eq ne".split())  # noqa: SIM905
def test_dimension_operators(name: str) -> None:
    apply = getattr(operator, name)
    for a, b in itertools.product([None, 0, 1, 7], [None, 0, 1, 3, -1, "x", 1j]):
        ours, theirs = shapes.Dimension(a), tf.Dimension(a)
        assert outcome(apply, ours, b) == outcome(apply, theirs, b), (a, b)
        assert outcome(apply, b, ours) == outcome(apply, b, theirs), (b, a)
        if b in (None, 0, 1, 3):
            both = outcome(apply, ours, shapes.Dimension(b)), outcome(apply, theirs, tf.Dimension(b))
            assert both[0] == both[1], (a, b)


PARTIAL: list[shapes.Dims] = [
    None, (), (1,), (2,), (None,), (0,), (2, 3), (None, 3), (2, None), (1, 1), (2, 1, 3),
]  # fmt: skip


def inferred(rule: str, a: shapes.Dims, b: shapes.Dims) -> shapes.Dims:
    """The shape that TensorFlow's C++ shape inference finds."""
    with tf.Graph().as_default():
        x, y = tf.placeholder(tf.float32, a), tf.placeholder(tf.float32, b)
        result = tf.raw_ops.Add(x=x, y=y) if rule == "Add" else tf.raw_ops.AddN(inputs=[x, y])
    return None if result.shape.rank is None else tuple(result.shape.as_list())


@pytest.mark.parametrize(("rule", "function"), [("Add", shapes.broadcast), ("AddN", shapes.merge)])
def test_shape_rules_say_what_tensorflows_say(rule: str, function: Callable[..., Any]) -> None:
    for a, b in itertools.product(PARTIAL, PARTIAL):
        ours, theirs = outcome(function, a, b), outcome(inferred, rule, a, b)
        if theirs is not None and "ValueError" in theirs:
            # TensorFlow goes on to name the node, and the inputs that were merged before.
            assert ours[0] == "ValueError"
            assert theirs[1].startswith((ours[1] + " for '{{node", ours[1] + "\n\tFrom merging")), (a, b)
        else:
            assert ours == theirs, (a, b)


# values

NP_TYPES = [dt.np for dt in map(dtypes.from_enum, range(1, 24)) if dt.np is not None and not dt.np.hasobject]
VALUES: list[Any] = [
    1, -1, 2**31, 2**63, 2**64, 1.5, float("nan"), float("inf"), True, 1j, "a", "grün", b"a\0", "", None,
    [], [[]], [1], [1, 2, 3], [[1, 2], [3, 4]], [[1, 2], [3]], [1, 2.5], [True, 2], [1, "a"], ["a", "bc"],
    [["a"], ["b\0"]], [b"x", "y"], [None], (1, 2), [(1, 2), (3, 4)], [1, 2**40], [2**63], [1j, 2], {"a": 1},
    object, bytearray(b"ab"), np.float64(1), np.int8(-1), np.bool_(True), np.str_("ab"),
    np.array(3), np.array([1, 2]), np.array([[1.5, -2.5]]), np.array(["a", "b"]),
    np.array([b"a", None], object), np.array([], np.int16), [np.True_], [np.array([1, 2])],
    [np.float32(1), np.float32(2)],
    np.array([1, 0], bool), np.arange(6).reshape(2, 3).T, [(1,), (2,)], (3,),
]  # fmt: skip
OPTIONS: list[dict[str, Any]] = [
    {}, {"shape": []}, {"shape": [2]}, {"shape": [2, 2]}, {"shape": [0]},
    {"shape": (3,), "verify_shape": True}, {"shape": [2], "allow_broadcast": True},
    {"verify_shape": True, "allow_broadcast": True},
]  # fmt: skip


def assert_same_proto(value: Any, options: dict[str, Any], enum: int | None = None) -> None:
    def make(function: Callable[..., Any], as_dtype: Callable[[int], Any]) -> Any:
        return function(value, **options) if enum is None else function(value, as_dtype(enum), **options)

    theirs = outcome(make, tf.make_tensor_proto, tf.as_dtype)
    assert outcome(make, tensor_util.make_tensor_proto, dtypes.as_dtype) == theirs, (value, options)
    array = outcome(make, tensor_util.convert_value, dtypes.as_dtype)
    if not isinstance(theirs, bytes):
        assert array == theirs, (value, options)
        return
    # The message also means the same to both, and convert_value is what it means.
    meaning = comparable(tf.make_ndarray(make(tf.make_tensor_proto, tf.as_dtype)))
    if meaning[1].hasobject:  # without any element, TensorFlow fills up with str
        meaning = (*meaning[:3], tensor_util.convert_value(meaning[3], dtypes.string).tolist())
    message = tensor_util.TensorProto.FromString(theirs)
    assert outcome(tensor_util.make_ndarray, message) == meaning, (value, options)
    assert array == meaning, (value, options)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:Casting complex")
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_become_the_same_messages(value: Any) -> None:
    for options in OPTIONS:
        assert_same_proto(value, options)


@pytest.mark.parametrize("shape", [3, [None]])
def test_shapes_that_are_none(shape: Any) -> None:
    assert_same_proto(1, {"shape": shape})


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:Casting complex")
@pytest.mark.parametrize("enum", [*range(1, 24), 101, 103])
def test_values_become_the_same_messages_of_each_type(enum: int) -> None:
    for value, options in itertools.product(VALUES, ({}, {"shape": [2]})):
        if not isinstance(value, dict):  # TensorFlow looks for a mismatch inside, and names that one
            assert_same_proto(value, options, enum)


@pytest.mark.parametrize("np_type", NP_TYPES, ids=str)
@pytest.mark.parametrize("dims", [(), (1,), (4,), (2, 2), (0,)])
def test_arrays_cross_in_both_directions(np_type: Any, dims: tuple[int, ...]) -> None:
    count = int(np.prod(dims))
    array = np.frombuffer(bytes(range(1, 1 + count * np_type.itemsize)), np_type).reshape(dims)
    if np_type == np.bool_:
        array = np.resize([True, False], dims)
    ours = tensor_util.to_proto(array)
    if not (np_type.names and count == 0):
        read = tf.make_ndarray(tf.make_tensor_proto([]).FromString(ours.SerializeToString()))
        assert comparable(read) == comparable(array)
    theirs = tf.make_tensor_proto(array, dtypes.from_numpy(np_type).enum)
    assert comparable(
        tensor_util.make_ndarray(type(ours).FromString(theirs.SerializeToString()))
    ) == comparable(array)


# errors


def test_error_codes_and_classes() -> None:
    for code in range(1, 17):
        theirs = tf.errors.exception_type_from_error_code(code)
        ours = errors.exception_type_from_error_code(code)
        assert (ours.__name__, errors.error_code_from_exception_type(ours)) == (theirs.__name__, code)
        a, b = ours(None, None, "m"), theirs(None, None, "m")
        assert (a.message, a.op, a.node_def, a.error_code, str(a)) == (
            b.message,
            b.op,
            b.node_def,
            b.error_code,
            str(b),
        )
        assert a.experimental_payloads == b.experimental_payloads == {}
    constants = {name for name in dir(tf.errors) if name.isupper()}
    assert {name: getattr(errors, name) for name in constants} == {
        name: getattr(tf.errors, name) for name in constants
    }


# devices

SPECS = [
    "", "/cpu:0", "cpu:0", "gpu", "/gpu:*", "/GPU:1", "/device:gpu:0", "/device:GPU", "/device:XLA_CPU:0",
    "/tpu:3", "/job:a", "job:a/task:1", "/job:a/replica:0/task:1/device:GPU:0", "/jobb:worker", "/job",
    "/job:a:b", "/cpu:0:1", "/task:a", "/gpu:0/cpu:1", "/device:GPU:0/device:CPU:0", "/job:a/job:b", ":3",
    "/:a:b", "/task:*", "/device::0", "/epu:0", "/custom:1", "/device:cpu:*", "//job:a//", "/gpu:x",
    "/device:GPU:-1", "/task:1_0", " /job:a", "/job: a",
]  # fmt: skip


@pytest.mark.parametrize("spec", SPECS)
def test_device_names(spec: str) -> None:
    assert outcome(lambda: device.DeviceSpec.from_string(spec)) == outcome(
        lambda: tf.DeviceSpec.from_string(spec)
    )


def merged(library: Any, a: str, b: str, in_place: bool) -> Any:
    first, second = library.DeviceSpec.from_string(a), library.DeviceSpec.from_string(b)
    if in_place:
        first.merge_from(second)
        return first
    return first.make_merged_spec(second)


def test_device_merging() -> None:
    good = [spec for spec in SPECS if outcome(device.parse, spec).__class__ is device.ParsedDevice]
    assert len(good) > 15
    for a, b, in_place in itertools.product(good, good, (False, True)):
        assert comparable(merged(device, a, b, in_place)) == comparable(merged(tf, a, b, in_place)), (a, b)
