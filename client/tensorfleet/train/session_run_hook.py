"""Hooks in each run of a monitored session: `tf.train.SessionRunHook` and its arguments."""

from __future__ import annotations

from typing import Any, NamedTuple


class SessionRunArgs(NamedTuple):
    """The fetches and feeds that a hook adds to a run, or those of the caller (`tf.train.SessionRunArgs`).

    Attributes:
        fetches: as for `Session.run`; the hook gets their values in `after_run`.
        feed_dict: additional feeds.
        options: RunOptions to merge into those of the run.
    """

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """The results of a run (`tf.train.SessionRunValues`).

    Attributes:
        results: the values of the hook's own fetches; None if it has none.
        options: the RunOptions of the run.
        run_metadata: its RunMetadata.
    """

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """The run that a hook takes part in (`tf.train.SessionRunContext`)."""

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """The fetches and feeds of the caller."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session, for the hook's own runs."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a stop after this run was requested."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Makes this run the last one: `should_stop()` of the monitored session becomes true."""
        self._stop_requested = True


class SessionRunHook:
    """Extends the runs of a monitored session (`tf.train.SessionRunHook`); all methods are optional."""

    def begin(self) -> None:
        """Called once, before the session is made; after that the graph can no longer be extended."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called for each new session: at first, and after each recovery. The graph is finalized."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each run; the SessionRunArgs that it returns are added to the run."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each run that succeeded."""

    def end(self, session: Any) -> None:
        """Called once, when the session is closed without an error other than OutOfRangeError."""
