"""Threads that end together: `tf.train.Coordinator`, `tf.train.LooperThread`."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tensorfleet.core import errors, logging

_LOOK_SECONDS = 0.05


class Coordinator:
    """Coordinates the end of a program's threads, and passes on the first error (`tf.train.Coordinator`).

    Each thread works while `should_stop()` is false, and calls `request_stop` to end all of them; the main
    thread waits in `join`, which raises the first error that was reported.
    """

    def __init__(self, clean_stop_exception_types: Iterable[type[BaseException]] | None = None) -> None:
        """A coordinator.

        Args:
            clean_stop_exception_types: errors that mean a regular end, so that `join` does not raise them; by
                default OutOfRangeError, the end of the input.
        """
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (errors.OutOfRangeError,)
        self._clean_stop_exception_types = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._joined = False
        self._threads: set[threading.Thread] = set()

    def request_stop(self, ex: Any = None) -> None:
        """Asks all threads to stop.

        Args:
            ex: the reason: an exception, or the result of `sys.exc_info()`. Only the first one is kept, and
                none after a stop was requested.

        Raises:
            The exception itself if `join` has already returned, as nothing else would raise it.
        """
        error = self._unclean(ex)
        with self._lock:
            if self._joined and error is not None:
                raise error
            if self._stop.is_set():
                return
            if error is not None and self._error is None:
                logging.info("Error reported to Coordinator: %s, %s", type(error), error)
                self._error = error
            self._stop.set()

    def _unclean(self, ex: Any) -> BaseException | None:
        error = ex[1] if isinstance(ex, tuple) and len(ex) == 3 else ex
        if error is None or isinstance(error, self._clean_stop_exception_types):
            return None
        if isinstance(error, BaseException):
            return error
        return ValueError(f"ex must be a tuple or sys.exc_info must return the current exception: {ex}")

    def clear_stop(self) -> None:
        """Clears the request to stop and its error, so that the coordinator can be used again."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop.clear()

    def should_stop(self) -> bool:
        """Whether a stop was requested."""
        return self._stop.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """A context manager that turns any exception into a request to stop."""
        try:
            yield
        except:  # noqa: E722 (an exit from a thread is a reason to stop like any other)
            self.request_stop(ex=sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits until a stop is requested, at most `timeout` seconds; returns whether it was."""
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Adds a thread to those that `join` waits for."""
        with self._lock:
            self._threads.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits until all threads have ended, or until the grace period after a request to stop is over.

        Args:
            threads: threads to wait for beside the registered ones. The calling thread is left out.
            stop_grace_period_secs: the time that threads have to end after the request, in seconds.
            ignore_live_threads: do not raise an error for threads that still run then.

        Raises:
            RuntimeError: threads still run.
                The error that was reported, if there is one.
        """
        with self._lock:
            waited = [t for t in self._threads.union(threads or ()) if t is not threading.current_thread()]
        # Polls both, as a request may come while a thread never ends, or all threads end without a request.
        while (running := _running(waited)) and not self.should_stop():
            _join(running[0], _LOOK_SECONDS)
        end = time.monotonic() + stop_grace_period_secs
        for thread in waited:
            _join(thread, end - time.monotonic())
        stragglers = " ".join(thread.name for thread in _running(waited))
        with self._lock:
            self._joined = True
            self._threads = set()
            if self._error is not None:
                raise self._error
            if stragglers:
                message = f"Coordinator stopped with threads still running: {stragglers}"
                if not ignore_live_threads:
                    raise RuntimeError(message)
                logging.info("%s", message)

    @property
    def joined(self) -> bool:
        """Whether `join` has returned."""
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raises the error that was reported, if there is one."""
        with self._lock:
            if self._error is not None:
                raise self._error


def _running(threads: list[threading.Thread]) -> list[threading.Thread]:
    return [thread for thread in threads if thread.is_alive()]


def _join(thread: threading.Thread, seconds: float) -> None:
    if thread.is_alive():  # a thread that was never started cannot be joined
        thread.join(max(seconds, 0))


class LooperThread(threading.Thread):
    """A thread that calls a function repeatedly until its coordinator stops (`tf.train.LooperThread`).

    Subclasses may replace `run_loop`, `start_loop` and `stop_loop` instead of naming a target. An exception
    stops the coordinator. The thread is a daemon and is registered with the coordinator.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        """A thread that is not started yet.

        Args:
            coord: the coordinator.
            timer_interval_secs: the time between the starts of two calls in seconds; None for no pause.
            target, args, kwargs: the function and its arguments.

        Raises:
            ValueError: `coord` is not a Coordinator, or there are arguments without a function.
        """
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        if target is None and (args or kwargs):
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        super().__init__(daemon=True)
        self._coord = coord
        self._interval = timer_interval_secs
        self._function = target
        self._function_args = tuple(args or ())
        self._function_kwargs = dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Makes a LooperThread and starts it."""
        looper = LooperThread(coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        with self._coord.stop_on_exception():
            self.start_loop()
            due = time.monotonic()
            while not self._stops_before(due):
                if self._interval is not None:
                    due += self._interval
                self.run_loop()
            self.stop_loop()

    def _stops_before(self, due: float) -> bool:
        if self._interval is None:
            return self._coord.should_stop()
        return self._coord.wait_for_stop(max(due - time.monotonic(), 0))

    def start_loop(self) -> None:
        """Called once, before the first call of `run_loop`."""

    def stop_loop(self) -> None:
        """Called once, after the last call of `run_loop`."""

    def run_loop(self) -> None:
        """One iteration: calls the target."""
        if self._function is not None:
            self._function(*self._function_args, **self._function_kwargs)
