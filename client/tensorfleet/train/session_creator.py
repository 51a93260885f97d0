"""Creators of the sessions of monitored sessions: `tf.train.ChiefSessionCreator`, …"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from tensorfleet.graph.graph import get_default_graph
from tensorfleet.train.scaffold import Scaffold
from tensorfleet.train.session_manager import SessionManager

DEFAULT_WAIT_SECONDS = 7200.0


class SessionCreator(ABC):
    """The base class of creators of a MonitoredSession's sessions (`tf.train.SessionCreator`).

    Attributes:
        max_wait_secs: the time to wait for the cluster, or for the chief, in seconds.
        renewing: whether the session replaces one that the same MonitoredSession has lost.
    """

    max_wait_secs: float = DEFAULT_WAIT_SECONDS
    renewing: bool = False

    @abstractmethod
    def create_session(self) -> Any:
        """A new session whose model is ready."""
        raise NotImplementedError(f"create_session is not implemented for {self}.")


class _ScaffoldSessionCreator(SessionCreator):
    def __init__(self, scaffold: Scaffold | None, master: str, config: Any) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master = master
        self._config = config
        self._manager: SessionManager | None = None

    def _session_manager(self) -> SessionManager:
        """The SessionManager, made once, when the scaffold is complete."""
        self._scaffold.finalize()
        if self._manager is None:
            self._manager = SessionManager(
                local_init_op=self._scaffold.local_init_op,
                local_init_feed_dict=self._scaffold.local_init_feed_dict,
                ready_op=self._scaffold.ready_op,
                ready_for_local_init_op=self._scaffold.ready_for_local_init_op,
                graph=get_default_graph(),
            )
        return self._manager


class ChiefSessionCreator(_ScaffoldSessionCreator):
    """Makes sessions and restores or initializes their variables (`tf.train.ChiefSessionCreator`).

    A session that replaces a lost one keeps the values of the variables if no task that holds some has
    restarted.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        """A creator with a scaffold and the arguments of `SessionManager.prepare_session`."""
        super().__init__(scaffold, master, config)
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_filename_with_path = checkpoint_filename_with_path

    def create_session(self) -> Any:
        manager, scaffold = self._session_manager(), self._scaffold
        if self.renewing:
            kept = manager.continue_session(self._master, self.max_wait_secs, self._config)
            if kept is not None:
                return kept
        return manager.prepare_session(
            self._master,
            saver=scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_filename_with_path,
            max_wait_secs=self.max_wait_secs,
            config=self._config,
            init_op=scaffold.init_op,
            init_feed_dict=scaffold.init_feed_dict,
            init_fn=scaffold.init_fn,
        )


class WorkerSessionCreator(_ScaffoldSessionCreator):
    """Makes sessions whose variables the chief initializes (`tf.train.WorkerSessionCreator`)."""

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        max_wait_secs: float = 30 * 60,
    ) -> None:
        """A creator with a scaffold, the session's target and options, and the time to wait for the chief."""
        super().__init__(scaffold, master, config)
        self.max_wait_secs = max_wait_secs

    def create_session(self) -> Any:
        return self._session_manager().wait_for_session(
            self._master, config=self._config, max_wait_secs=self.max_wait_secs
        )
