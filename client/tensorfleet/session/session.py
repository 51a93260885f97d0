"""Sessions: they run parts of a graph on a master (`tf.Session`, `tf.InteractiveSession`)."""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any

from tensorfleet.core import errors
from tensorfleet.graph.default_session import DefaultSession
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.graph_part import GraphPart
from tensorfleet.proto import config_pb2, graph_pb2
from tensorfleet.session import connect as transport, unclosed_sessions
from tensorfleet.session.containers import default_container, fill, to_reset
from tensorfleet.session.device_attributes import DeviceAttributes
from tensorfleet.session.feeds import converter, feed_tensor
from tensorfleet.session.process_config import PROCESS
from tensorfleet.session.signatures import Run, Signatures
from tensorfleet.session.transport import Signature, Transport

_logger = logging.getLogger("tensorfleet")
_NODE_NAME = re.compile(r"\[\[(?:Node: )?\{\{node ([^\s}]+)\}\}")


class BaseSession:
    """Runs operations of one graph on one master. Any number of threads may use a session at once.

    The master is first called by the first `run` or `list_devices`. What is added to the graph later is sent
    before the next step. A node that is changed in place after it was sent keeps its old meaning in this
    session, as in TensorFlow: build before you run, or make a new session.
    """

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: config_pb2.ConfigProto | None = None
    ) -> None:
        """Prepares a session.

        Args:
            target: `grpc://host:port` of a task, or "" to compute in this process.
            graph: the graph to run, by default the default graph.
            config: its options.

        Raises:
            TypeError: an argument is of the wrong type.
            NotFoundError: the target is of no known form.
            InvalidArgumentError: TENSORFLEET_CONTAINER is no name of a container.
        """
        self._closed = True  # until the arguments are found right: nothing is there to close
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f'Argument `graph` must be a tf.Graph, but got "{type(graph).__name__}"')
        self._graph = get_default_graph() if graph is None else graph
        self._target = _target_text(target)
        if config is not None and not isinstance(config, config_pb2.ConfigProto):
            raise TypeError(f'Argument `config` must be a tf.ConfigProto, but got "{type(config).__name__}"')
        self._config = PROCESS.config() if config is None else config
        transport.full_target(self._target)
        self._lock = threading.Lock()
        # Beside the session: what the session holds must not refer to it, or only the collector frees it.
        self._link = _Link()
        self._abandon: weakref.finalize[..., BaseSession] | None = None
        self._container = default_container() if self._target else ""
        self._sent = -1  # how many operations the master knows; -1: of no session
        self._signatures = Signatures(self._graph, self._link.prepare, weakref.ref(self))
        self._cache = self._signatures.cache
        self._operations = self._graph._operations
        self._closed = False

    @property
    def _transport(self) -> Transport | None:
        return self._link.transport

    @property
    def graph(self) -> Graph:
        """The graph that the session runs."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        """The graph as a GraphDef message."""
        return self._graph.as_graph_def(add_shapes=self._config.graph_options.infer_shapes)

    @property
    def sess_str(self) -> bytes:
        """The target."""
        return self._target.encode()

    def run(
        self,
        fetches: Any,
        feed_dict: dict[Any, Any] | None = None,
        options: config_pb2.RunOptions | None = None,
        run_metadata: config_pb2.RunMetadata | None = None,
    ) -> Any:
        """Runs one step (`tf.Session.run`).

        Args:
            fetches: a Tensor, an Operation, a Variable, the name of one, or any nesting of lists, tuples,
                named tuples and dicts of these.
            feed_dict: values to use in place of tensors: numbers, strings, lists, arrays. Keys are tensors,
                their names, variables, or tuples of these with tuples of values.
            options: RunOptions, such as a timeout or a trace level.
            run_metadata: receives what `options` asked for.

        Returns:
            The same structure as `fetches`, with a NumPy array for each tensor (a NumPy scalar, or bytes,
            where its rank is 0) and None for each operation.

        Raises:
            RuntimeError: the session is closed, or the graph is empty.
            TypeError, ValueError: `fetches` or `feed_dict` name what is not there, or a value does not fit.
            OpError: the step failed.
        """
        try:
            if options is None and run_metadata is None and self._sent == len(self._operations):
                # Keys by identity are safe, because each entry keeps alive the objects that it is named by.
                if not feed_dict:
                    step = self._cache.get(id(fetches))
                    if step is not None:
                        return step(())
                else:
                    step = self._cache.get((id(fetches), *map(id, feed_dict)))
                    if step is not None:
                        return step(feed_dict.values())
            if self._sent != len(self._operations):
                self._extend()
            if options is None and run_metadata is None:
                return self._signatures.run(fetches, feed_dict)
            if run_metadata is not None:
                run_metadata.Clear()
            return self._signatures.run_traced(
                fetches,
                feed_dict,
                config_pb2.RunOptions() if options is None else options,
                config_pb2.RunMetadata() if run_metadata is None else run_metadata,
            )
        except errors.OpError as error:
            self._name_operation(error)
            raise

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """A function that runs one step and takes the values of `feed_list` (`tf.Session.make_callable`).

        Args:
            fetches, feed_list: as the fetches and the keys of the feed_dict of `run`.
            accept_options: let the function take `options` and `run_metadata` as keywords.
        """
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError(f"Argument `feed_list` must be a list or tuple. Received: feed_list={feed_list}")
        keys = tuple(feed_list or ())
        step = self._compile(fetches, keys)

        def call(*values: Any, **run_options: Any) -> Any:
            if run_options or step is None or len(values) != len(keys) or self._closed:
                return self.run(fetches, dict(zip(keys, values, strict=False)), **run_options)
            try:
                return step(values)
            except errors.OpError as error:
                self._name_operation(error)
                raise

        return call

    def _compile(self, fetches: Any, keys: tuple[Any, ...]) -> Run | None:
        self._extend()
        return self._signatures.compile(fetches, keys)

    def _make_callable_from_options(self, callable_options: config_pb2.CallableOptions) -> Callable[..., Any]:
        """A function from values in the order of `callable_options.feed` to the list of its fetches.

        It may be given `run_metadata` as a keyword.
        """
        self._extend()
        tensors = [feed_tensor(self._graph, name) for name in callable_options.feed]
        converters = [converter(tensor) for tensor in tensors]
        signature = self._link.prepare(
            tuple(callable_options.feed), tuple(callable_options.fetch), tuple(callable_options.target)
        )
        options = callable_options.run_options

        def call(*values: Any, run_metadata: config_pb2.RunMetadata | None = None) -> Any:
            self._check_open()
            if len(values) != len(converters):
                raise errors.InvalidArgumentError(
                    None, None, f"Expected {len(converters)} feed values, but got {len(values)}"
                )
            feeds = [convert(value) for convert, value in zip(converters, values, strict=True)]
            try:
                if run_metadata is None and not options.ByteSize():
                    return list(signature(feeds))
                metadata = config_pb2.RunMetadata() if run_metadata is None else run_metadata
                metadata.Clear()
                return list(signature.traced(feeds, options, metadata))
            except errors.OpError as error:
                self._name_operation(error)
                raise

        return call

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> str:
        """Opens a step that is run in parts, and returns its handle (`tf.Session.partial_run_setup`).

        Args:
            fetches: everything that the parts will fetch, as for `run`.
            feeds: the keys of everything that they will feed: one, or a list.
        """
        with self._named_errors():
            master = self._extend()
            return self._signatures.partial_run_setup(master, fetches, feeds)

    def partial_run(self, handle: str, fetches: Any, feed_dict: dict[Any, Any] | None = None) -> Any:
        """Runs a part of an open step; arguments and result are those of `run` (`tf.Session.partial_run`)."""
        with self._named_errors():
            master = self._extend()
            return self._signatures.partial_run(master, handle, fetches, feed_dict)

    def list_devices(self) -> list[DeviceAttributes]:
        """The devices that the session can use."""
        devices = self._extend(allow_empty=True).list_devices()
        return [DeviceAttributes(d.name, d.device_type, d.memory_limit, d.incarnation) for d in devices]

    def close(self) -> None:
        """Ends the session; steps that are running are cancelled. Closing twice does nothing.

        Raises:
            OpError: the master could not be told.
        """
        if self._closed:
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._sent = -1
            self._cache.clear()
            master, self._link.transport = self._link.transport, None
            abandon, self._abandon = self._abandon, None
        if abandon is not None:
            abandon.detach()
        if master is not None:
            master.close()

    def as_default(self) -> DefaultSession:
        """A context in which `Tensor.eval` and `Operation.run` use this session; it closes nothing."""
        return DefaultSession(self)

    def _extend(self, allow_empty: bool = False) -> Transport:
        """Makes sure that the master knows the whole graph."""
        self._check_open()
        if not self._operations and not allow_empty:
            raise RuntimeError(
                "The Session graph is empty. Add operations to the graph before calling run()."
            )
        with self._lock:
            self._check_open()
            master = self._link.transport
            if master is None:
                part = self._graph.part()
                master = transport.connect(self._target, self._config)
                try:
                    if self._container:
                        master.create(self._filled(part), self._config)
                    else:
                        master.create_from(part, self._config)
                except errors.OpError:
                    with contextlib.suppress(errors.OpError):  # the first error is the one to see
                        master.close()
                    raise
                self._abandon = unclosed_sessions.watch(self, master.close)
                self._link.transport = master
                self._sent = len(part.operations)
            elif self._sent < len(self._operations):
                part = self._graph.part(self._sent)
                if self._container:
                    master.extend(self._filled(part))
                else:
                    master.extend_from(part)
                self._sent += len(part.operations)
            return master

    def _filled(self, part: GraphPart) -> graph_pb2.GraphDef:
        """The message in which the session's container is that of all state without one."""
        graph_def = part.graph_def()
        fill(graph_def, self._container)
        return graph_def

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")

    def _name_operation(self, error: errors.OpError) -> None:
        """Gives an error the operation that its message names, and so the line that made it."""
        if error.op is not None:
            return
        # The last is the outermost; those that a server has made itself are not in the graph.
        for name in reversed(_NODE_NAME.findall(error.message)):
            op = self._operations.get(name)
            if op is not None:
                error.op = op
                error.node_def = op.node_def
                return

    @contextlib.contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except errors.OpError as error:
            self._name_operation(error)
            raise


class _Link:
    """The way from a session to its master, once it has been called, and until the session is closed."""

    __slots__ = ("transport",)

    def __init__(self) -> None:
        self.transport: Transport | None = None

    def prepare(
        self, feeds: tuple[str, ...], fetches: tuple[str, ...], targets: tuple[str, ...]
    ) -> Signature:
        """Makes a run signature known to the master."""
        if self.transport is None:
            raise RuntimeError("Attempted to use a closed Session.")
        return self.transport.prepare(feeds, fetches, targets)


class Session(BaseSession):
    """A session (`tf.Session`). As a context it makes itself and its graph the default, and closes itself.

    Example:
        >>> x = tf.placeholder(tf.int32)
        >>> with tf.Session() as session:
        ...     session.run([x + 1, x * x], {x: 3})
        [np.int32(4), np.int32(9)]
    """

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: config_pb2.ConfigProto | None = None
    ) -> None:
        super().__init__(target, graph, config)
        self._contexts: contextlib.ExitStack | None = None

    def __enter__(self) -> Session:
        if self._contexts is not None:
            raise RuntimeError(
                "Session context managers are not re-entrant. Use `Session.as_default()` if you want to "
                "enter a session multiple times."
            )
        self._contexts = contextlib.ExitStack()
        self._contexts.enter_context(self._graph.as_default())
        self._contexts.enter_context(self.as_default())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        contexts, self._contexts = self._contexts, None
        assert contexts is not None
        contexts.close()
        try:
            self.close()
        except errors.OpError as close_error:
            if kind is None:
                raise
            _logger.warning(
                "The session could not be closed after %s: %s", kind.__name__, close_error.message
            )

    @staticmethod
    def reset(
        target: str, containers: Sequence[str] | None = None, config: config_pb2.ConfigProto | None = None
    ) -> None:
        """Closes all sessions of the master at `target`, and clears the containers (none: the program's)."""
        transport.reset(_target_text(target), to_reset(containers), config)


class InteractiveSession(BaseSession):
    """A session that is the default one until it is closed (`tf.InteractiveSession`)."""

    _count_lock = threading.Lock()
    _active_session_count = 0

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: config_pb2.ConfigProto | None = None
    ) -> None:
        if config is None:
            config = config_pb2.ConfigProto()
            config.gpu_options.allow_growth = True
        config.graph_options.place_pruned_graph = True
        super().__init__(target, graph, config)
        with InteractiveSession._count_lock:
            if InteractiveSession._active_session_count > 0:
                warnings.warn(
                    "An interactive session is already active. This can cause out-of-memory errors in some "
                    "cases. You must explicitly call `InteractiveSession.close()` to release resources held "
                    "by the other session(s).",
                    stacklevel=2,
                )
            InteractiveSession._active_session_count += 1
        self._defaults: DefaultSession | None = self.as_default()
        self._defaults.enforce_nesting = False
        self._defaults.__enter__()
        self._graph_context = None if graph is None else graph.as_default()
        if self._graph_context is not None:
            self._graph_context.__enter__()

    def close(self) -> None:
        """Ends the session, and makes the one before it the default."""
        super().close()
        with InteractiveSession._count_lock:
            context, self._defaults = self._defaults, None
            if context is None:
                return
            InteractiveSession._active_session_count -= 1
        if self._graph_context is not None:
            self._graph_context.__exit__(None, None, None)
        context.__exit__(None, None, None)


def _target_text(target: Any) -> str:
    if target is None:
        return ""
    if isinstance(target, bytes):
        return target.decode()
    if isinstance(target, str):
        return target
    hint = (
        '. Did you do "Session(config)" instead of "Session(config=config)"?'
        if isinstance(target, config_pb2.ConfigProto)
        else ""
    )
    raise TypeError(f'Argument `target` must be a string, but got "{type(target).__name__}"{hint}')
