"""Reads of a variable before and after it changes in the same step."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.meaning import Place, program


@program
def identity_after_assign_add(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)
    with tf.control_dependencies([tf.assign_add(v, 1)]):
        y = tf.identity(v)
    return place.run([y])


@program
def sum_after_assign_add(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)
    with tf.control_dependencies([tf.assign_add(v, 1)]):
        y = v + 0.0
    return place.run(y)


@program
def product_after_assign(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable([1.0, 2.0])
    with tf.control_dependencies([tf.assign(v, [5.0, 6.0])]):
        y = v * 2.0 + tf.exp(v) - tf.sqrt(v)
    return place.run(y)


@program
def read_made_before_and_used_after(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)
    early = tf.identity(v)
    with tf.control_dependencies([tf.assign_add(v, 1)]):
        y = early * 10.0
    return place.run(y)


@program
def reshaped_before_and_used_after(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable([1.0, 2.0, 3.0, 4.0])
    early = tf.expand_dims(tf.reshape(v, [2, 2]), 0)
    with tf.control_dependencies([tf.assign_add(v, [1.0, 1.0, 1.0, 1.0])]):
        y = early * 10.0
    return place.run(y)


@program
def fetched_beside_its_assignment(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)
    return place.run([v.value(), tf.assign_add(v, 1)])


@program
def variable_fetched_beside_its_assignment(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)
    return place.run([v, tf.assign_add(v, 1).op])


@program
def reshaped_and_fetched_beside_an_assignment(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable([1.0, 2.0])
    return place.run([tf.reshape(v, [2, 1]), tf.assign_add(v, [1.0, 1.0]).op])


@program
def products_before_between_and_after(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(1.0)
    before = v * 1.0
    with tf.control_dependencies([before]):
        first = tf.assign_add(v, 1)
    with tf.control_dependencies([first]):
        between = v * 1.0
    with tf.control_dependencies([between]):
        second = tf.assign_add(v, 1)
    with tf.control_dependencies([second]):
        after = v * 1.0
    return place.run([before, between, after])


@program
def identity_keeps_no_old_value(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(1.0)
    kept = tf.identity(v)
    with tf.control_dependencies([kept]):
        changed = tf.assign_add(v, 1)
    with tf.control_dependencies([changed]):
        after = kept * 1.0
    return place.run([kept, after])


@program
def sum_keeps_the_old_value(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(1.0)
    kept = v + 0.0
    with tf.control_dependencies([kept]):
        changed = tf.assign_add(v, 1)
    with tf.control_dependencies([changed]):
        after = kept * 1.0
    return place.run([kept, after])


@program
def result_of_an_assignment_follows_the_next(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)
    first = tf.identity(tf.assign_add(v, 1))
    with tf.control_dependencies([first]):
        second = tf.assign_add(v, 1)
    with tf.control_dependencies([second]):
        after = first * 1.0
    return place.run([first, after])


@program
def read_value_after_assign(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(1.0)
    with tf.control_dependencies([tf.assign(v, 5.0)]):
        y = v.read_value() * 2.0
    return place.run(y)


@program
def read_value_made_before(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(1.0)
    early = v.read_value()
    with tf.control_dependencies([early]):
        changed = tf.assign(v, 0.5)
    with tf.control_dependencies([changed]):
        y = early * 1.0
    return place.run(y)


@program
def resource_reads_before_and_after(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(1.0, use_resource=True)
    before = v.read_value()
    with tf.control_dependencies([before]):
        changed = tf.assign(v, 5.0)
    with tf.control_dependencies([changed]):
        return place.run([before * 1.0, v.read_value() * 2.0, v * 3.0])


@program
def resource_read_on_another_task(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(1.0, use_resource=True)
    with tf.control_dependencies([tf.assign_add(v, 0.5)]), tf.device(place.other):
        y = v.read_value() * 2.0
    return place.run(y)


@program
def read_on_another_task(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)
    with tf.control_dependencies([tf.assign_add(v, 1)]), tf.device(place.other):
        y = tf.identity(v)
        z = v.read_value() + 1.0
    return place.run([y, z])


@program
def changes_and_reads_by_turns_on_two_tasks(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)
    with tf.control_dependencies([v * 1.0]):
        first = tf.assign_add(v, 1)
    with tf.control_dependencies([first]), tf.device(place.other):
        y = v * 1.0
    with tf.control_dependencies([y]):
        second = tf.assign_add(v, 1)
    with tf.control_dependencies([second]):
        z = v + y
    return place.run([y, z])


@program
def scatter_and_gather(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.control_dependencies([tf.scatter_add(v, [1], [10.0])]):
        return place.run([v * 1.0, tf.gather(v, [1, 2]), tf.reduce_sum(v)])


@program
def sliced_update_and_sum(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(np.zeros((3, 2), np.float32))
    with tf.control_dependencies([v[1].assign([5.0, 6.0])]):
        return place.run([tf.reduce_sum(v, 0), v[1] * 1.0])


@program
def two_variables_change(place: Place) -> Any:
    tf = place.tf
    a, b = tf.Variable(1.0), tf.Variable(10.0)
    with tf.control_dependencies([tf.assign_add(a, 1.0)]):
        first = tf.assign_add(b, a)
    with tf.control_dependencies([first]):
        second = tf.assign_add(a, b)
    with tf.control_dependencies([second]):
        return place.run([a * 1.0, b * 1.0, a + b])


@program
def swap_of_two_variables(place: Place) -> Any:
    tf = place.tf
    a, b = tf.Variable(1.0), tf.Variable(2.0)
    old_a, old_b = a + 0.0, b + 0.0
    with tf.control_dependencies([old_a, old_b]):
        swap = tf.group(tf.assign(a, old_b), tf.assign(b, old_a))
    with place.session() as session:
        session.run(swap)
        return session.run([a, b])


@program
def loss_after_training(place: Place) -> Any:
    tf = place.tf
    w = tf.Variable(3.0)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(w))
    with tf.control_dependencies([train]):
        return place.run(tf.square(w))


@program
def adam_then_read(place: Place) -> Any:
    tf = place.tf
    w = tf.Variable([3.0, -1.0])
    optimizer = tf.train.AdamOptimizer(0.1)
    train = optimizer.minimize(tf.reduce_sum(tf.square(w)))
    with tf.control_dependencies([train]):
        y = [w * 1.0, optimizer.get_slot(w, "m") * 1.0]
    with place.session() as session:
        return [session.run(y) for _ in range(3)]


@program
def global_step_beside_training(place: Place) -> Any:
    tf = place.tf
    w = tf.Variable(3.0)
    step = tf.train.get_or_create_global_step()
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(w), global_step=step)
    with place.session() as session:
        return [session.run([train, step])[1] for _ in range(3)]


@program
def moving_average_of_an_updated_variable(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(1.0)
    averages = tf.train.ExponentialMovingAverage(0.5)
    with tf.control_dependencies([tf.assign_add(v, 1)]):
        kept = averages.apply([v])
    with tf.control_dependencies([kept]):
        y = tf.identity(averages.average(v))
    with place.session() as session:
        return [session.run(y) for _ in range(3)]


@program
def decayed_learning_rate_after_the_step(place: Place) -> Any:
    tf = place.tf
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(1.0, step, 2, 0.5, staircase=True)
    with tf.control_dependencies([tf.assign_add(step, 1)]):
        after = tf.train.exponential_decay(1.0, step, 2, 0.5, staircase=True)
    with place.session() as session:
        return [session.run(after) for _ in range(4)], session.run(rate)


@program
def target_network(place: Place) -> Any:
    tf = place.tf
    online, target = tf.Variable([1.0, 2.0]), tf.Variable([0.0, 0.0])
    updated = tf.assign_sub(online, [0.5, 0.5])
    with tf.control_dependencies([updated]):
        soft = tf.assign(target, 0.9 * target + 0.1 * online)
    with place.session() as session:
        return [session.run([soft, online * 1.0]) for _ in range(2)][-1][0], session.run(online)


@program
def counter_as_a_condition(place: Place) -> Any:
    tf = place.tf
    count = tf.Variable(0)
    with tf.control_dependencies([tf.assign_add(count, 1)]):
        y = tf.cond(tf.equal(count % 2, 0), lambda: count * 100, lambda: count * 1)
    with place.session() as session:
        return [session.run(y) for _ in range(4)]


@program
def uninitialized_read(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(1.0, name="lost")
    with tf.control_dependencies([tf.assign_add(v, 1.0)]):
        y = v * 2.0
    with tf.Session(place.target) as session:
        try:
            session.run(y)
        except tf.errors.FailedPreconditionError as error:
            return "Attempting to use uninitialized value lost" in error.message
    return None
