"""Resources of a task: what readers and writers of a variable may rely on."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from tensorfleet.core import dtypes, errors
from tensorfleet_service.state.resources import Resources
from tensorfleet_service.state.variables import REFERENCE, RESOURCE, Variable


def make(value: object = None, dims: object = None, kind: str = REFERENCE) -> Variable:
    array = None if value is None else np.asarray(value, np.float32)[()]
    shape = dims if dims is not None else (None if array is None else array.shape)
    variable = Variable("v", dtypes.float32, shape, kind=kind)  # type: ignore[arg-type]
    if array is not None:
        variable.assign(array)
    return variable


def address(variable: Variable) -> int:
    return int(variable.read().__array_interface__["data"][0])


@pytest.mark.parametrize("kind", [REFERENCE, RESOURCE])
def test_reading_without_a_value_fails(kind: str) -> None:
    text = (
        "Attempting to use uninitialized value v"
        if kind == REFERENCE
        else "Could not find variable v. This could"
    )
    with pytest.raises(errors.FailedPreconditionError, match=text):
        make(kind=kind).read()


def test_updating_without_a_value_fails() -> None:
    with pytest.raises(errors.FailedPreconditionError, match="uninitialized value v"):
        make().update(np.add, np.float32(1))
    with pytest.raises(errors.NotFoundError, match="Resource localhost/v does not exist"):
        make(kind=RESOURCE).update(np.add, np.float32(1))


def test_assign_keeps_a_private_copy() -> None:
    source = np.zeros(3, np.float32)
    variable = make()
    variable.assign(source)
    source[:] = 7
    np.testing.assert_array_equal(variable.read(), [0, 0, 0])


def test_assign_reuses_memory_only_while_nobody_reads() -> None:
    variable = make([1, 2])
    before = address(variable)
    variable.assign(np.float32([3, 4]))
    assert address(variable) == before
    held = variable.read()
    variable.assign(np.float32([5, 6]))
    assert address(variable) != before
    np.testing.assert_array_equal(held, [3, 4])
    np.testing.assert_array_equal(variable.read(), [5, 6])


@pytest.mark.parametrize("part", [lambda a: a, lambda a: a[:1], lambda a: a.reshape(2, 1), memoryview])
def test_an_update_never_changes_what_a_reader_holds(part: object) -> None:
    variable = make([1, 2])
    held = part(variable.read())  # type: ignore[operator]
    before = np.array(held)
    variable.update(np.add, np.float32([10, 10]))
    np.testing.assert_array_equal(held, before)
    np.testing.assert_array_equal(variable.read(), [11, 12])


@pytest.mark.parametrize("part", [lambda a: a, lambda a: a[:1], lambda a: a.reshape(-1), memoryview])
def test_no_change_of_a_large_variable_reaches_what_a_reader_holds(part: object) -> None:
    """Its memory is asked for in large pages."""

    def set_first(array: np.ndarray, value: float) -> None:
        array[0] = value

    variable = make(np.zeros((1024, 1024)))
    for change in (
        lambda: variable.update(np.add, np.ones((1024, 1024), np.float32)),
        lambda: variable.assign(np.full((1024, 1024), 2, np.float32)),
        lambda: variable.modify(set_first, 3),
    ):
        held = part(variable.read())  # type: ignore[operator]
        before = np.array(held)
        change()
        np.testing.assert_array_equal(held, before)
        del held
        where = address(variable)
        change()
        assert address(variable) == where


def test_an_update_works_in_place_while_nobody_reads() -> None:
    variable = make([1, 2])
    before = address(variable)
    for _ in range(3):
        variable.update(np.subtract, np.float32([1, 1]))
    assert address(variable) == before
    np.testing.assert_array_equal(variable.read(), [-2, -1])


def test_an_update_by_its_own_value() -> None:
    variable = make([1, 2])
    variable.update(np.add, variable.read())
    np.testing.assert_array_equal(variable.read(), [2, 4])


def test_modify_copies_only_what_is_shared() -> None:
    def set_first(array: np.ndarray, value: float) -> None:
        array[0] = value

    variable = make([1, 2])
    before = address(variable)
    variable.modify(set_first, 5)
    assert address(variable) == before
    held = variable.read()
    variable.modify(set_first, 6)
    np.testing.assert_array_equal(held, [5, 2])
    np.testing.assert_array_equal(variable.read(), [6, 2])


def test_a_variable_that_cannot_be_copied_keeps_its_value() -> None:
    class TooLarge(np.ndarray[Any, Any]):
        def copy(self, order: Any = "C") -> Any:
            raise MemoryError("no room for a copy")

    variable = Resources().variable("", "v", dtypes.float32, (2,))
    variable._value = held = np.ones(2, np.float32).view(TooLarge)
    with pytest.raises(MemoryError, match="no room"):
        variable.modify(lambda array: array.fill(5))
    assert variable.read() is held
    np.testing.assert_array_equal(held, [1, 1])


def test_a_failed_update_leaves_the_value() -> None:
    def fail(*_: object, **__: object) -> None:
        raise errors.InternalError(None, None, "no")

    variable = make([1, 2])
    for change in (variable.update, variable.modify):
        with pytest.raises(errors.InternalError):
            change(fail, np.float32([1, 1]))
    np.testing.assert_array_equal(variable.read(), [1, 2])


def test_shapes_are_checked() -> None:
    variable = make(dims=(2,))
    three = np.zeros(3, np.float32)
    with pytest.raises(errors.InvalidArgumentError, match=r"match\. lhs shape= \[2\] rhs shape= \[3\]"):
        variable.assign(three)
    variable.assign(three, validate_shape=False)
    variable.assign(three)
    with pytest.raises(errors.InvalidArgumentError, match="Parameters and update must be the same size"):
        variable.update(np.add, np.float32(1))
    with pytest.raises(
        errors.InvalidArgumentError, match=r"shape \[3\] using a Tensor with shape \[\], shapes"
    ):
        make([1, 2, 3], kind=RESOURCE).update(np.add, np.float32(1))


def test_scalars_stay_scalars() -> None:
    variable = make(1)
    variable.update(np.add, np.float32(2))
    assert isinstance(variable.read(), np.float32)
    variable.assign(np.zeros((), np.float32))
    assert isinstance(variable.read(), np.float32)
    text = Variable("s", dtypes.string, ())
    text.assign(b"abc")
    assert text.read() == b"abc"


def test_readers_see_whole_updates_while_writers_run() -> None:
    variable = Variable("v", dtypes.int64, (4096,))
    variable.assign(np.zeros(4096, np.int64))
    one = np.ones(4096, np.int64)
    rounds = 300
    torn: list[object] = []

    def write() -> None:
        for _ in range(rounds):
            variable.update(np.add, one)

    def read() -> None:
        while True:
            value = variable.read()
            first = int(value[0])
            if not (value == first).all() or int(value[0]) != first:
                torn.append(value)
            if first == 2 * rounds or torn:
                return

    threads = [threading.Thread(target=target) for target in (write, write, read, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not torn
    assert variable.read()[0] == 2 * rounds


def test_variables_are_found_by_container_kind_and_name() -> None:
    resources = Resources()
    one = resources.variable("", "v", dtypes.float32, (2,))
    assert resources.variable("localhost", "v", dtypes.float32, (2,)) is one
    assert resources.variable("other", "v", dtypes.float32, (2,)) is not one
    assert resources.variable("", "v", dtypes.float32, (2,), RESOURCE) is not one
    with pytest.raises(errors.InvalidArgumentError, match=r"float32.*int32"):
        resources.variable("", "v", dtypes.int32, (2,))
    one.assign(np.zeros(2, np.float32))
    listed = [(v.container, v.name, v.kind, v.nbytes, v.is_initialized) for v in resources.variables()]
    assert listed == [
        ("localhost", "v", RESOURCE, 0, False),
        ("localhost", "v", REFERENCE, 8, True),
        ("other", "v", REFERENCE, 0, False),
    ]


def test_reset_forgets_the_containers_named() -> None:
    class Closable:
        closed = False

        def close(self) -> None:
            self.closed = True

    resources = Resources()
    kept = resources.variable("a", "v", dtypes.float32, ())
    queue = resources.get_or_create("b", "queue", "q", Closable)
    resources.reset(["b"])
    assert queue.closed
    assert resources.variable("a", "v", dtypes.float32, ()) is kept
    assert resources.get_or_create("b", "queue", "q", Closable) is not queue
    resources.reset()
    assert resources.variables() == []
