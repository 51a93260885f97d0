"""What tests of graphs assert: `tf.test.TestCase` has these methods beside unittest's and absl's."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from absl.testing import absltest

from tensorfleet.core import errors
from tensorfleet.core.device import canonical_name
from tensorfleet.core.dtypes import as_dtype
from tensorfleet.graph.graph import MIN_CONSUMER_VERSION, PRODUCER_VERSION
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.array.sparse_tensor import SparseTensor
from tensorfleet.ops.state.variables import Variable

_Predicate = str | Callable[[BaseException], Any]
_Tensors = (Tensor, Variable, SparseTensor, IndexedSlices)
_TOLERANCES = {"float32": "float", "complex64": "float", "float16": "half", "bfloat16": "bfloat16"}


def _is_tensor(value: Any) -> bool:
    return isinstance(value, _Tensors)


class GraphAssertions(absltest.TestCase):
    """Assertions about arrays, tensors, messages and errors.

    Tensors stand for their values, in the session of the test.
    """

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors, which may be nested in lists, tuples and dicts."""
        raise NotImplementedError

    # Values

    def _array(self, value: Any) -> Any:
        if _is_tensor(value):
            value = self.evaluate(value)
        elif isinstance(value, (list, tuple)) and any(map(_is_tensor, value)):
            value = [self.evaluate(item) if _is_tensor(item) else item for item in value]
        return value if isinstance(value, np.ndarray) else np.array(value)

    def evaluate_if_both_tensors(self, a: Any, b: Any) -> tuple[Any, Any]:
        """The values of both if both are tensors, else both as they are."""
        return cast(tuple[Any, Any], self.evaluate((a, b))) if _is_tensor(a) and _is_tensor(b) else (a, b)

    def _same_shape(self, a: Any, b: Any, msg: Any) -> None:
        if a.shape != b.shape:
            self.fail(self._formatMessage(msg, f"Shape mismatch: expected {a.shape}, got {b.shape}"))

    def _report(self, a: Any, b: Any, wrong: Any, what: str, msg: Any) -> None:
        """Fails where `wrong` has a True, with the first few such places."""
        if not np.any(wrong):
            return
        places = [tuple(map(int, place)) for place in np.argwhere(wrong)[:5]]
        shown = "; ".join(f"{list(place)}: {a[place]!r} and {b[place]!r}" for place in places)
        self.fail(self._formatMessage(msg, f"{what} at {int(np.sum(wrong))} of {a.size} places: {shown}"))

    def assertAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Two arrays have one shape and the same elements; nan equals nan."""
        a, b = self._array(a), self._array(b)
        self._same_shape(a, b, msg)
        same = a == b
        if _has_nan(a) and _has_nan(b):
            same = np.logical_or(same, np.logical_and(np.isnan(a), np.isnan(b)))
        self._report(a, b, ~np.asarray(same, bool), "not equal", msg)

    def assertNotAllEqual(self, a: Any, b: Any, msg: Any = None) -> None:
        """Two arrays differ."""
        try:
            self.assertAllEqual(a, b)
        except self.failureException:
            return
        self.fail(self._formatMessage(msg, "The two values are equal at all elements."))

    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None) -> None:
        """Two arrays, or structures of arrays, differ by `atol + rtol * abs(b)` at most.

        Raises:
            ValueError: a dict is to be compared with what is none.
        """
        self._close(a, b, rtol, atol, msg, "")

    def _close(self, a: Any, b: Any, rtol: float, atol: float, msg: Any, path: str) -> None:
        if isinstance(a, Mapping) != isinstance(b, Mapping):
            raise ValueError(f"Can't compare dict to non-dict, {path or 'a'}: {type(a)} and {type(b)}")
        a, b = _as_mapping(a), _as_mapping(b)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            self.assertEqual(set(a), set(b), f"the keys of {path or 'a'} differ")
            for key in a:
                self._close(a[key], b[key], rtol, atol, msg, f"{path}[{key!r}]")
        elif isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)):
            try:
                left, right = self._array(a), self._array(b)
            except ValueError:  # of several shapes: item by item
                left = right = None
            if left is not None and right is not None and object not in (left.dtype, right.dtype):
                self._arrays_close(left, right, rtol, atol, msg, path)
                return
            self.assertEqual(len(a), len(b), f"the lengths of {path or 'a'} differ")
            for i, (x, y) in enumerate(zip(a, b, strict=True)):
                self._close(x, y, rtol, atol, msg, f"{path}[{i}]")
        else:
            self._arrays_close(self._array(a), self._array(b), rtol, atol, msg, path)

    def _arrays_close(self, a: Any, b: Any, rtol: float, atol: float, msg: Any, path: str) -> None:
        self._same_shape(a, b, msg)
        a, b = _comparable(a), _comparable(b)
        close = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
        what = f"not close (rtol {rtol}, atol {atol}){' in ' + path if path else ''}"
        self._report(a, b, ~close, what, msg)

    def assertNotAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None
    ) -> None:
        """Two arrays, or structures of arrays, differ by more than `assertAllClose` allows."""
        try:
            self.assertAllClose(a, b, rtol, atol)
        except self.failureException:
            return
        self.fail(self._formatMessage(msg, "The two values are close at all elements."))

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: Any = None,
    ) -> None:
        """Two arrays are as close as the less precise of their dtypes lets expect."""
        a, b = self._array(a), self._array(b)
        given = {
            "float": (float_rtol, float_atol),
            "half": (half_rtol, half_atol),
            "bfloat16": (bfloat16_rtol, bfloat16_atol),
        }
        for dtype in (a.dtype.name, b.dtype.name):
            if (kind := _TOLERANCES.get(dtype)) is not None:
                rtol, atol = max(rtol, given[kind][0]), max(atol, given[kind][1])
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNear(self, f1: float, f2: float, err: float, msg: Any = None) -> None:
        """Two numbers differ by `err` at most."""
        if f1 != f2 and not abs(f1 - f2) <= err:
            self.fail(self._formatMessage(msg, f"{f1!r} != {f2!r} +/- {err!r}"))

    def assertArrayNear(
        self, farray1: Sequence[float], farray2: Sequence[float], err: float, msg: Any = None
    ) -> None:
        """Two sequences are of one length, and their numbers differ by `err` at most."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for f1, f2 in zip(farray1, farray2, strict=True):
            self.assertNear(float(f1), float(f2), err, msg)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: Any = None) -> None:
        """The norm of the difference of two arrays is less than `err`."""
        distance = float(np.linalg.norm(self._array(ndarray1) - self._array(ndarray2)))
        if not distance < err:
            self.fail(self._formatMessage(msg, f"the norm of the difference is {distance}, not below {err}"))

    # Elements

    def _all(self, a: Any, holds: Callable[[Any], Any], what: str) -> None:
        a = self._array(a)
        bad = ~np.asarray(holds(a), bool)
        if np.any(bad):
            self.fail(f"{int(np.sum(bad))} of {a.size} elements are not {what}: {a[bad].reshape(-1)[:5]}")

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """All elements are greater than a number."""
        self._all(a, lambda x: x > comparison_target, f"greater than {comparison_target}")

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """All elements are less than a number."""
        self._all(a, lambda x: x < comparison_target, f"less than {comparison_target}")

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """All elements are at least a number."""
        self._all(a, lambda x: x >= comparison_target, f"at least {comparison_target}")

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """All elements are at most a number."""
        self._all(a, lambda x: x <= comparison_target, f"at most {comparison_target}")

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """All elements lie between two numbers, which belong to the range unless it is open there.

        Raises:
            AssertionError: `target` is of strings, as well.
        """
        if self._array(target).dtype.kind not in "iufb" and not _is_number(self._array(target)):
            self.fail(f"The value of {target} does not have an ordered numeric type")
        self._all(
            target,
            lambda x: (
                (x > lower_bound if open_lower_bound else x >= lower_bound)
                & (x < upper_bound if open_upper_bound else x <= upper_bound)
            ),
            f"in {'(' if open_lower_bound else '['}{lower_bound}, {upper_bound}"
            f"{')' if open_upper_bound else ']'}",
        )

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        """All elements are among those of a set."""
        listed = list(expected_set)
        self._all(target, lambda x: np.isin(x, listed), f"in {listed}")

    # Shapes, dtypes, devices

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """An array or tensor has a dtype."""
        has = target.dtype if _is_tensor(target) else self._array(target).dtype
        self.assertEqual(as_dtype(has).base, as_dtype(expected_dtype).base)

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: Any = None) -> None:
        """Two arrays or tensors have one (static) shape.

        Raises:
            TypeError: one is neither an array nor a tensor.
        """
        shapes = []
        for name, value in (("input_a", input_a), ("input_b", input_b)):
            if not isinstance(value, np.ndarray) and not _is_tensor(value):
                raise TypeError(f"{name} must be a Tensor or numpy ndarray. Instead received {type(value)}")
            shape = value.shape if isinstance(value, np.ndarray) else value.get_shape().as_list()
            shapes.append(list(shape))
        self.assertAllEqual(shapes[0], shapes[1], msg)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: Any = None) -> None:
        """Two devices are the same, however they are written."""
        left, right = canonical_name(device1), canonical_name(device2)
        self.assertEqual(left, right, msg or f"Devices {left} and {right} are not equal.")

    # Messages

    def assertProtoEquals(
        self,
        expected_message_maybe_ascii: Any,
        validate_message: Any,
        msg: Any = None,
        relative_tolerance: float | None = None,
    ) -> None:
        """A message is equal to another one, or to what a text says.

        Args:
            expected_message_maybe_ascii: a message or a repeated field, or the text of a message.
            validate_message: the message.
            relative_tolerance: of numbers with a fraction; by default they have to be equal.
        """
        from google.protobuf import text_format

        expected = expected_message_maybe_ascii
        if isinstance(expected, str):
            expected = text_format.Parse(expected, type(validate_message)())
        if type(expected) is not type(validate_message):
            self.fail(f"Can't compare protos of type {type(expected)} and {type(validate_message)}.")
        if expected == validate_message:
            return
        if isinstance(expected, Sequence):  # a repeated field, whose elements may be numbers and strings
            self.fail(self._formatMessage(msg, f"The repeated fields differ: {expected}, {validate_message}"))
        texts = [text_format.MessageToString(m) for m in (expected, validate_message)]
        if relative_tolerance is not None:
            pieces = [_NUMBER.split(text) for text in texts]
            numbers = [[float(n) for n in _NUMBER.findall(text)] for text in texts]
            if pieces[0] == pieces[1] and np.allclose(numbers[0], numbers[1], relative_tolerance, 0):
                return
        shown = "\n".join(difflib.ndiff(texts[0].splitlines(), texts[1].splitlines()))
        self.fail(self._formatMessage(msg, f"The messages differ:\n{shown}"))

    def assertProtoEqualsVersion(
        self,
        expected: str,
        actual: Any,
        producer: int = PRODUCER_VERSION,
        min_consumer: int = 0,
        msg: Any = None,
    ) -> None:
        """A GraphDef has these versions, and is else what a text says.

        A `min_consumer` of 0 stands for that of the graphs that are made here.
        """
        versions = f"producer: {producer} min_consumer: {min_consumer or MIN_CONSUMER_VERSION}"
        self.assertProtoEquals(f"versions {{ {versions} }}\n{expected}", actual, msg=msg)

    # Errors

    @contextmanager
    def assertRaisesWithPredicateMatch(  # type: ignore[override]  # as TensorFlow's
        self, exception_type: Any, expected_err_re_or_predicate: _Predicate
    ) -> Iterator[None]:
        """The block raises an exception of a type that a function accepts, or a pattern is found in."""
        expected = expected_err_re_or_predicate
        try:
            yield
        except exception_type as e:
            text = e.message if isinstance(e, errors.OpError) else str(e)
            if isinstance(e, errors.OpError) and e.op is not None:
                text += f"\nCaused by: {e.op.name}"
            found = expected(e) if callable(expected) else re.search(expected, text)
            if not found:
                raise AssertionError(f"Exception of type {type(e)}: {text}") from e
        except Exception as e:
            raise AssertionError(f"Exception of type {type(e)}: {e}") from e
        else:
            self.fail(f"{getattr(exception_type, '__name__', exception_type)} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: _Predicate) -> Any:
        """The block raises an OpError whose message a pattern is found in, or a function accepts."""
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)

    def assertRaisesIncompatibleShapesError(self, exception_type: Any = errors.InvalidArgumentError) -> Any:
        """The block raises an error about shapes that do not fit each other."""
        return self.assertRaisesWithPredicateMatch(
            exception_type, "Incompatible shapes|Dimensions must be equal|required broadcastable shapes"
        )

    # unittest's older names, which newer versions of Python lack

    def assertItemsEqual(self, first: Any, second: Any, msg: Any = None) -> None:
        """Two sequences have the same elements, each as often, in any order."""
        self.assertCountEqual(first, second, msg)

    def assertRaisesRegexp(
        self, expected_exception: Any, expected_regex: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """The block, or function, raises an exception that a pattern is found in."""
        return self.assertRaisesRegex(expected_exception, expected_regex, *args, **kwargs)


_NUMBER = re.compile(r"(?<=: )-?\d[\d.e+-]*")


def _has_nan(a: Any) -> bool:
    return bool(a.dtype.kind in "fc" or _is_number(a)) and bool(np.any(np.isnan(a)))


def _is_number(a: Any) -> bool:
    """Whether the elements are numbers of NumPy's or of ml_dtypes', such as bfloat16."""
    return bool(
        a.dtype.kind in "iufc" or (a.dtype.kind == "V" and a.dtype.fields is None and a.dtype.isnative)
    )


def _comparable(a: Any) -> Any:
    """An array that NumPy can compute differences of."""
    return a.astype(np.float32) if a.dtype.kind == "V" or a.dtype == np.float16 else a


def _as_mapping(value: Any) -> Any:
    return value._asdict() if isinstance(value, tuple) and hasattr(value, "_asdict") else value
