"""Tables, stacks and barriers whose handles are references: the forms of older graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.op_programs import Maker, node, program

F = np.float32
L = np.int64
KEYS = np.array([b"a", b"b"], object)


@program("HashTable", "InitializeTable", "LookupTableFind", "LookupTableSize", "LookupTableExport")
def static_table(make: Maker) -> Any:
    table = make("HashTable", key_dtype="string", value_dtype="int64")
    with make.tf.control_dependencies([make("InitializeTable", table, KEYS, L([4, 5]))]):
        asked = make.tf.constant(np.array([[b"b"], [b"c"]], object))
        found = make("LookupTableFind", table, asked, L(-1))
        size = make("LookupTableSize", table)
        keys, values = make("LookupTableExport", table, Tkeys="string", Tvalues="int64")
    return found, size, make.tf.reduce_sum(values), make.tf.shape(keys)


@program("HashTable")
def static_table_before_its_content(make: Maker) -> Any:
    table = make("HashTable", key_dtype="string", value_dtype="int64")
    return make("LookupTableFind", table, KEYS, L(-1))


@program("LookupTableFind")
def table_of_other_types(make: Maker) -> Any:
    table = make("HashTable", key_dtype="string", value_dtype="int64")
    with make.tf.control_dependencies([make("InitializeTable", table, KEYS, L([4, 5]))]):
        return make("LookupTableFind", table, KEYS, F(-1))


@program("MutableHashTable", "LookupTableInsert", "LookupTableImport")
def changed_table(make: Maker) -> Any:
    table = make("MutableHashTable", key_dtype="string", value_dtype="float32")
    with make.tf.control_dependencies([make("LookupTableInsert", table, KEYS, F([4, 5]))]):
        first = make("LookupTableFind", table, KEYS, F(-1))
    with (
        make.tf.control_dependencies([first]),
        make.tf.control_dependencies([make("LookupTableImport", table, KEYS[1:], F([7]))]),
    ):
        return first, make("LookupTableFind", table, KEYS, F(-1)), make("LookupTableSize", table)


@program("MutableHashTableOfTensors")
def table_of_vectors(make: Maker) -> Any:
    table = make("MutableHashTableOfTensors", key_dtype="int64", value_dtype="string", value_shape=[2])
    inserted = make("LookupTableInsert", table, L([3]), np.array([[b"x", b"y"]], object))
    with make.tf.control_dependencies([inserted]):
        return make("LookupTableFind", table, L([3, 4]), np.array([b"-", b"+"], object))


@program("MutableDenseHashTable")
def table_with_the_empty_key_as_key(make: Maker) -> Any:
    # TensorFlow's kernel asks for an input that its op has not, so every program with it fails there.
    table = make("MutableDenseHashTable", L(3), value_dtype="float32")
    with make.tf.control_dependencies([make("LookupTableInsert", table, L([3, 9]), F([4, 5]))]):
        return make("LookupTableSize", table)


@program("Stack", "StackPush", "StackPop", "StackClose")
def pushes_and_pops_by_reference(make: Maker) -> Any:
    stack = make("Stack", elem_type="float32", stack_name="s")
    with make.tf.control_dependencies([make("StackPush", stack, F([1, 2]))]):
        last = make("StackPush", stack, F(3))
    with make.tf.control_dependencies([last]):
        popped = make("StackPop", stack, elem_type="float32")
    with make.tf.control_dependencies([popped]):
        again = make("StackPop", stack, elem_type="float32")
    with make.tf.control_dependencies([again]):
        make("StackClose", stack)
    return last, popped, again


@program("StackPop")
def pop_of_nothing(make: Maker) -> Any:
    return make("StackPop", make("Stack", elem_type="float32"), elem_type="float32")


def barrier(make: Maker, **attrs: Any) -> Any:
    return make("Barrier", component_types=["float32", "string"], shapes=[[2], []], **attrs)


def taken(make: Maker, handle: Any, count: int, **attrs: Any) -> Any:
    return make("BarrierTakeMany", handle, np.int32(count), component_types=["float32", "string"], **attrs)


def rows(count: int, first: int = 0) -> Any:
    return np.arange(first, first + 2 * count, dtype=F).reshape(count, 2)


def names(*values: bytes) -> Any:
    return np.array(values, object)


@program("Barrier", "BarrierInsertMany", "BarrierTakeMany", "BarrierReadySize", "BarrierIncompleteSize")
def elements_of_several_inserts(make: Maker) -> Any:
    tf, handle = make.tf, barrier(make)
    first = make("BarrierInsertMany", handle, names(b"a", b"b"), rows(2), component_index=0)
    with tf.control_dependencies([first]):
        second = make("BarrierInsertMany", handle, names(b"c", b"b"), names(b"x", b"y"), component_index=1)
    with tf.control_dependencies([second]):
        sizes = make("BarrierReadySize", handle), make("BarrierIncompleteSize", handle)
    with tf.control_dependencies(list(sizes)):
        third = make("BarrierInsertMany", handle, names(b"c"), rows(1, 7), component_index=0)
        fourth = make("BarrierInsertMany", handle, names(b"a"), names(b"z"), component_index=1)
    with tf.control_dependencies([third, fourth]):
        found = taken(make, handle, 3)
    with tf.control_dependencies([found[0]]):
        return sizes, found, make("BarrierReadySize", handle)


@program("BarrierInsertMany")
def the_same_component_again(make: Maker) -> Any:
    handle = barrier(make)
    insert = make("BarrierInsertMany", handle, names(b"a", b"a"), rows(2), component_index=0)
    with make.tf.control_dependencies([insert]):
        return make("BarrierIncompleteSize", handle)


@program("BarrierInsertMany")
def component_of_another_shape(make: Maker) -> Any:
    handle = barrier(make)
    insert = make("BarrierInsertMany", handle, names(b"a"), make.fed(F([[1, 2, 3]])), component_index=0)
    with make.tf.control_dependencies([insert]):
        return make("BarrierIncompleteSize", handle)


@program("BarrierInsertMany")
def complete_element_of_another_shape(make: Maker) -> Any:
    handle = barrier(make)
    insert = make("BarrierInsertMany", handle, names(b"a"), make.fed(F([[1, 2, 3]])), component_index=0)
    with make.tf.control_dependencies([insert]):
        other = make("BarrierInsertMany", handle, names(b"a"), names(b"x"), component_index=1)
    with make.tf.control_dependencies([other]):
        return taken(make, handle, 1)


@program("BarrierInsertMany")
def component_that_is_not_there(make: Maker) -> Any:
    handle = barrier(make)
    insert = make("BarrierInsertMany", handle, names(b"a"), rows(1), component_index=2)
    with make.tf.control_dependencies([insert]):
        return make("BarrierIncompleteSize", handle)


def _closed(make: Maker, cancel: bool, small: bool, count: int, inserts: Any = ()) -> Any:
    """A barrier with the elements b and, without its second component, a; then closed; then more."""
    tf, handle = make.tf, barrier(make)
    first = make("BarrierInsertMany", handle, names(b"a", b"b"), rows(2), component_index=0)
    with tf.control_dependencies([first]):
        second = make("BarrierInsertMany", handle, names(b"b"), names(b"y"), component_index=1)
    with tf.control_dependencies([second]):
        closed = make("BarrierClose", handle, cancel_pending_enqueues=cancel)
    for keys in inserts:
        with tf.control_dependencies([closed]):
            closed = make("BarrierInsertMany", handle, names(*keys), names(*keys), component_index=1)
    with tf.control_dependencies([closed]):
        return taken(make, handle, count, allow_small_batch=small), make("BarrierIncompleteSize", handle)


for _id, _arguments in {
    "more_than_there_are": (True, False, 2),
    "what_is_there": (True, True, 5),
    "what_is_left_of_none": (False, True, 5),
    "completed_after_the_close": (False, False, 2, [[b"a"]]),
    "a_new_key": (False, False, 1, [[b"c"]]),
    "an_insert_after_a_cancel": (True, False, 1, [[b"a"]]),
    "more_than_will_come": (False, False, 3, [[b"a"]]),
}.items():

    def _made(make: Maker, arguments: Any = _arguments) -> Any:
        return _closed(make, *arguments)

    _made.__name__ = f"closed_barrier_{_id}"
    program("BarrierClose")(_made)


@program("BarrierClose")
def closed_twice(make: Maker) -> Any:
    handle = barrier(make)
    with make.tf.control_dependencies([make("BarrierClose", handle)]):
        second = make("BarrierClose", handle)
    with make.tf.control_dependencies([second]):
        return make("BarrierReadySize", handle)


@program("Barrier")
def barrier_with_a_capacity(make: Maker) -> Any:
    return make("BarrierReadySize", barrier(make, capacity=3))


@program("BarrierTakeMany")
def nothing_taken(make: Maker) -> Any:
    return taken(make, barrier(make), 0)


node("ShardedFilespec", b"dir/model", np.int32(7))
node("ShardedFilespec", b"dir/model", np.int32([7, 8]))
