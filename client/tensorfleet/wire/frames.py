"""The frames of the stream transport: their format and their encoding; `reader` has their decoding.

Used by the client to its master, and between tasks. A frame is a fixed header, then `meta` (whatever the
kind of frame needs: packed numbers or a protobuf message), a descriptor per tensor, and the tensors' bytes
one after the other. Small frames travel in one write; the bytes of large tensors go from the array to the
socket and from the socket into a fresh array, never through another buffer.

    header     kind u8, flags u8, tensors u16, head u32, number u64, detail u64, payload u64   (little endian)
    head       bytes of meta and descriptors
    descriptor dtype u8, rank u8, bytes u64, then rank times u64

Between processes of one machine a large tensor may lie in shared memory: the highest bit of its dtype says
so, and the payload has its place instead of its bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from tensorfleet.core import dtypes, errors, tensor_util
from tensorfleet.core.printable import told
from tensorfleet.wire.limits import SHARED_FROM_BYTES, SMALL_BYTES
from tensorfleet.wire.shared_memory import PLACE, Arena

Value = Any  # np.ndarray | np.generic

HEADER = struct.Struct("<BBHIQQQ")
DESCRIPTOR = struct.Struct("<BBQ")
MAGIC = b"tensorfleet-stream-3"

MAX_RANK = 64  # NumPy's own limit
DIMS = [struct.Struct(f"<{rank}Q") for rank in range(MAX_RANK + 1)]
EMPTY: Sequence[Value] = ()
UNKNOWN_CALLABLE = "The session is not found: it was closed, or the server restarted."
"""The text of the AbortedError for a RUN by a number that the master does not know, or not any more."""
IN_SHARED_MEMORY = 128
"""The bit of a descriptor's dtype for a tensor in shared memory."""
# The descriptor and the size of a single number, by its NumPy type.
_SCALARS = {
    dtype.np.type: (DESCRIPTOR.pack(dtype.enum, 0, dtype.np.itemsize), dtype.np.itemsize)
    for dtype in map(
        dtypes.from_numpy, map(np.dtype, ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "?"))
    )
    if dtype.np is not None
}


class Kind(IntEnum):
    """The content of a frame.

    `number` is that of the request, which the answer repeats, or of the step; `detail` is what the kind says.
    """

    HELLO = 1  # meta: Hello; the first frame on a connection, from the side that opened it
    CALL = 2  # number: request, detail: Method; meta: the request message
    REPLY = 3  # number: request; meta: the response message
    ERROR = 4  # number: request, or 0 for the connection itself; detail: status code; meta: the text
    RUN = 5  # number: request, detail: callable; meta: session handle; tensors: the feeds
    RESULT = 6  # number: request or step; tensors: the fetches
    RUN_GRAPH = 7  # number: step, detail: graph handle; tensors: the fed values
    PUSH = 8  # number: step, detail: edge; one tensor, or none and flag DEAD
    ABORT = 9  # number: step, detail: status code; meta: the text
    TRACED = 10  # number: request or step; meta: RunMetadata or StepStats, before the RESULT of the same id
    COLLECTIVE = 11  # detail: what is said about a collective; meta: the rest of it
    CHUNK = 12  # number: round of a collective, detail: number of the chunk; one tensor
    PUSH_ALL = 13  # number: step; meta: the edges; a tensor for each
    BEAT = 14  # between tasks: a sign of life
    AUTH = 15  # before HELLO: a part of the proof that both sides know the cluster secret
    GPU = 16  # number: a chunk of a GPU's memory, detail: what is said about it; meta: the rest of it


class Method(IntEnum):
    """The calls carried by CALL, with the messages of the gRPC method of the same name."""

    CREATE_SESSION = 1
    EXTEND_SESSION = 2
    MAKE_CALLABLE = 3
    RUN_STEP = 5
    PARTIAL_RUN_SETUP = 6
    CLOSE_SESSION = 7
    LIST_DEVICES = 8
    RESET = 9
    GET_STATUS = 20
    CREATE_WORKER_SESSION = 21
    DELETE_WORKER_SESSION = 22
    REGISTER_GRAPH = 23
    DEREGISTER_GRAPH = 24
    CLEANUP_ALL = 25
    GET_STEPS = 26


# The flags of a frame.
DEAD = 1
TRACE = 2
IN_GPU = 4
"""A PUSH whose meta says where in a shared chunk of a GPU's memory its tensor is."""
HAS_META = 128
"""The head starts with the meta's size: set for frames that have both a meta and tensors."""
META_SIZE = struct.Struct("<I")


class Frame:
    """One received frame."""

    __slots__ = ("detail", "flags", "kind", "meta", "number", "tensors")

    def __init__(
        self, kind: int, flags: int, number: int, detail: int, meta: bytes, tensors: Sequence[Value]
    ) -> None:
        self.kind = kind
        self.flags = flags
        self.number = number
        self.detail = detail
        self.meta = meta
        self.tensors = tensors


def encode(
    kind: int,
    number: int,
    detail: int = 0,
    meta: bytes = b"",
    tensors: Sequence[Value] = EMPTY,
    flags: int = 0,
    arena: Arena | None = None,
) -> list[Any]:
    """The buffers of a frame, in order.

    They alias the tensors: nobody may change those until they are sent.

    Args:
        arena: memory that the receiver shares: large tensors are copied there while it has room.

    Raises:
        InvalidArgumentError: what is to be sent is no tensor, such as the handle of a resource.
        ResourceExhaustedError: there is no memory for the copy that is sent.
    """
    if not tensors:
        return [HEADER.pack(kind, flags, 0, len(meta), number, detail, 0) + meta]
    if len(tensors) == 1:
        found = _SCALARS.get(type(tensors[0]))
        if found is not None:
            descriptor, size = found
            head_size = len(meta) + DESCRIPTOR.size
            return [
                HEADER.pack(kind, flags, 1, head_size, number, detail, size)
                + meta
                + descriptor
                + tensors[0].tobytes()
            ]
    head = bytearray(meta)
    total = 0
    payloads: list[Any] = []
    slots: list[int] = []
    value = None
    try:
        for value in tensors:
            dtype = dtypes.from_numpy(value.dtype)
            shape = value.shape
            if dtype is dtypes.string:
                data: Any = tensor_util.string_bytes(value)
                size = len(data)
            elif not shape:
                data = value.tobytes()
                size = len(data)
            else:
                size = value.nbytes
                if size <= SMALL_BYTES:
                    data = value.tobytes()
                elif (
                    arena is not None
                    and size >= SHARED_FROM_BYTES
                    and (place := arena.put(value)) is not None
                ):
                    head += DESCRIPTOR.pack(dtype.enum | IN_SHARED_MEMORY, len(shape), size)
                    head += DIMS[len(shape)].pack(*shape)
                    slots.append(place[0])
                    payloads.append(PLACE.pack(*place))
                    total += PLACE.size
                    continue
                else:
                    data = np.ascontiguousarray(value).reshape(-1).view(np.uint8).data
            head += DESCRIPTOR.pack(dtype.enum, len(shape), size)
            if shape:
                head += DIMS[len(shape)].pack(*shape)
            payloads.append(data)
            total += size
        header = HEADER.pack(kind, flags, len(payloads), len(head), number, detail, total)
        if total <= SMALL_BYTES:
            return [b"".join((header, head, *payloads))]
        return [header + head, *(p for p in payloads if len(p))]
    except Exception as e:
        if arena is not None:
            arena.take_back(slots)  # nobody will be sent where these are
        raise unsendable(value, e) from None


def unsendable(value: Any, error: Exception) -> errors.OpError:
    """The error for a value that cannot be sent: the one rule for all that is answered with values."""
    if isinstance(error, errors.OpError):
        return error
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(error, MemoryError):
        what = f"a {dtype} tensor of shape {list(shape or ())}"
        return errors.ResourceExhaustedError(None, None, f"Out of memory while {what} is sent: {error}")
    if shape is None or dtype is None:
        what = f"{type(value).__name__} is no tensor: a resource or a variant stays on the task that made it"
        return errors.InvalidArgumentError(None, None, f"A {what}, and cannot be fetched or sent.")
    what = f"A {dtype} tensor of shape {list(shape)} cannot be sent"
    return errors.InvalidArgumentError(None, None, f"{what}: {type(error).__name__}: {error}")


class FrameTooLarge(ValueError):
    """A frame over the reader's limits, or for which there is no memory.

    Attributes:
        kind, number: of the frame's header.
        head, payload: its sizes in bytes.
        left: how many of its bytes have not been read.
        reason: what there is no memory for, where it is not over the limits.
    """

    def __init__(
        self, kind: int, number: int, head: int, payload: int, left: int | None = None, reason: str = ""
    ) -> None:
        super().__init__(reason or f"a frame of {head + payload} bytes is over the limit")
        self.kind = kind
        self.number = number
        self.head = head
        self.payload = payload
        self.left = head + payload if left is None else left
        self.reason = reason


def encode_with_meta(
    kind: int,
    number: int,
    detail: int,
    meta: bytes,
    tensors: Sequence[Value],
    flags: int = 0,
    arena: Arena | None = None,
) -> list[Any]:
    """`encode` for frames that carry both a meta and tensors."""
    if not tensors:
        return encode(kind, number, detail, meta, flags=flags)
    return encode(kind, number, detail, META_SIZE.pack(len(meta)) + meta, tensors, flags | HAS_META, arena)


def encode_pushes(
    step_id: int, edges: Sequence[int], tensors: Sequence[Value], arena: Arena | None = None
) -> list[Any]:
    """The buffers of a PUSH, or of one PUSH_ALL for several tensors of a step."""
    if len(edges) == 1:
        return encode(Kind.PUSH, step_id, edges[0], b"", tensors, arena=arena)
    return encode_with_meta(Kind.PUSH_ALL, step_id, 0, struct.pack(f"<{len(edges)}Q", *edges), tensors)


def pushed_edges(frame: Frame) -> tuple[int, ...]:
    """The edges of a PUSH_ALL.

    Raises:
        ValueError: they are not as many as the tensors.
    """
    count = len(frame.tensors)
    if len(frame.meta) != 8 * count:
        raise ValueError(f"{len(frame.meta)} bytes do not name the edges of {count} tensors")
    return struct.unpack(f"<{count}Q", frame.meta)


def pack_error(error: errors.OpError) -> tuple[int, bytes]:
    """The code and text of an error, for an ERROR or ABORT frame."""
    return error.error_code, told(error.message).encode()


def unpack_error(frame: Frame) -> errors.OpError:
    """The error that an ERROR or ABORT frame carries."""
    return errors.from_code(frame.detail, frame.meta.decode("utf-8", "replace"))
