"""`tf.test.TestCase`: tests of graphs, each with a default graph, seeds and sessions of its own."""

from __future__ import annotations

import os
import random
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import numpy as np

from tensorfleet.api.assertions import GraphAssertions
from tensorfleet.api.temporary import get_temp_dir
from tensorfleet.graph.default_session import get_default_session
from tensorfleet.graph.framework import device
from tensorfleet.graph.graph import Graph, get_default_graph, is_nested, reset_default_graph
from tensorfleet.graph.seeds import DEFAULT_GRAPH_SEED
from tensorfleet.proto.config_pb2 import ConfigProto
from tensorfleet.session.session import Session


class TestCase(GraphAssertions):
    """A test of graphs (`tf.test.TestCase`).

    Each test begins with an empty default graph and with the same seeds.

    Example:
        >>> class SquareTest(tf.test.TestCase):
        ...     def testSquare(self):
        ...         with self.session():
        ...             self.assertAllEqual(tf.square([2, 3]).eval(), [4, 9])
        >>> SquareTest("testSquare").run().wasSuccessful()
        True
    """

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._threads: list[CheckedThread] = []
        self._temp_dir: str | None = None
        self._cached: tuple[Session, Any, Any, bool] | None = None
        self._graphs = ExitStack()

    def setUp(self) -> None:
        """Begins with an empty default graph, and with seeds."""
        super().setUp()
        self._close_cached_session()
        random.seed(DEFAULT_GRAPH_SEED)
        np.random.seed(DEFAULT_GRAPH_SEED)
        if is_nested():
            self._graphs.enter_context(Graph().as_default())
        else:
            reset_default_graph()
        get_default_graph().seed = DEFAULT_GRAPH_SEED

    def tearDown(self) -> None:
        """Fails for threads that were not joined, and closes the session of `cached_session`."""
        threads, self._threads = self._threads, []
        try:
            for thread in threads:
                thread.check_termination()
        finally:
            self._close_cached_session()
            self._graphs.close()
            super().tearDown()

    def _close_cached_session(self) -> None:
        cached, self._cached = self._cached, None
        if cached is not None:
            cached[0].close()

    # Sessions

    @contextmanager
    def session(
        self,
        graph: Graph | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = True,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """A session for the block, the default one there.

        Args:
            graph: its graph; by default the default graph.
            config: its configuration.
            use_gpu: let ops be placed on GPUs; else the block's ops go to the CPU.
            force_gpu: place the block's ops on the first GPU.
        """
        with Session(graph=graph, config=config) as made, _placed(use_gpu, force_gpu):
            yield made

    @contextmanager
    def cached_session(
        self,
        graph: Graph | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = True,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """The one session of the test, the default one in the block; it is open until the test ends.

        The arguments are those of `session`.

        Raises:
            ValueError: the session was made with other arguments.
        """
        with self._entered(self._cached_session(graph, config, force_gpu, True), use_gpu, force_gpu) as made:
            yield made

    def test_session(
        self,
        graph: Graph | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = True,
        force_gpu: bool = False,
    ) -> AbstractContextManager[Session]:
        """`session` if a graph is given, else the test's one session; the older form of both."""
        if self._testMethodName == "test_session":
            self.skipTest("Not a test.")  # but its name begins as theirs
        if graph is not None:
            return self.session(graph, config, use_gpu, force_gpu)
        return self._entered(self._cached_session(None, config, force_gpu, False), use_gpu, force_gpu)

    @contextmanager
    def _entered(self, session: Session, use_gpu: bool, force_gpu: bool) -> Iterator[Session]:
        with session.graph.as_default(), session.as_default(), _placed(use_gpu, force_gpu):
            yield session

    def _cached_session(
        self, graph: Graph | None, config: ConfigProto | None, force_gpu: bool, strict: bool
    ) -> Session:
        if self._cached is None:
            self._cached = Session(graph=graph, config=config), graph, config, force_gpu
            return self._cached[0]
        session, *arguments = self._cached
        if strict:
            for name, old, new in zip(
                ("graph", "config", "force_gpu"), arguments, (graph, config, force_gpu), strict=True
            ):
                if (old is not new) if name == "graph" else (old != new):
                    raise ValueError(
                        f"The {name} used to get the cached session is different than the one that was used "
                        f"to create the session. Maybe create a new session with self.session()"
                    )
        return session

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors, in the default session or else in the test's own."""
        session = get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.test_session() as own:
            return own.run(tensors)

    # Files and threads

    def get_temp_dir(self) -> str:
        """A directory for the files of this test, which is removed when the process ends."""
        if self._temp_dir is None:
            self._temp_dir = tempfile.mkdtemp(dir=get_temp_dir())
        return self._temp_dir

    @contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator[CapturedWrites]:
        """What is written to a file in the block, by other code than Python's as well.

        Args:
            stream: an open file, such as `sys.stderr`; it has to have a file descriptor.
        """
        stream.flush()
        number = stream.fileno()
        fd, path = tempfile.mkstemp(dir=self.get_temp_dir())
        kept = os.dup(number)
        captured = CapturedWrites(path)
        try:
            os.dup2(fd, number)
            try:
                yield captured
            finally:
                stream.flush()
                os.dup2(kept, number)
        finally:
            os.close(kept)
            os.close(fd)

    def checkedThread(
        self,
        target: Callable[..., Any],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> CheckedThread:
        """A thread whose exceptions fail the test; it has to be joined before the test ends.

        Args:
            target, args, kwargs: what it calls.
        """
        made = CheckedThread(self, target, args or (), kwargs or {})
        self._threads.append(made)
        return made


@contextmanager
def _placed(use_gpu: bool, force_gpu: bool) -> Iterator[None]:
    if use_gpu and not force_gpu:
        yield
        return
    with device("/device:GPU:0" if force_gpu else "/device:CPU:0"):
        yield


class CapturedWrites:
    """What has been written to a file (`captureWritesToStream`)."""

    def __init__(self, path: str) -> None:
        self._path = path

    def contents(self) -> str:
        """The text, so far."""
        with open(self._path, encoding="utf-8", errors="replace") as file:
            return file.read()


class CheckedThread:
    """A thread that fails its test if its function raises (`checkedThread`)."""

    def __init__(
        self, case: TestCase, target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._case = case
        self._target, self._args, self._kwargs = target, args, kwargs
        self._error: BaseException | None = None
        self._is_joined = False
        # The default graph is that of a thread: this one has the test's.
        self._graph = get_default_graph()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            with self._graph.as_default():
                self._target(*self._args, **self._kwargs)
        except Exception as e:
            self._error = e

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def join(self) -> None:
        """Waits for the end of the thread; fails the test if it ended by an exception."""
        self._is_joined = True
        self._thread.join()
        if self._error is not None:
            raise self._case.failureException(f"Error in checkedThread: {self._error}") from self._error

    def is_alive(self) -> bool:
        """Whether the thread is running."""
        return self._thread.is_alive()

    def check_termination(self) -> None:
        """Fails the test unless the thread was joined."""
        if not self._is_joined:
            self._case.fail("A checked thread was not terminated.")
