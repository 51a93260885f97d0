"""Peer: the stream connection to another task, with calls, steps and tensors in both directions.

Both sides may ask: each is a worker to the other's master, and pushes tensors to it. One thread reads the
connection. It hands tensors to the rendezvous and runs what they make runnable, as long as that is known to
be short; if it takes long all the same, another thread goes on with reading (`relief`). It never blocks:
calls that take time go to the pool, and `Connection.send` does not wait.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from google.protobuf.message import DecodeError, Message

from tensorfleet.core import errors
from tensorfleet.proto.step_stats_pb2 import StepStats
from tensorfleet.wire import frames
from tensorfleet.wire.connection import Connection, cork
from tensorfleet.wire.frames import (
    TRACE,
    Frame,
    FrameTooLarge,
    Kind,
    Method,
    encode,
    encode_with_meta,
    pack_error,
    pushed_edges,
    unpack_error,
)
from tensorfleet_service.devices.ipc import Chunk, Verb
from tensorfleet_service.devices.scope import Outgoing
from tensorfleet_service.executor.dead import DEAD
from tensorfleet_service.graph import message_pieces
from tensorfleet_service.net import limits
from tensorfleet_service.net.gpu_link import GpuLink
from tensorfleet_service.net.pending_calls import PendingCalls
from tensorfleet_service.net.relief import RELIEF
from tensorfleet_service.net.tensor_protos import as_op_error
from tensorfleet_service.threads.run_queue import run_queue
from tensorfleet_service.threads.spin import SPINNER

if TYPE_CHECKING:
    from tensorfleet.wire.traffic import Traffic
    from tensorfleet_service.devices.scope import Scope
    from tensorfleet_service.net.peers import AnyPeer
    from tensorfleet_service.tracing.trace import StepTrace

log = logging.getLogger(__name__)

_Response = TypeVar("_Response", bound=Message)
MemberDone = Callable[["errors.OpError | None", Sequence[Any]], None]


class TaskService(Protocol):
    """The services of a task for its peers. None may block, except `call`, which runs on the pool."""

    @property
    def task(self) -> str: ...
    def call(self, peer: Peer, method: int, request: bytes) -> bytes: ...
    def run_graph(
        self, peer: Peer, step_id: int, handle: int, values: Sequence[Any], traced: bool
    ) -> None: ...
    def deliver(self, step_id: int, edges: Sequence[int], values: Sequence[Any]) -> None: ...
    def collective(self, peer: Peer, frame: Frame) -> None: ...
    def chunk(self, round_id: int, number: int, value: Any) -> None: ...
    def keep(self, step_id: int, edge: int, value: Any) -> None: ...
    def abort(self, step_id: int, error: errors.OpError) -> None: ...
    def submit(self, function: Callable[..., None], *arguments: Any) -> None: ...
    def gpu(self, number: int) -> Scope | None: ...
    def peer_lost(self, peer: AnyPeer) -> None: ...


class Peer:
    """Another task, as long as the connection to it lasts.

    Attributes:
        task: its canonical name.
        incarnation: of its process.
    """

    def __init__(
        self, connection: Connection, task: str, incarnation: int, address: str, service: TaskService
    ) -> None:
        self.task = task
        self.incarnation = incarnation
        self.address = address
        self.lost: errors.OpError | None = None
        self._connection = connection
        self._heard = time.monotonic()
        self._encode = partial(encode, arena=connection.arena)
        self._service = service
        self._lock = threading.Lock()
        self._calls = PendingCalls()
        self._steps: dict[int, tuple[MemberDone, StepTrace | None]] = {}
        self._gpus: GpuLink | None = None
        self._turn = threading.Lock()  # of the two below
        self._reader: threading.Thread | None = None
        self.began = 0.0

    def share_gpus(self, stock: list[Chunk], traffic: Traffic) -> None:
        """Lets tensors of GPUs go there without the host's memory, if the system allows; before `start`.

        Args:
            stock: the chunks of earlier connections to the task.
            traffic: where the tensors are counted.
        """
        if self._connection.arena is not None:  # a process of the same user on this machine
            service = self._service
            self._gpus = GpuLink(self._tell_of_gpu, stock, traffic, service.submit, service.gpu)

    def _tell_of_gpu(self, verb: Verb, chunk: int, meta: bytes) -> None:
        try:
            self._send(encode(Kind.GPU, chunk, verb, meta))
        except errors.UnavailableError as e:
            log.debug("%s was not told of a GPU's memory: %s", self.task, e.message)

    def start(self) -> None:
        """Begins to read; call it once the peer is known to those who may be asked for it.

        Raises:
            RuntimeError, MemoryError: there is no thread for it.
        """
        RELIEF.watch(self)
        try:
            self._start_reading(0.0)
        except BaseException:
            RELIEF.forget(self)
            raise

    def relieve(self, began: float) -> None:
        """Has another thread read, if the one that does is still at what it has begun then."""
        self._start_reading(began)

    def _start_reading(self, began: float) -> None:
        threading.Thread(target=self._take_turn, args=(began,), name=f"read {self.task}", daemon=True).start()

    def _take_turn(self, began: float) -> None:
        with self._turn:
            if self.began != began:
                return  # who has read so far is back
            self._reader = threading.current_thread()
            self.began = 0.0
        self._read()

    # Requests

    def call(self, method: Method, request: Message, response: type[_Response], timeout: float) -> _Response:
        """A call with an answer, within `timeout` seconds."""
        self._check()
        data = message_pieces.serialize(request)
        what = f"{self.task} ({self.address}) did not answer {method.name}"
        return response.FromString(
            self._calls.call(
                lambda number: self._send(encode(Kind.CALL, number, method, data)), timeout, what
            )
        )

    def notify(self, method: Method, request: Message) -> None:
        """Makes a call whose answer, and whose failure by a lost connection, do not matter."""
        try:
            self._send(encode(Kind.CALL, 0, method, request.SerializeToString()))
        except errors.UnavailableError as e:
            log.debug("%s not told to %s: %s", method.name, self.task, e.message)

    def run_graph(
        self, step_id: int, handle: int, values: Sequence[Any], done: MemberDone, trace: StepTrace | None
    ) -> None:
        """Runs a registered graph on the peer; `done` is called once."""
        with self._lock:
            lost = self.lost
            if lost is None:
                self._steps[step_id] = (done, trace)
        if lost is not None:
            done(lost, ())
            return
        try:
            self._send(self._encode(Kind.RUN_GRAPH, step_id, handle, b"", values, TRACE if trace else 0))
        except errors.OpError as e:
            self._end_step(step_id, e, ())  # unless the reading thread has done so

    def _end_step(self, step_id: int, error: errors.OpError | None, values: Sequence[Any]) -> bool:
        """Calls the function that waits for the peer's part of a step; whether there is one.

        A method of its own, so that the reading thread's frame does not keep the step's values alive.
        """
        found = self._steps.pop(step_id, None)
        if found is None:
            return False
        found[0](error, values)
        return True

    def push(self, step_id: int, edge: int, value: Any) -> None:
        """Sends a tensor."""
        if type(value) is Outgoing:
            gpus = self._gpus  # which the end of the connection takes away
            place = None if gpus is None or edge >= 1 << 64 else gpus.put(value)
            if place is not None:
                self._send(encode(Kind.PUSH, step_id, edge, place, flags=frames.IN_GPU))
                return
            value = value.to_host()
        if edge >= 1 << 64:  # in nested loops, with the numbers of their iterations
            meta = edge.to_bytes((edge.bit_length() + 7) // 8, "little")
            tensors, flags = ((), frames.DEAD) if value is DEAD else ((value,), 0)
            self._send(encode_with_meta(Kind.PUSH, step_id, 0, meta, tensors, flags))
        elif value is DEAD:
            self._send(encode(Kind.PUSH, step_id, edge, flags=frames.DEAD))
        else:
            self._call_connection(self._connection.push, step_id, edge, value)

    def tell(
        self, kind: Kind, number: int, detail: int, meta: bytes = b"", tensors: Sequence[Any] = ()
    ) -> None:
        """Sends a frame about a collective at once, so that such frames stay in order."""
        if meta:
            frame = encode_with_meta(kind, number, detail, meta, tensors)
        else:
            frame = self._encode(kind, number, detail, meta, tensors)
        self._call_connection(self._connection.send_now, frame)

    def abort(self, step_id: int, error: errors.OpError) -> None:
        """Ends a step on the peer, without waiting for its answer."""
        self._steps.pop(step_id, None)
        code, text = pack_error(error)
        try:
            self._send(encode(Kind.ABORT, step_id, code, text))
        except errors.UnavailableError as e:
            log.debug("step %d not ended on %s: %s", step_id, self.task, e.message, extra={"step": step_id})

    # Answers

    def step_done(
        self, step_id: int, error: errors.OpError | None, values: Sequence[Any], stats: StepStats | None
    ) -> None:
        """Answers a RUN_GRAPH."""
        answer: list[Any] = []
        if error is None:
            try:
                answer = self._encode(Kind.RESULT, step_id, 0, b"", values)
            except errors.OpError as e:
                error = e
        # An error is not held back: the master should get it before its consequences elsewhere.
        send = self._connection.send if error is None else self._connection.send_now
        try:
            if stats is not None:
                self._call_connection(send, encode(Kind.TRACED, step_id, 0, message_pieces.serialize(stats)))
            if error is not None:
                code, text = pack_error(error)
                self._call_connection(send, encode(Kind.ERROR, step_id, code, text))
            else:
                self._call_connection(send, answer)
        except errors.UnavailableError as e:
            log.debug("step %d not answered: %s", step_id, e.message, extra={"step": step_id})

    # The connection

    def _check(self) -> None:
        if self.lost is not None:
            raise self._again(self.lost)

    @staticmethod
    def _again(lost: errors.OpError) -> errors.OpError:
        """A copy of the error, as an exception that is raised again keeps all earlier frames alive."""
        return errors.from_code(lost.error_code, lost.message)

    def _send(self, buffers: list[Any]) -> None:
        self._call_connection(self._connection.send, buffers)

    def _call_connection(self, send: Callable[..., None], *arguments: Any) -> None:
        """Calls one of the connection's sending methods; raises UnavailableError if it is broken."""
        try:
            send(*arguments)
        except OSError as e:
            raise (self._again(self.lost) if self.lost is not None else self._lost_error(e)) from None

    def _lost_error(self, cause: BaseException) -> errors.OpError:
        return errors.UnavailableError(
            None,
            None,
            f"Lost the connection to {self.task} ({self.address}): {cause or type(cause).__name__}",
        )

    @property
    def waiting(self) -> int:
        """The number of frames that the socket has not taken yet."""
        return self._connection.waiting

    def flush(self, timeout: float) -> bool:
        """Waits until the socket has taken all frames; whether it has."""
        return self._connection.flush(timeout)

    def close(self) -> None:
        self._connection.close()

    def heard(self, now: float) -> float:
        """Sends a sign of life, and returns the time of the last one from the other task."""
        self._connection.beat()
        return self._heard

    def silent(self, why: str) -> None:
        """Gives the other task up as lost, though the connection is not broken."""
        with self._lock:
            if self.lost is None:
                self.lost = self._lost_error(OSError(why))
        self._connection.close()  # the reading thread then calls `_end`

    def _read(self) -> None:
        np.seterr(all="ignore")  # this thread runs kernels
        own = threading.current_thread()
        connection = self._connection
        reader, read = connection.reader, connection.reader.read
        sent = connection.traffic.sent
        try:
            while True:
                if connection.traffic.sent != sent:
                    # An answer to what this thread has sent will come soon.
                    sent = connection.traffic.sent
                    if not reader.buffered:
                        SPINNER.spin(connection.sock)
                try:
                    frame = read()
                except FrameTooLarge as e:
                    self._refuse(e)
                    reader.skip(e)
                    continue
                kind = frame.kind
                if kind in _RUNNING:
                    self.began = time.monotonic()
                    if RELIEF.asleep:
                        RELIEF.wake()
                if kind == Kind.PUSH:
                    # Runs on this thread, and runs that they make runnable, are short, so everything that
                    # they send may go out together.
                    if frame.flags & frames.IN_GPU:
                        frame = self._in_gpu(frame)
                    elif not frame.tensors and not frame.flags & frames.DEAD:
                        _check_tensors(frame, 1)
                    with cork(), run_queue():
                        edge = int.from_bytes(frame.meta, "little") if frame.meta else frame.detail
                        self._service.deliver(
                            frame.number, (edge,), (DEAD,) if frame.flags & frames.DEAD else frame.tensors
                        )
                elif kind == Kind.PUSH_ALL:
                    with cork(), run_queue():
                        self._service.deliver(frame.number, pushed_edges(frame), frame.tensors)
                elif kind == Kind.RESULT:
                    self._end_step(frame.number, None, frame.tensors)
                elif kind == Kind.RUN_GRAPH:
                    with cork(), run_queue():
                        self._service.run_graph(
                            self, frame.number, frame.detail, frame.tensors, bool(frame.flags & TRACE)
                        )
                elif kind in _COLLECTIVE:
                    with cork(), run_queue():
                        self._handle(frame)
                        # Steps that it completes go on at the end of this block, and may be relieved.
                        self.began = time.monotonic()
                        if RELIEF.asleep:
                            RELIEF.wake()
                else:
                    self._handle(frame)
                del frame  # its tensors live on where they are used, not here
                with self._turn:
                    if self._reader is not own:
                        return  # it took long, and another thread reads
                    self.began = 0.0
        except (EOFError, OSError) as e:
            self._end(e)
        except (ValueError, DecodeError) as e:
            log.warning("%s sent a malformed message, and its connection is closed: %s", self.task, e)
            text = f"{self._service.task} received a malformed message: {e}"
            connection.refuse(errors.InvalidArgumentError(None, None, text))
            self._end(e)
        except Exception as e:
            log.exception("the connection to %s is closed after an error", self.task)
            self._end(e)

    def _refuse(self, frame: FrameTooLarge) -> None:
        """Ends the step, or answers the call, of a frame over the limits."""
        error = limits.frame_error(frame)
        if frame.kind == Kind.RUN_GRAPH:
            self.step_done(frame.number, error, (), None)
        elif frame.kind == Kind.CALL and frame.number:
            code, text = pack_error(error)
            self._send(encode(Kind.ERROR, frame.number, code, text))
        elif frame.kind == Kind.RESULT:
            self._end_step(frame.number, error, ())
        else:
            self._service.abort(frame.number, error)

    def _in_gpu(self, frame: Frame) -> Frame:
        """A PUSH with its tensor, which is in a GPU's memory."""
        if self._gpus is None:
            raise ValueError("a tensor in a GPU's memory, which is not shared")
        return Frame(frame.kind, 0, frame.number, frame.detail, b"", (self._gpus.arrived(frame.meta),))

    def _handle(self, frame: Frame) -> None:
        match frame.kind:
            case Kind.BEAT:
                self._heard = time.monotonic()
                self._connection.traffic.received -= 1  # BEATs that are sent are not counted, either
            case Kind.CHUNK:
                _check_tensors(frame, 1)
                self._service.chunk(frame.number, frame.detail, frame.tensors[0])
            case Kind.COLLECTIVE:
                self._service.collective(self, frame)
            case Kind.GPU:
                if self._gpus is None:
                    raise ValueError("a message about a GPU's memory, which is not shared")
                self._gpus.receive(frame.detail, frame.number, frame.meta)
            case Kind.CALL:
                self._service.submit(self._answer, frame)
            case Kind.REPLY:
                self._calls.answer(frame.number, frame.meta)
            case Kind.ERROR:
                error = unpack_error(frame)
                if not frame.number:
                    raise ConnectionError(error.message)
                if not self._end_step(frame.number, error, ()):
                    self._calls.answer(frame.number, b"", error)
            case Kind.TRACED:
                running = self._steps.get(frame.number)
                if running is not None and running[1] is not None:
                    running[1].merge(StepStats.FromString(frame.meta))
            case Kind.ABORT:
                self._service.abort(frame.number, unpack_error(frame))
            case _:
                raise ValueError(f"a frame of kind {frame.kind} from a task")

    def _answer(self, frame: Frame) -> None:
        try:
            try:
                reply = encode(
                    Kind.REPLY, frame.number, 0, self._service.call(self, frame.detail, frame.meta)
                )
            except errors.OpError as e:
                code, text = pack_error(e)
                reply = encode(Kind.ERROR, frame.number, code, text)
            except DecodeError as e:
                message = f"The request of call {frame.detail} cannot be read: {e}"
                log.warning("%s: %s", self.task, message)
                reply = encode(Kind.ERROR, frame.number, errors.INVALID_ARGUMENT, message.encode())
            except Exception as e:
                code, text = pack_error(as_op_error(e, f"call {frame.detail} of {self.task}"))
                reply = encode(Kind.ERROR, frame.number, code, text)
            if frame.number:
                self._send(reply)
        except errors.UnavailableError as e:
            log.debug("call not answered: %s", e.message)

    def _end(self, cause: BaseException) -> None:
        """Ends everything that waits for the peer, at the end of the connection."""
        with self._lock:
            error = self.lost = self.lost or self._lost_error(cause)
        self._connection.close()
        RELIEF.forget(self)
        self._calls.end(error)
        while self._steps:
            try:
                _, (done, _) = self._steps.popitem()
            except KeyError:
                break  # another thread has taken the last one
            done(error, ())
        gpus, self._gpus = self._gpus, None  # which refers to this
        if gpus is not None:
            gpus.stop_sending()
        self._service.peer_lost(self)
        if gpus is not None:
            gpus.close()  # waits for the GPU, so it comes last


_RUNNING = frozenset((Kind.PUSH, Kind.PUSH_ALL, Kind.RESULT, Kind.RUN_GRAPH))
"""Frames that may run plans. Only these are relieved: the others are short, and some have to be done in their
order, and before the end of the connection."""

_COLLECTIVE = frozenset((Kind.COLLECTIVE, Kind.CHUNK))
"""Frames about collectives, which are handled in their order; the steps that they complete run afterwards."""


def _check_tensors(frame: Frame, count: int) -> None:
    if len(frame.tensors) != count:
        raise ValueError(f"a frame of kind {frame.kind} with {len(frame.tensors)} tensors, not {count}")
