"""Threads that fill queues: `tf.train.QueueRunner`, `tf.train.start_queue_runners`."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors, logging
from tensorfleet.export import meta_graph
from tensorfleet.graph import framework
from tensorfleet.graph.default_session import get_default_session
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.session.session import BaseSession
from tensorfleet.train.coordinator import Coordinator

if TYPE_CHECKING:
    from tensorfleet.proto.queue_runner_pb2 import QueueRunnerDef


class QueueRunner:
    """Runs enqueue operations of a queue, each in its own thread (`tf.train.QueueRunner`).

    The queue is closed at the end of the input of all threads. When the coordinator stops, enqueues that wait
    for room are cancelled.
    """

    # Whether the threads end soon after a request to stop, so that a coordinator may wait for them.
    _ends_by_itself = True

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: tuple[type[errors.OpError], ...] | None = None,
        queue_runner_def: QueueRunnerDef | None = None,
        import_scope: str | None = None,
    ) -> None:
        """A runner, which `create_threads` starts.

        Args:
            queue: the queue.
            enqueue_ops: the operations to run, each in its own thread.
            close_op: the operation that closes the queue, by default `queue.close()`.
            cancel_op: the operation that closes the queue and cancels enqueues that wait, by default
                `queue.close(cancel_pending_enqueues=True)`.
            queue_closed_exception_types: the errors that mean the end of the input, by default
                OutOfRangeError.
            queue_runner_def: a message, instead of the arguments above.
            import_scope: the name scope into which the message's graph was imported.

        Raises:
            ValueError: the queue or its operations are missing, or given twice.
            TypeError: the exception types are not a tuple of OpErrors.
        """
        if queue_runner_def is not None:
            if queue or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._read(queue_runner_def, import_scope)
        else:
            if not queue or not enqueue_ops:
                raise ValueError("Must provide queue and enqueue_ops.")
            self._queue = queue
            self._enqueue_ops = enqueue_ops
            self._close_op = queue.close() if close_op is None else close_op
            self._cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
            self._end_types = _end_types(queue_closed_exception_types)
        self._lock = threading.Lock()
        self._runs: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._exceptions: list[Exception] = []

    def _read(self, message: QueueRunnerDef, scope: str | None) -> None:
        def element(name: str) -> Any:
            return graph.as_graph_element(f"{scope}/{name}" if scope else name)

        graph = framework.get_default_graph()
        self._queue = element(message.queue_name)
        self._enqueue_ops = [element(name) for name in message.enqueue_op_name]
        self._close_op = element(message.close_op_name)
        self._cancel_op = element(message.cancel_op_name)
        codes = message.queue_closed_exception_types
        self._end_types = tuple(errors.exception_type_from_error_code(code) for code in codes) or (
            errors.OutOfRangeError,
        )

    @property
    def queue(self) -> Any:
        """The queue."""
        return self._queue

    @property
    def enqueue_ops(self) -> Sequence[Any]:
        """The operations that are run."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        """The operation that closes the queue."""
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        """The operation that closes the queue and cancels enqueues that wait."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[errors.OpError], ...]:
        """The errors that mean the end of the input."""
        return self._end_types

    @property
    def exceptions_raised(self) -> list[Exception]:
        """The errors of threads that were started without a coordinator."""
        return self._exceptions

    @property
    def name(self) -> str:
        """The queue's name."""
        return str(self._queue.name)

    def create_threads(
        self, sess: Any, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Makes the threads for a session; none if those of an earlier call still run in that session.

        Args:
            sess: the session.
            coord: the coordinator, which stops the threads and gets their errors.
            daemon: make threads that do not keep the program alive.
            start: start the threads, too.
        """
        with self._lock:
            if self._runs.get(sess, 0) > 0:
                return []
            self._runs[sess] = len(self._enqueue_ops)
            self._exceptions = []
        threads = [
            threading.Thread(
                target=self._run,
                args=(sess, op, coord),
                name=f"QueueRunnerThread-{self.name}-{op.name}",
                daemon=daemon,
            )
            for op in self._enqueue_ops
        ]
        if coord is not None:
            threads.append(
                threading.Thread(
                    target=self._close_on_stop,
                    args=(sess, coord),
                    name=f"QueueRunnerThread-{self.name}-close_on_stop",
                    daemon=daemon,
                )
            )
        for thread in threads:
            if coord is not None and self._ends_by_itself:
                coord.register_thread(thread)
            if start:
                thread.start()
        return threads

    def _run(self, sess: Any, enqueue_op: Any, coord: Coordinator | None) -> None:
        try:
            enqueue = self._step(sess, enqueue_op)
            while coord is None or not coord.should_stop():
                enqueue()
        except self._end_types:
            if self._finished(sess):
                self._attempt(sess, self._close_op)
            return
        except Exception as e:
            self._finished(sess)
            if coord is not None and coord.should_stop() and isinstance(e, errors.CancelledError):
                return  # the session has ended
            if coord is not None:
                coord.request_stop(e)
                return
            logging.error("Exception in QueueRunner: %s", e)
            with self._lock:
                self._exceptions.append(e)
            raise
        self._finished(sess)

    def _step(self, sess: Any, enqueue_op: Any) -> Callable[[], Any]:
        """What a thread does again and again; the errors that mean the end of the input end it."""
        enqueue: Callable[[], Any] = sess.make_callable(enqueue_op)
        return enqueue

    def _finished(self, sess: Any) -> bool:
        """Counts a thread that ends; returns whether it is the session's last one."""
        with self._lock:
            self._runs[sess] -= 1
            return self._runs[sess] == 0

    def _close_on_stop(self, sess: Any, coord: Coordinator) -> None:
        coord.wait_for_stop()
        self._attempt(sess, self._cancel_op)

    @staticmethod
    def _attempt(sess: Any, op: Any) -> None:
        # In a session that is closed or lost there is no queue left to close.
        try:
            sess.run(op)
        except (errors.OpError, RuntimeError) as e:
            logging.debug("A queue could not be closed: %s", e)

    def to_proto(self, export_scope: str | None = None) -> QueueRunnerDef | None:
        """The runner as a QueueRunnerDef, with names relative to `export_scope`; None if it is not in it."""
        from tensorfleet.proto.queue_runner_pb2 import QueueRunnerDef

        prefix = f"{export_scope}/" if export_scope else ""
        if not self.name.startswith(prefix):
            return None
        message = QueueRunnerDef(
            queue_name=self.name.removeprefix(prefix),
            enqueue_op_name=[op.name.removeprefix(prefix) for op in self._enqueue_ops],
            close_op_name=self._close_op.name.removeprefix(prefix),
            cancel_op_name=self._cancel_op.name.removeprefix(prefix),
        )
        for kind in self._end_types:
            code = errors.error_code_from_exception_type(kind)
            message.queue_closed_exception_types.append(code)  # type: ignore[arg-type]
        return message

    @staticmethod
    def from_proto(queue_runner_def: QueueRunnerDef, import_scope: str | None = None) -> QueueRunner:
        """A runner from its message."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def _end_types(types: Any) -> tuple[type[errors.OpError], ...]:
    if types is None:
        return (errors.OutOfRangeError,)
    if not isinstance(types, tuple) or not types or not all(issubclass(t, errors.OpError) for t in types):
        raise TypeError(
            "queue_closed_exception_types, when provided, must be a tuple of tf.error types, but saw: "
            f"{types}"
        )
    return types


def _imported(value: bytes, scope: str | None) -> QueueRunner:
    from tensorfleet.proto.queue_runner_pb2 import QueueRunnerDef

    return QueueRunner.from_proto(QueueRunnerDef.FromString(value), scope)


meta_graph.register_from_proto(GraphKeys.QUEUE_RUNNERS, _imported)


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds a runner to those that `start_queue_runners` starts (`tf.train.add_queue_runner`)."""
    framework.add_to_collection(collection, qr)


class StartsQueueRunners:
    """A session that starts the queue runners of its graph itself."""


def start_queue_runners(
    sess: Any = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Starts all runners of the default graph (`tf.train.start_queue_runners`).

    Args:
        sess: the session, by default the default session. A MonitoredSession has already started them.
        coord, daemon, start: as in `QueueRunner.create_threads`.
        collection: the collection of the runners.

    Raises:
        ValueError: there is no session.
        TypeError: `sess` is not a session.
    """
    if sess is None:
        sess = get_default_session()
        if sess is None:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with sess.as_default()` "
                "or pass an explicit session to tf.start_queue_runners(sess=sess)"
            )
    if not isinstance(sess, BaseSession):
        if isinstance(sess, StartsQueueRunners):
            return []
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {sess.__class__}")
    runners = framework.get_collection(collection)
    if not runners:
        logging.warning("`tf.train.start_queue_runners()` was called when no queue runners were defined.")
    with sess.graph.as_default():
        return [
            thread
            for runner in runners
            for thread in runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
        ]
