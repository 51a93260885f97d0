"""The layers of a monitored session: hooks, a coordinator, and recovery of lost sessions."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tensorfleet.core import errors, logging
from tensorfleet.proto import config_pb2
from tensorfleet.train.coordinator import Coordinator
from tensorfleet.train.session_creator import DEFAULT_WAIT_SECONDS
from tensorfleet.train.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

LOST = (errors.AbortedError, errors.UnavailableError)
"""The errors after which a new session may succeed."""

_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 10.0


class Creator(Protocol):
    """A creator of sessions that waits `max_wait_secs` at most, for a RecoverableSession."""

    max_wait_secs: float

    def create_session(self) -> WrappedSession: ...


class StepContext:
    """The argument of a step function (`tf.train.MonitoredSession.StepContext`)."""

    def __init__(self, session: Any, run_with_hooks_fn: Callable[..., Any]) -> None:
        self._session = session
        self._run_with_hooks = run_with_hooks_fn

    @property
    def session(self) -> Any:
        """The session, for runs without hooks."""
        return self._session

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """`MonitoredSession.run` without recovery, which repeats the whole step function."""
        return self._run_with_hooks(*args, **kwargs)

    def request_stop(self) -> None:
        """Ends the loop of a `with` block around the monitored session. Raises StopIteration to do so."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class WrappedSession:
    """A layer around another session, which may request a stop."""

    def __init__(self, session: Any) -> None:
        self._session = session

    @property
    def graph(self) -> Any:
        return self._session.graph

    @property
    def sess_str(self) -> Any:
        return self._session.sess_str

    def should_stop(self) -> bool:
        """Whether this session or one that it wraps requests a stop, or is closed."""
        if self.check_stop() or self._session is None:
            return True
        return isinstance(self._session, WrappedSession) and self._session.should_stop()

    def check_stop(self) -> bool:
        """Whether this session itself requests a stop."""
        return False

    def close(self) -> None:
        """Closes the wrapped session. A second call, and the close of a lost session, do nothing."""
        session, self._session = self._session, None
        if session is None:
            return
        try:
            session.close()
        except LOST as e:
            logging.error("A session could not be closed, as a task of its cluster is gone: %s", e)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self._session.run(*args, **kwargs)

    def run_step_fn(
        self, step_fn: Callable[[StepContext], Any], raw_session: Callable[[], Any], run_with_hooks: Any
    ) -> Any:
        return step_fn(StepContext(raw_session(), run_with_hooks or self.run))


class HookedSession(WrappedSession):
    """Adds the fetches and feeds of hooks to each run, and passes them its results."""

    def __init__(self, session: Any, hooks: Sequence[SessionRunHook]) -> None:
        super().__init__(session)
        self._hooks = hooks
        self._should_stop = False

    def check_stop(self) -> bool:
        return self._should_stop

    def run(
        self,
        fetches: Any,
        feed_dict: dict[Any, Any] | None = None,
        options: config_pb2.RunOptions | None = None,
        run_metadata: config_pb2.RunMetadata | None = None,
    ) -> Any:
        """`Session.run` with the hooks.

        Raises:
            RuntimeError: a stop was requested before, or a tensor is fed twice.
        """
        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        if not self._hooks:
            return self._session.run(fetches, feed_dict, options, run_metadata)
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._session)
        options = options or config_pb2.RunOptions()
        # A flat dict, for which the session finds its signature even if the dict is new in each run.
        several = type(fetches) is list or type(fetches) is tuple
        all_fetches: dict[Any, Any] = dict(enumerate(fetches)) if several else {"caller": fetches}
        hook_feeds: dict[Any, Any] = {}
        for hook in self._hooks:
            request = hook.before_run(context)
            if request is None:
                continue
            if request.fetches is not None:
                all_fetches[hook] = request.fetches
            if request.feed_dict:
                _check_distinct(hook_feeds, request.feed_dict, "Same tensor is fed by two hooks.")
                hook_feeds.update(request.feed_dict)
            if request.options:
                _merge_options(options, request.options)
        if hook_feeds and feed_dict:
            _check_distinct(feed_dict, hook_feeds, "Same tensor is fed by a SessionRunHook and user.")
        feeds = {**hook_feeds, **(feed_dict or {})} if hook_feeds else feed_dict
        metadata = run_metadata or config_pb2.RunMetadata()
        outputs = self._run(all_fetches, feeds, options, metadata, run_metadata is not None)
        for hook in self._hooks:
            hook.after_run(context, SessionRunValues(outputs.get(hook), options, metadata))
        self._should_stop = self._should_stop or context.stop_requested
        return type(fetches)(outputs[i] for i in range(len(fetches))) if several else outputs["caller"]

    def _run(
        self,
        fetches: dict[Any, Any],
        feeds: dict[Any, Any] | None,
        options: config_pb2.RunOptions,
        metadata: config_pb2.RunMetadata,
        wanted: bool,
    ) -> Any:
        # Empty options are left out, as runs without options are faster.
        if not wanted and not options.ByteSize():
            return self._session.run(fetches, feed_dict=feeds)
        return self._session.run(fetches, feed_dict=feeds, options=options, run_metadata=metadata)


def _check_distinct(feeds: dict[Any, Any], others: dict[Any, Any], message: str) -> None:
    common = feeds.keys() & others.keys()
    if common:
        raise RuntimeError(f"{message} Conflict(s): {list(common)}")


def _merge_options(options: config_pb2.RunOptions, more: config_pb2.RunOptions) -> None:
    """Merges `more` into `options`: the higher trace level, the longer timeout, all debug watches."""
    options.trace_level = max(options.trace_level, more.trace_level)
    options.timeout_in_ms = max(options.timeout_in_ms, more.timeout_in_ms)
    options.inter_op_thread_pool = max(options.inter_op_thread_pool, more.inter_op_thread_pool)
    options.output_partition_graphs |= more.output_partition_graphs
    options.debug_options.debug_tensor_watch_opts.extend(more.debug_options.debug_tensor_watch_opts)
    options.debug_options.reset_disk_byte_usage |= more.debug_options.reset_disk_byte_usage
    options.report_tensor_allocations_upon_oom |= more.report_tensor_allocations_upon_oom


class CoordinatedSession(WrappedSession):
    """A session that ends with its coordinator: runs and `close` raise the errors of its threads."""

    def __init__(self, session: Any, coord: Coordinator, stop_grace_period_secs: float = 120) -> None:
        super().__init__(session)
        self._coord = coord
        self._stop_grace_period_secs = stop_grace_period_secs

    def check_stop(self) -> bool:
        self._coord.raise_requested_exception()
        return self._coord.should_stop()

    def close(self) -> None:
        self._coord.request_stop()
        try:
            self._coord.join(stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True)
        finally:
            super().close()

    def run(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._session.run(*args, **kwargs)
        except LOST:
            raise
        except Exception as error:
            # If a thread has lost its task, this run failed for the same reason, and the session can recover.
            try:
                self._coord.raise_requested_exception()
            except LOST:
                raise
            except Exception:
                raise error from None
            raise


class RecoverableSession(WrappedSession):
    """Replaces a lost session by a new one and repeats the run.

    The time to wait for a lost task is the creator's, counted from the last run that succeeded.
    """

    def __init__(self, creator: Creator) -> None:
        self._creator = creator
        # Programs' own creators need no limit; then the one of workers' sessions holds.
        self._wait_seconds = getattr(creator, "max_wait_secs", DEFAULT_WAIT_SECONDS)
        super().__init__(self._create())

    def _create(self) -> WrappedSession:
        end = time.monotonic() + self._wait_seconds
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                return self._creator.create_session()
            except LOST as e:
                left = end - time.monotonic()
                if left <= 0:
                    raise errors.DeadlineExceededError(
                        None,
                        None,
                        f"No session could be made within {self._wait_seconds:g} secs. {e.message}",
                    ) from e
                logging.info("A session could not be made; trying again: %s", e)
            time.sleep(min(pause, left))
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    def check_stop(self) -> bool:
        try:
            return self._session is None or self._session.check_stop()
        except LOST as e:
            self._lose(e)
            self._session = self._create()
            return False
        except Exception:
            # `close`, which follows, raises the thread's error.
            return True

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self._repeat(lambda session: session.run(*args, **kwargs))

    def run_step_fn(
        self, step_fn: Callable[[StepContext], Any], raw_session: Callable[[], Any], run_with_hooks: Any
    ) -> Any:
        return self._repeat(lambda session: session.run_step_fn(step_fn, raw_session, session.run))

    def _repeat(self, function: Callable[[WrappedSession], Any]) -> Any:
        failed_since: float | None = None
        while True:
            try:
                if self._session is None:
                    self._session = self._create()
                return function(self._session)
            except LOST as e:
                # Without this limit, a task that restarts and fails each time would be retried forever.
                now = time.monotonic()
                failed_since = now if failed_since is None else failed_since
                if now - failed_since > self._wait_seconds:
                    raise
                self._lose(e)

    def _lose(self, error: errors.OpError) -> None:
        logging.warning("The session is lost and will be made anew: %s", error)
        try:
            self.close()
        except LOST as e:
            logging.info("A thread of the lost session has failed as well: %s", e)
