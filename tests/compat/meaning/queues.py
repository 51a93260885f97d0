"""Queues, input pipelines and datasets, and variables beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.meaning import Place, program, raised


@program
def queue_in_one_step(place: Place) -> Any:
    tf = place.tf
    queue = tf.FIFOQueue(5, [tf.int32], shapes=[[]])
    put = queue.enqueue_many([[1, 2, 3]])
    with tf.control_dependencies([put]):
        size, first = queue.size(), queue.dequeue()
    with tf.control_dependencies([first]):
        later = queue.size() * 1
    with tf.Session(place.target) as session:
        return session.run([size, first])[1], session.run(queue.size()), session.run(later)


@program
def closed_queue_runs_dry(place: Place) -> Any:
    tf = place.tf
    queue = tf.FIFOQueue(5, [tf.float32, tf.string], shapes=[[2], []])
    with tf.Session(place.target) as session:
        session.run(queue.enqueue_many([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], ["a", "b", "c"]]))
        session.run(queue.close())
        found = [session.run(queue.dequeue_up_to(2)) for _ in range(2)]
        return found, raised(lambda: session.run(queue.dequeue())), session.run(queue.is_closed())


@program
def queue_counts_into_a_variable(place: Place) -> Any:
    tf = place.tf
    queue = tf.FIFOQueue(3, tf.int64)
    seen = tf.Variable(0, dtype=tf.int64)
    fill = queue.enqueue_many([np.array([5, 6, 7], np.int64)])
    value = queue.dequeue()
    with tf.control_dependencies([tf.assign_add(seen, value)]):
        total = seen + 0
    with place.session() as session:
        session.run(fill)
        return [session.run(total) for _ in range(3)]


@program
def padding_and_priority_queues(place: Place) -> Any:
    tf = place.tf
    padding = tf.PaddingFIFOQueue(5, [tf.int32], [[None]])
    priority = tf.PriorityQueue(5, [tf.string], [[]])
    with tf.Session(place.target) as session:
        for row in ([1], [2, 3], [4, 5, 6]):
            session.run(padding.enqueue([row]))
        for rank, text in ((3, "c"), (1, "a"), (2, "b")):
            session.run(priority.enqueue([np.int64(rank), text]))
        return session.run(padding.dequeue_many(3)), [session.run(priority.dequeue()) for _ in range(3)]


@program
def range_input_producer(place: Place) -> Any:
    tf = place.tf
    number = tf.train.range_input_producer(4, num_epochs=2, shuffle=False).dequeue()
    batch = tf.train.batch([number], 3, allow_smaller_final_batch=True)
    found = []
    with place.session() as session:
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        try:
            while True:
                found.append(session.run(batch))
        except tf.errors.OutOfRangeError:
            pass
        coordinator.request_stop()
        coordinator.join(threads)
    return found


@program
def dataset_and_a_variable(place: Place) -> Any:
    tf = place.tf
    data = tf.data.Dataset.range(6).map(lambda x: x * x).filter(lambda x: x % 2 < 1).batch(2)
    iterator = tf.data.make_one_shot_iterator(data)
    total = tf.Variable(0, dtype=tf.int64)
    with tf.control_dependencies([tf.assign_add(total, tf.reduce_sum(iterator.get_next()))]):
        y = total * 1
    with place.session() as session:
        found = [session.run(y) for _ in range(2)]
        return found, raised(lambda: session.run(y)), session.run(total)


@program
def initializable_iterators(place: Place) -> Any:
    tf = place.tf
    size = tf.placeholder(tf.int64, [])
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(size).repeat(2).batch(3))
    following = iterator.get_next()
    found = []
    with tf.Session(place.target) as session:
        found.append(raised(lambda: session.run(following)))
        for count in (2, 1):
            session.run(iterator.initializer, {size: count})
            try:
                while True:
                    found.append(session.run(following))
            except tf.errors.OutOfRangeError:
                found.append("end")
    return found


@program
def feedable_iterators(place: Place) -> Any:
    tf = place.tf
    handle = tf.placeholder(tf.string, [])
    first = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3))
    second = tf.data.make_one_shot_iterator(tf.data.Dataset.range(10, 13))
    iterator = tf.data.Iterator.from_string_handle(handle, first.output_types, first.output_shapes)
    following = iterator.get_next()
    with tf.Session(place.target) as session:
        handles = session.run([first.string_handle(), second.string_handle()])
        return [session.run(following, {handle: handles[i]}) for i in (0, 1, 1, 0)]


@program
def imported_runners_and_savers(place: Place) -> Any:
    tf = place.tf
    queue = tf.FIFOQueue(3, [tf.int32], shapes=[[]], name="queue")
    number = tf.Variable(0, name="number")
    enqueue = queue.enqueue([tf.count_up_to(number, 9) + 1])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [enqueue]))
    tf.add_to_collection("taken", queue.dequeue())
    tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    tf.add_to_collection("words", "queue")
    exported = tf.train.export_meta_graph()
    results = []
    for scope in (None, "copy"):
        with tf.Graph().as_default():
            tf.train.import_meta_graph(exported, import_scope=scope)
            (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
            (saver,) = tf.get_collection(tf.GraphKeys.SAVERS)
            results.append([type(runner).__name__, runner.name, type(saver).__name__])
            results.append(tf.get_collection("words"))
            (taken,) = tf.get_collection("taken")
            with place.session() as session:
                coordinator = tf.train.Coordinator()
                threads = tf.train.start_queue_runners(session, coord=coordinator)
                results.append([session.run(taken) for _ in range(3)])
                coordinator.request_stop()
                coordinator.join(threads)
    return results
