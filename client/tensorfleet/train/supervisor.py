"""`tf.train.Supervisor`, the training helper of TensorFlow 1.0: sessions, checkpoints and summaries."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tensorfleet.core import errors, logging
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.state import variable_collections
from tensorfleet.train import parts, supervisor_defaults
from tensorfleet.train.coordinator import Coordinator, LooperThread
from tensorfleet.train.scaffold import Scaffold
from tensorfleet.train.session_manager import SessionManager
from tensorfleet.train.step_count import global_step as value_of_step
from tensorfleet.train.supervisor_defaults import USE_DEFAULT, given_or_default
from tensorfleet.train.supervisor_threads import CheckpointThread, StepCounterThread, SummaryThread


class Supervisor:
    """Opens training sessions, with threads for checkpoints and summaries (`tf.train.Supervisor`).

    The chief restores or initializes the variables, and saves summaries and checkpoints in threads; the other
    workers wait for it. Values of arguments that are `USE_DEFAULT` are taken from the graph's collections, or
    made; None means none.
    """

    USE_DEFAULT = USE_DEFAULT

    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: dict[Any, Any] | None = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: str | None = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: SessionManager | None = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Callable[[Any], Any] | None = None,
        local_init_run_options: Any = None,
    ) -> None:
        """Completes the graph and finalizes it.

        Args:
            graph: the graph, by default the default graph.
            ready_op: a tensor of the names of variables that are not initialized.
            ready_for_local_init_op: a tensor of the names of such variables that `local_init_op` needs.
            is_chief: whether this process is the chief.
            init_op, init_feed_dict: the operation that initializes the variables if there is no checkpoint,
                and its feeds.
            local_init_op: the operation that initializes local variables and tables in each new session.
            logdir: the chief's directory of checkpoints and event files; None for no files.
            summary_op: the operation that computes the summaries.
            saver: the Saver of checkpoints.
            global_step: the global step.
            save_summaries_secs, save_model_secs: the seconds between summaries and between checkpoints; 0 for
                none.
            recovery_wait_secs: the longest pause between two checks of a model that is not ready, in seconds.
            stop_grace_secs: the time that threads have to end, in seconds.
            checkpoint_basename: the prefix of the checkpoints' names.
            session_manager: the SessionManager.
            summary_writer: the writer of summaries.
            init_fn: a function that is called with the session after `init_op`.
            local_init_run_options: RunOptions for `local_init_op`.

        Raises:
            ValueError: a worker that is not the chief has a variable without a device.
        """
        self._graph = get_default_graph() if graph is None else graph
        with self._graph.as_default():
            report = variable_collections.report_uninitialized_variables
            self._ready_op = given_or_default(ready_op, GraphKeys.READY_OP, report)
            self._ready_for_local_init_op = given_or_default(
                ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP, lambda: None
            )
            self._init_op = given_or_default(
                init_op, GraphKeys.INIT_OP, variable_collections.global_variables_initializer
            )
            self._local_init_op = given_or_default(
                local_init_op, GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op
            )
            self._saver = given_or_default(saver, GraphKeys.SAVERS, parts.saver_of_variables)
            self._summary_op = given_or_default(summary_op, GraphKeys.SUMMARY_OP, parts.merge_all)
            self._global_step = given_or_default(
                global_step, GraphKeys.GLOBAL_STEP, supervisor_defaults.global_step
            )
        self._init_feed_dict = init_feed_dict
        self._init_fn = init_fn
        self._is_chief = is_chief
        self._coord = Coordinator()
        self._stop_grace_secs = stop_grace_secs
        self._logdir = logdir if is_chief else None
        self._save_summaries_secs = save_summaries_secs if is_chief else None
        self._save_model_secs = save_model_secs if is_chief else None
        self._save_path = os.path.join(self._logdir, checkpoint_basename) if self._logdir else None
        self._summary_writer: Any = None
        self._graph_written = False
        if is_chief and summary_writer is not USE_DEFAULT:
            self._summary_writer = summary_writer
        elif self._logdir:
            self._summary_writer = parts.file_writer(self._logdir)
        self._session_manager = session_manager or SessionManager(
            local_init_op=self._local_init_op,
            ready_op=self._ready_op,
            ready_for_local_init_op=self._ready_for_local_init_op,
            graph=self._graph,
            recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options,
        )
        if not is_chief:
            self._check_devices()
        self._graph.finalize()

    def _check_devices(self) -> None:
        for op in self._graph.get_operations():
            if op.type in ("Variable", "VariableV2") and not op.device:
                raise ValueError(f"When using replicas, all Variables must have their device set: {op}")

    @property
    def is_chief(self) -> bool:
        """Whether this task initializes and saves the model and writes summaries for all tasks."""
        return self._is_chief

    @property
    def session_manager(self) -> SessionManager:
        """The manager that makes and recovers sessions."""
        return self._session_manager

    @property
    def coord(self) -> Coordinator:
        """The coordinator of the supervisor's threads."""
        return self._coord

    @property
    def init_op(self) -> Any:
        """The op that initializes the model if there is no checkpoint."""
        return self._init_op

    @property
    def init_feed_dict(self) -> dict[Any, Any] | None:
        """The feeds of `init_op`."""
        return self._init_feed_dict

    @property
    def ready_op(self) -> Any:
        """A tensor of the names of variables that are not initialized yet."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """A tensor of the names of variables that `local_init_op` still waits for."""
        return self._ready_for_local_init_op

    @property
    def summary_writer(self) -> Any:
        """The writer of summaries, or None."""
        return self._summary_writer

    @property
    def summary_op(self) -> Any:
        """The summaries of the graph, merged."""
        return self._summary_op

    @property
    def save_summaries_secs(self) -> float | None:
        """The seconds between summaries; 0 for none; None if this task is not the chief."""
        return self._save_summaries_secs

    @property
    def global_step(self) -> Any:
        """The global step, or None."""
        return self._global_step

    @property
    def saver(self) -> Any:
        """The saver of checkpoints."""
        return self._saver

    @property
    def save_model_secs(self) -> float | None:
        """The seconds between checkpoints; 0 for none; None if this task is not the chief."""
        return self._save_model_secs

    @property
    def save_path(self) -> str | None:
        """The prefix of the paths of the chief's checkpoints."""
        return self._save_path

    def start_standard_services(self, sess: Any) -> list[LooperThread] | None:
        """Starts the chief's threads: summaries, steps per second, checkpoints. None without a `logdir`.

        Raises:
            RuntimeError: this is not the chief.
        """
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief supervisors can write "
                "events."
            )
        if not self._logdir:
            logging.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        if self._global_step is not None and self._summary_writer:
            parts.log_start(self._summary_writer, value_of_step(sess, self._global_step))
        threads: list[LooperThread] = []
        if self._save_summaries_secs and self._summary_writer:
            if self._summary_op is not None:
                threads.append(SummaryThread(self, sess))
            if self._global_step is not None:
                threads.append(StepCounterThread(self, sess))
        if self._saver and self._save_model_secs:
            threads.append(CheckpointThread(self, sess))
        for thread in threads:
            thread.start()
        return threads

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Any:
        """A session whose model is ready: the chief makes it ready, the other workers wait for it.

        Args:
            master: the session's target.
            config: the ConfigProto of the session.
            wait_for_checkpoint: let the chief wait for a checkpoint.
            max_wait_secs: the time to wait, in seconds.
            start_standard_services: start the chief's threads and the queue runners.

        Raises:
            DeadlineExceededError: the model is not ready after that time.
        """
        self._coord.clear_stop()
        if self._summary_writer:
            self._summary_writer.reopen()
        if self._is_chief:
            session = self._session_manager.prepare_session(
                master,
                init_op=self._init_op,
                saver=self._saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self._init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                logging.info("Starting standard services.")
                self.start_standard_services(session)
        else:
            session = self._session_manager.wait_for_session(
                master, config=config, max_wait_secs=max_wait_secs
            )
        if start_standard_services:
            logging.info("Starting queue runners.")
            self.start_queue_runners(session)
        return session

    def _write_graph(self) -> None:
        if self._logdir:
            parts.write_graph(self._graph, self._logdir)
        if self._summary_writer and not self._graph_written:
            parts.add_graph(self._summary_writer, self._graph, self._saver)
            self._graph_written = True

    def start_queue_runners(
        self, sess: Any, queue_runners: Iterable[Any] | None = None
    ) -> list[threading.Thread]:
        """Starts queue runners, by default those of the graph's collection."""
        if queue_runners is None:
            queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        return [
            thread
            for runner in queue_runners
            for thread in runner.create_threads(sess, coord=self._coord, daemon=True, start=True)
        ]

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Starts a thread that calls a function every `timer_interval_secs` until the supervisor stops."""
        return LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    def stop(
        self,
        threads: Iterable[threading.Thread] | None = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stops the threads and waits for them; does not close sessions.

        Args:
            threads: more threads to wait for.
            close_summary_writer: close the writer of summaries, too.
            ignore_live_threads: do not raise an error for threads that still run after the grace period.

        Raises:
            RuntimeError: threads still run.
                The error of a thread.
        """
        self._coord.request_stop()
        try:
            self._coord.join(threads, self._stop_grace_secs, ignore_live_threads)
        finally:
            if close_summary_writer and self._summary_writer:
                parts.log_stop(self._summary_writer)
                self._summary_writer.close()
                self._graph_written = False

    def request_stop(self, ex: Any = None) -> None:
        """Requests a stop, as by `Coordinator.request_stop`."""
        self._coord.request_stop(ex=ex)

    def should_stop(self) -> bool:
        """Whether a stop was requested."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> contextlib.AbstractContextManager[None]:
        """A context manager that turns any exception into a request to stop."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Waits until a stop is requested."""
        self._coord.wait_for_stop()

    def summary_computed(self, sess: Any, summary: Any, global_step: int | None = None) -> None:
        """Writes a summary that the program has computed.

        Args:
            sess: the session to read the global step in, if that is not given.
            summary: the serialized summary.
            global_step: the step of the summary.

        Raises:
            RuntimeError: there is no writer.
        """
        if not self._summary_writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = value_of_step(sess, self._global_step)
        self._summary_writer.add_summary(summary, global_step)

    @contextlib.contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Any]:
        """A context manager with a session; its end stops all threads and raises their first error."""
        session: Any = None
        try:
            session = self.prepare_or_wait_for_session(
                master=master, config=config, start_standard_services=start_standard_services
            )
            yield session
        except Exception as e:
            self.request_stop(e)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if session is not None:
                    with contextlib.suppress(errors.OpError):  # the first error is the one to see
                        session.close()

    # The names from before TensorFlow 0.7, which TensorFlow still has.
    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed
