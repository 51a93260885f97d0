"""`tf.train.SessionManager`, which makes sessions whose model is ready."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorfleet.core import device, errors, logging
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.session.session import Session
from tensorfleet.train import parts

_FIRST_PAUSE_SECONDS = 0.05


class SessionManager:
    """Makes sessions, and restores, initializes or waits for their variables (`tf.train.SessionManager`).

    It also waits for tasks that are not up yet. The pauses between checks grow from short ones to
    `recovery_wait_secs`.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
        local_init_feed_dict: dict[Any, Any] | None = None,
    ) -> None:
        """Makes a manager.

        Args:
            local_init_op: the operation that initializes local variables and tables in every new session.
            ready_op: a tensor of the names of variables that are not initialized, empty when all are.
            ready_for_local_init_op: a tensor of the names of such variables that `local_init_op` needs.
            graph: the graph of the sessions, by default the default graph.
            recovery_wait_secs: the longest pause between two checks, in seconds.
            local_init_run_options, local_init_feed_dict: RunOptions and feeds of `local_init_op`.

        Raises:
            ValueError: `ready_for_local_init_op` without `local_init_op`.
        """
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op "
                f", ready_for_local_init_op [{ready_for_local_init_op}]"
            )
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = get_default_graph() if graph is None else graph
        self._recovery_wait_secs = recovery_wait_secs
        self._local_init_run_options = local_init_run_options
        self._local_init_feed_dict = local_init_feed_dict
        self._initialized = False  # whether this manager has prepared a session
        self._holders: dict[str, int] = {}  # from the tasks with variables to their incarnations at that time

    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
        init_feed_dict: dict[Any, Any] | None = None,
        init_fn: Any = None,
    ) -> Session:
        """A session whose model is restored from a checkpoint, or else initialized.

        Args:
            master: the session's target.
            init_op, init_feed_dict: the operation that initializes the model if there is no checkpoint, and
                its feeds.
            saver: the Saver that restores checkpoints.
            checkpoint_dir: the directory with checkpoints, of which the latest one is restored.
            checkpoint_filename_with_path: a checkpoint, instead of a directory.
            wait_for_checkpoint: wait for a checkpoint to appear.
            max_wait_secs: the time to wait for a checkpoint and for the cluster's tasks, in seconds.
            config: the ConfigProto of the session.
            init_fn: a function that is called with the session after `init_op`.

        Raises:
            DeadlineExceededError: tasks of the cluster did not come up in time.
            RuntimeError: there is no way to initialize the model, or it is not ready afterwards.
            ValueError: both a directory and a checkpoint are given.
        """
        session, restored = self._restore(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        try:
            if not restored:
                if init_op is None and not init_fn and self._local_init_op is None:
                    raise RuntimeError(
                        "Model is not initialized and no init_op or init_fn or local_init_op was given"
                    )
                self._warn_of_new_start(checkpoint_dir)
                if init_op is not None:
                    session.run(init_op, feed_dict=init_feed_dict)
                if init_fn:
                    init_fn(session)
            done = f"Init op: {getattr(init_op, 'name', init_op)}, init fn: {init_fn}"
            missing = self._try_local_init(session)
            if missing is not None:
                raise RuntimeError(
                    f"Init operations did not make model ready for local_init.  {done}, error: {missing}"
                )
            missing = _missing(self._ready_op, session)
            if missing is not None:
                raise RuntimeError(
                    f"Init operations did not make model ready.  {done}, "
                    f"local_init_op: {self._local_init_op}, error: {missing}"
                )
            self._holders = self._find_holders(session)
        except BaseException:
            _close(session)
            raise
        self._initialized = True
        return session

    def continue_session(
        self, master: str, max_wait_secs: float = 7200, config: Any = None
    ) -> Session | None:
        """A session that replaces a lost one and keeps the values of the variables.

        Args:
            master: the session's target.
            max_wait_secs: the time to wait for the cluster's tasks, in seconds.
            config: the ConfigProto of the session.

        Returns:
            None if that is impossible, so that `prepare_session` has to be called: this manager has prepared
            no session yet, a task with variables has restarted, or a variable is not initialized.

        Raises:
            DeadlineExceededError: tasks of the cluster did not come up in time.
        """
        if not self._initialized or self._ready_op is None:
            return None
        session = self._open(master, config, max_wait_secs)
        try:
            renewed = self._renewed(session)
            if not renewed and self._try_local_init(session) is None:
                missing = _missing(self._ready_op, session)
                if missing is None:
                    logging.info("The session was made anew; it goes on with the variables as they are.")
                    return session
                logging.info("The variables cannot be used as they are: %s", missing)
            elif renewed:
                logging.info("The variables of %s are lost: it was started anew.", ", ".join(renewed))
        except BaseException:
            _close(session)
            raise
        _close(session)
        return None

    def _find_holders(self, session: Session) -> dict[str, int]:
        """The incarnations of the tasks that hold the graph's variables, by the variables' devices."""
        wanted = {
            device.ParsedDevice(spec.job, None, spec.task)
            for spec in (
                device.parse(v.device) for v in self._graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
            )
            if spec.job is not None
        }
        found: dict[str, int] = {}
        for there in session.list_devices():
            parsed = device.parse(there.name)
            if any(spec.matches(parsed) for spec in wanted):
                found[str(device.ParsedDevice(parsed.job, parsed.replica, parsed.task))] = there.incarnation
        return found

    def _renewed(self, session: Session) -> list[str]:
        """The tasks with variables that have restarted. Variables without a device are left to `ready_op`."""
        now = self._find_holders(session)
        return sorted(task for task, number in self._holders.items() if now.get(task) != number)

    def _warn_of_new_start(self, checkpoint_dir: str | None) -> None:
        if self._initialized:
            logging.warning(
                "The session was lost and made anew, and %s: all variables are set to their initial values, "
                "so what was trained is lost. %s",
                f"there is no checkpoint in {checkpoint_dir}"
                if checkpoint_dir
                else "checkpoints are not kept",
                "Save more often."
                if checkpoint_dir
                else "Give a checkpoint_dir (or logdir) to go on from there.",
            )

    def recover_session(
        self,
        master: str,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
    ) -> tuple[Session, bool]:
        """A session, and whether its model was restored from a checkpoint and is ready.

        Arguments and errors are those of `prepare_session`; nothing is initialized.
        """
        session, restored = self._restore(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        missing = self._try_local_init(session)
        if not restored:
            return session, False
        source = checkpoint_dir or checkpoint_filename_with_path
        if missing is not None:
            logging.info(
                "Restoring model from %s did not make model ready for local init: %s", source, missing
            )
            return session, False
        missing = _missing(self._ready_op, session)
        if missing is not None:
            logging.info("Restoring model from %s did not make model ready: %s", source, missing)
            return session, False
        logging.info("Restored model from %s", source)
        return session, True

    def wait_for_session(
        self, master: str, config: Any = None, max_wait_secs: float | None = float("inf")
    ) -> Session:
        """A session whose model another process makes ready.

        Args:
            master: the session's target.
            config: the ConfigProto of the session.
            max_wait_secs: the time to wait, in seconds; None for no limit.

        Raises:
            DeadlineExceededError: the model is not ready after that time; the message names what is missing.
        """
        limit = float("inf") if max_wait_secs is None else max_wait_secs
        missing, warned = "", False
        for last in self._looks(limit):
            session = Session(master, graph=self._graph, config=config)
            try:
                found = self._try_local_init(session)
                if found is None:
                    found = _missing(self._ready_op, session)
            except (errors.AbortedError, errors.UnavailableError) as e:
                found = e.message  # a task is not up yet, or has restarted meanwhile
            except BaseException:
                _close(session)
                raise
            if found is None:
                return session
            _close(session)
            if found != missing:
                logging.info("Waiting for model to be ready: %s", found)
                missing = found
            elif not warned:
                logging.warning("Still waiting: %s. %s", found, _CHIEF_HINT)
                warned = True
            if last:
                break
        raise errors.DeadlineExceededError(
            None, None, f"Session was not ready after waiting {limit:g} secs. {missing}. {_CHIEF_HINT}"
        )

    def _looks(self, limit: float) -> Iterator[bool]:
        """Yields after growing pauses; true for the last check within `limit` seconds."""
        end = time.monotonic() + limit
        pause = min(_FIRST_PAUSE_SECONDS, self._recovery_wait_secs)
        while True:
            left = end - time.monotonic()
            yield left <= 0
            time.sleep(max(min(pause, end - time.monotonic()), 0))
            pause = min(pause * 1.5, self._recovery_wait_secs)

    def _restore(
        self,
        master: str,
        saver: Any,
        directory: str | None,
        file_name: str | None,
        wait_for_checkpoint: bool,
        max_wait_secs: float,
        config: Any,
    ) -> tuple[Session, bool]:
        """A session, and whether a checkpoint was restored in it."""
        if directory and file_name:
            raise ValueError("Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
        session = self._open(master, config, max_wait_secs)
        if not saver or not (directory or file_name):
            return session, False
        try:
            if file_name:
                saver.restore(session, file_name)
                return session, True
            assert directory
            for last in self._looks(max_wait_secs):
                state = parts.checkpoint_state(directory)
                if state and state.model_checkpoint_path:
                    saver.restore(session, state.model_checkpoint_path)
                    saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
                    return session, True
                if last or not wait_for_checkpoint:
                    break
                logging.info("Waiting for checkpoint to be available.")
            return session, False
        except BaseException:
            _close(session)
            raise

    def _open(self, master: str, config: Any, max_wait_secs: float) -> Session:
        """A session, after a wait for all tasks of its cluster."""
        for last in self._looks(max_wait_secs):
            session = Session(master, graph=self._graph, config=config)
            try:
                session.list_devices()
                break
            except errors.UnavailableError as e:
                _close(session)
                if last:
                    raise errors.DeadlineExceededError(
                        None, None, f"The cluster was not ready after {max_wait_secs:g} secs. {e.message}"
                    ) from e
                logging.info("Waiting for the cluster: %s", e.message)
        return session

    def _try_local_init(self, session: Session) -> str | None:
        """Runs the local initialization if the model is ready for it; else returns the reason why not."""
        if self._local_init_op is None:
            return None
        missing = _missing(self._ready_for_local_init_op, session)
        if missing is None:
            logging.info("Running local_init_op.")
            session.run(
                self._local_init_op,
                feed_dict=self._local_init_feed_dict,
                options=self._local_init_run_options,
            )
            logging.info("Done running local_init_op.")
        return missing


_CHIEF_HINT = (
    "Is the chief running, and does it have the same graph and the same ClusterSpec as this process?"
)


def _missing(ready_op: Any, session: Session) -> str | None:
    """The reason why the model is not ready, as a text; None if it is ready."""
    if ready_op is None:
        return None
    try:
        value = session.run(ready_op)
    except errors.FailedPreconditionError as e:
        if "uninitialized" not in str(e):
            logging.warning("Model not ready : error [%s]", e)
            raise
        return str(e)
    # Operations, and the int32 tensors of old programs, show by not failing that the model is ready.
    if value is None or value.dtype == np.int32 or value.size == 0:
        return None
    return "Variables not initialized: " + ", ".join(name.decode() for name in value)


def _close(session: Session) -> None:
    try:
        session.close()
    except errors.OpError as e:
        logging.debug("A session that is given up could not be closed: %s", e)
