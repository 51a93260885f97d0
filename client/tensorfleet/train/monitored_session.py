"""Sessions with hooks that recover: `tf.train.MonitoredTrainingSession`, `tf.train.MonitoredSession`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any

from tensorfleet.core import errors
from tensorfleet.graph import framework
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.train import wrapped_sessions
from tensorfleet.train.coordinator import Coordinator
from tensorfleet.train.queue_runners import StartsQueueRunners, start_queue_runners
from tensorfleet.train.saving_hooks import CheckpointSaverHook, StepCounterHook, SummarySaverHook
from tensorfleet.train.scaffold import Scaffold
from tensorfleet.train.session_creator import ChiefSessionCreator, SessionCreator, WorkerSessionCreator
from tensorfleet.train.session_run_hook import SessionRunHook
from tensorfleet.train.wrapped_sessions import (
    CoordinatedSession,
    HookedSession,
    RecoverableSession,
    WrappedSession,
)

USE_DEFAULT: Any = object()


def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: str | None = None,
    scaffold: Scaffold | None = None,
    hooks: Iterable[SessionRunHook] | None = None,
    chief_only_hooks: Iterable[SessionRunHook] | None = None,
    save_checkpoint_secs: float | None = USE_DEFAULT,
    save_summaries_steps: int | None = USE_DEFAULT,
    save_summaries_secs: float | None = USE_DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: int | None = USE_DEFAULT,
    summary_dir: str | None = None,
    save_graph_def: bool = True,
) -> MonitoredSession:
    """A session for training on a cluster (`tf.train.MonitoredTrainingSession`).

    The chief restores or initializes the variables and, if directories are given, saves checkpoints and
    summaries; the other workers wait for it. A lost session is replaced by a new one: with the current values
    of the variables if no task that holds them has restarted, else from the last checkpoint.

    Args:
        master: the target.
        is_chief: whether this process is the chief.
        checkpoint_dir: the directory to restore checkpoints from and to save them to.
        scaffold: the standard operations.
        hooks: the hooks of every process.
        chief_only_hooks: the hooks of the chief alone.
        save_checkpoint_secs, save_checkpoint_steps: the seconds or steps between checkpoints, by default
            600 s; None or 0 for no checkpoints.
        save_summaries_steps, save_summaries_secs: the steps or seconds between summaries, by default 100
            steps; None or 0 for no summaries.
        config: the ConfigProto of the session.
        stop_grace_period_secs: the time that threads have to end, in seconds.
        log_step_count_steps: the steps between two reports of the steps per second.
        max_wait_secs: the time to wait for tasks of the cluster and for the chief, in seconds.
        summary_dir: the directory of summaries, by default `checkpoint_dir`.
        save_graph_def: write `graph.pbtxt` and the meta graphs beside the checkpoints.
    """
    save_summaries_steps, save_summaries_secs = _one_of(
        save_summaries_steps, save_summaries_secs, default=(100, None)
    )
    save_checkpoint_steps, save_checkpoint_secs = _one_of(
        save_checkpoint_steps, save_checkpoint_secs, default=(None, 600)
    )
    scaffold = scaffold or Scaffold()
    creator: SessionCreator
    if not is_chief:
        creator = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(creator, list(hooks or ()), stop_grace_period_secs)
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    creator.max_wait_secs = max_wait_secs
    all_hooks = list(chief_only_hooks or ())
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir and _positive(log_step_count_steps):
        all_hooks.append(StepCounterHook(output_dir=summary_dir, every_n_steps=log_step_count_steps))
    if summary_dir and (_positive(save_summaries_steps) or _positive(save_summaries_secs)):
        all_hooks.append(
            SummarySaverHook(save_summaries_steps, save_summaries_secs, summary_dir, scaffold=scaffold)
        )
    if checkpoint_dir and (_positive(save_checkpoint_steps) or _positive(save_checkpoint_secs)):
        all_hooks.append(
            CheckpointSaverHook(
                checkpoint_dir,
                save_steps=save_checkpoint_steps,
                save_secs=save_checkpoint_secs,
                scaffold=scaffold,
                save_graph_def=save_graph_def,
            )
        )
    all_hooks += hooks or ()
    return MonitoredSession(creator, all_hooks, stop_grace_period_secs)


def _one_of(steps: Any, seconds: Any, default: tuple[Any, Any]) -> tuple[Any, Any]:
    """The steps and the seconds between two events; `default` applies only if neither is given."""
    if steps is USE_DEFAULT and seconds is USE_DEFAULT:
        return default
    return (None if steps is USE_DEFAULT else steps), (None if seconds is USE_DEFAULT else seconds)


def _positive(value: float | None) -> bool:
    return value is not None and value > 0


class _CoordinatedCreator:
    """Makes sessions with a coordinator and queue runners, and calls the hooks' `after_create_session`."""

    def __init__(
        self, creator: SessionCreator, hooks: Sequence[SessionRunHook], stop_grace_period_secs: float
    ) -> None:
        self._creator = creator
        self._hooks = hooks
        self._stop_grace_period_secs = stop_grace_period_secs
        self.coord: Coordinator | None = None
        self.session: Any = None
        self._made_one = False
        self.max_wait_secs = getattr(creator, "max_wait_secs", SessionCreator.max_wait_secs)

    def create_session(self) -> WrappedSession:
        if isinstance(self._creator, SessionCreator):
            self._creator.renewing = self._made_one
        self.session = self._creator.create_session()
        self._made_one = True
        self.coord = Coordinator(clean_stop_exception_types=[])
        if framework.get_collection(GraphKeys.QUEUE_RUNNERS):
            start_queue_runners(sess=self.session, coord=self.coord)
        for hook in self._hooks:
            hook.after_create_session(self.session, self.coord)
        hooked = HookedSession(self.session, self._hooks)
        return CoordinatedSession(hooked, self.coord, self._stop_grace_period_secs)

    def forget(self) -> None:
        self.session = self.coord = None


class _MonitoredSession(StartsQueueRunners):
    """The base class of MonitoredSession and SingularMonitoredSession."""

    StepContext = wrapped_sessions.StepContext

    def __init__(
        self,
        session_creator: SessionCreator | None,
        hooks: Sequence[SessionRunHook] | None,
        should_recover: bool,
        stop_grace_period_secs: float,
    ) -> None:
        self._graph = get_default_graph()
        self._was_finalized = self._graph.finalized
        self._hooks = list(hooks or ())
        for hook in self._hooks:
            hook.begin()
        self._creator = _CoordinatedCreator(
            session_creator or ChiefSessionCreator(), self._hooks, stop_grace_period_secs
        )
        self._session: WrappedSession | None = (
            RecoverableSession(self._creator) if should_recover else self._creator.create_session()
        )

    @property
    def graph(self) -> Any:
        """The graph of the session; None once it is closed."""
        session = self._creator.session
        return None if session is None else session.graph

    def run(
        self,
        fetches: Any,
        feed_dict: dict[Any, Any] | None = None,
        options: Any = None,
        run_metadata: Any = None,
    ) -> Any:
        """`Session.run` with the additions of the hooks.

        Raises:
            RuntimeError: the session is closed, or a stop has been requested.
        """
        return self._open().run(fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata)

    def run_step_fn(self, step_fn: Callable[[Any], Any]) -> Any:
        """Calls a function with a StepContext, by which it may run with or without hooks.

        If the session is lost meanwhile, the whole function is called again.

        Raises:
            ValueError: the function takes other arguments than `step_context`.
        """
        names = tuple(inspect.signature(step_fn).parameters)
        if names not in (("step_context",), ("self", "step_context")):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and `step_context` "
                f"arguments if it's an instance method. Got {names} instead."
            )
        return self._open().run_step_fn(step_fn, lambda: self._creator.session, None)

    def _open(self) -> WrappedSession:
        if self._session is None:
            raise RuntimeError("Session is already closed.")
        return self._session

    def should_stop(self) -> bool:
        """Whether a hook or a thread has requested a stop, or the session is closed."""
        return self._session is None or self._session.should_stop()

    def close(self) -> None:
        """Ends the hooks, stops the threads and closes the session.

        Raises:
            RuntimeError: the session is already closed.
                The error of a thread.
        """
        self._close(None)

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        # The end of the input and StopIteration are regular ends.
        if kind in (errors.OutOfRangeError, StopIteration):
            kind = None
        self._close(kind)
        return kind is None

    def _close(self, kind: type[BaseException] | None) -> None:
        try:
            if kind is None:
                for hook in self._hooks:
                    hook.end(self._creator.session)
        finally:
            try:
                self._open().close()
            finally:
                self._session = None
                self._creator.forget()
                if not self._was_finalized:
                    self._graph._unsafe_unfinalize()

    def _is_closed(self) -> bool:
        return self._creator.session is None

    def _tf_sess(self) -> Any:
        return self._creator.session


class MonitoredSession(_MonitoredSession):
    """A session with hooks that recovers from lost tasks (`tf.train.MonitoredSession`)."""

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        """Opens the session: calls the hooks' `begin`, finalizes the graph and starts threads.

        Args:
            session_creator: the creator of sessions, by default `ChiefSessionCreator()`.
            hooks: the hooks, which are called in this order around each run.
            stop_grace_period_secs: the time that threads have to end, in seconds.
        """
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


class SingularMonitoredSession(_MonitoredSession):
    """A session with hooks that does not recover (`tf.train.SingularMonitoredSession`)."""

    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        """Opens the session with the arguments of `ChiefSessionCreator`."""
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """The session itself."""
        return self._creator.session
