"""Variables that change in loops and branches, and what is read there."""

from __future__ import annotations

from typing import Any

from tests.compat.meaning import Place, program


@program
def loop_updates_then_reads(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)

    def body(i: Any, total: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(v, 1)]):
            return i + 1, total + v

    return place.run(tf.while_loop(lambda i, _: i < 4, body, [0, 0.0], parallel_iterations=1))


@program
def loop_reads_then_updates(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)

    def body(i: Any, total: Any) -> Any:
        total = total + v
        with tf.control_dependencies([total]):
            changed = tf.assign_add(v, 1)
        with tf.control_dependencies([changed]):
            return i + 1, tf.identity(total)

    return place.run(tf.while_loop(lambda i, _: i < 4, body, [0, 0.0], parallel_iterations=1))


@program
def loop_with_a_variable_as_its_condition(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)

    def body(i: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(v, 1)]):
            return i + 1

    loop = tf.while_loop(lambda i: tf.logical_and(v < 5.0, i < 20), body, [0], parallel_iterations=1)
    return place.run(loop)


@program
def read_after_a_loop(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)

    def body(i: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(v, 1)]):
            return i + 1

    loop = tf.while_loop(lambda i: i < 3, body, [0])
    with tf.control_dependencies([loop]):
        return place.run([loop, v * 1.0])


@program
def loop_in_a_loop(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)

    def inner(j: Any, total: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(v, 1)]):
            return j + 1, total + v

    def outer(i: Any, total: Any) -> Any:
        _, total = tf.while_loop(lambda j, _: j < 2, inner, [0, total], parallel_iterations=1)
        with tf.control_dependencies([total]):
            return i + 1, tf.identity(total) + 100 * v

    return place.run(tf.while_loop(lambda i, _: i < 3, outer, [0, 0.0], parallel_iterations=1))


@program
def branch_in_a_loop(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)

    def body(i: Any, total: Any) -> Any:
        def even() -> Any:
            with tf.control_dependencies([tf.assign_add(v, 1)]):
                return v * 10.0

        def odd() -> Any:
            return v * 1.0

        value = tf.cond(tf.equal(i % 2, 0), even, odd)
        with tf.control_dependencies([value]):
            return i + 1, total + value + v

    return place.run(tf.while_loop(lambda i, _: i < 4, body, [0, 0.0], parallel_iterations=1))


@program
def unchanged_variable_in_a_loop_before_training(place: Place) -> Any:
    tf = place.tf
    w = tf.Variable(0.5)
    _, y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * w), [0, 1.0])
    train = tf.train.GradientDescentOptimizer(0.1).minimize(y)
    with tf.control_dependencies([train]):
        return place.run([w * 1.0])


@program
def branch_updates_then_reads(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)
    choice = tf.placeholder(tf.bool, [])

    def changed() -> Any:
        with tf.control_dependencies([tf.assign_add(v, 1)]):
            return v * 1.0

    y = tf.cond(choice, changed, lambda: v * -1.0 - 7.0)
    with place.session() as session:
        return [session.run(y, {choice: value}) for value in (True, True, False, True)]


@program
def identity_of_a_variable_on_a_branch(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)

    def changed() -> Any:
        with tf.control_dependencies([tf.assign_add(v, 1)]):
            return tf.identity(v)

    return place.run(tf.cond(tf.constant(True), changed, lambda: tf.constant(-1.0)))


@program
def read_after_a_branch(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)
    choice = tf.placeholder(tf.bool, [])
    value = tf.cond(choice, lambda: tf.assign_add(v, 1), lambda: tf.constant(0.0) + 0.0)
    with tf.control_dependencies([value]):
        y = v * 1.0
    with place.session() as session:
        return [session.run([value, y], {choice: taken}) for taken in (True, False, True)]


@program
def branches_after_an_update(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)
    with tf.control_dependencies([tf.assign_add(v, 1)]):
        y = tf.cond(tf.constant(True), lambda: v * 1.0, lambda: v * 2.0)
    return place.run(y)


@program
def branch_that_is_not_taken_waits_for_an_update(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)
    changed = tf.assign_add(v, 1)

    def first() -> Any:
        with tf.control_dependencies([changed]):
            return tf.identity(v)

    return place.run(tf.cond(tf.constant(False), first, lambda: tf.constant(7.0)))


@program
def branch_that_is_taken_waits_for_an_update(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)
    changed = tf.assign_add(v, 1)

    def first() -> Any:
        with tf.control_dependencies([changed]):
            return v * 3.0

    return place.run(tf.cond(tf.constant(True), first, lambda: tf.constant(7.0)))


@program
def branch_on_another_task(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(1.0)

    def changed() -> Any:
        with tf.control_dependencies([tf.assign_add(v, 1)]), tf.device(place.other):
            return v * 5.0

    return place.run(tf.cond(tf.constant(True), changed, lambda: tf.constant(7.0)))


@program
def case_of_updates(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(1.0)
    choice = tf.placeholder(tf.int32, [])

    def add(amount: float) -> Any:
        with tf.control_dependencies([tf.assign_add(v, amount)]):
            return v + 0.0

    y = tf.case(
        [(tf.equal(choice, 0), lambda: add(10.0)), (tf.equal(choice, 1), lambda: add(100.0))],
        default=lambda: v * 1.0,
    )
    with place.session() as session:
        return [session.run(y, {choice: value}) for value in (0, 1, 2)]


@program
def update_ops_before_the_loss(place: Place) -> Any:
    tf = place.tf
    x = tf.constant([[1.0, 2.0], [3.0, 6.0]])
    mean = tf.get_variable("moving_mean", [2], initializer=tf.zeros_initializer(), trainable=False)
    batch_mean = tf.reduce_mean(x, 0)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign(mean, 0.5 * mean + 0.5 * batch_mean))
    loss = tf.reduce_sum(tf.square(x - batch_mean))
    with tf.control_dependencies([*tf.get_collection(tf.GraphKeys.UPDATE_OPS), loss]):
        again = tf.identity(loss)
    with place.session() as session:
        return [session.run([again, mean]) for _ in range(2)]


@program
def tensor_array_with_gaps(place: Place) -> Any:
    tf = place.tf
    array = tf.TensorArray(tf.float32, 3, clear_after_read=False).write(0, [1.0, 2.0])
    return place.run([array.read(1), array.stack()])


@program
def growing_tensor_array_with_gaps(place: Place) -> Any:
    tf = place.tf
    return place.run(tf.TensorArray(tf.int32, 0, dynamic_size=True).write(2, 5).stack())
