"""TLS by the compiled module and by Python's ssl, one at each side or the same: what is sent arrives."""

from __future__ import annotations

import _ssl
import contextlib
import ctypes
import fcntl
import os
import signal
import socket
import ssl
import struct
import termios
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tensorfleet.security.tls import certificates
from tensorfleet.wire import tls_records
from tensorfleet.wire.frames import Kind, encode
from tensorfleet.wire.tls import TlsConnection, TlsReader, TlsSocket
from tests.client.wire.sockets import TIMEOUT, in_thread, join
from tests.security.conftest import Pki
from tests.until import until

pytest.importorskip("tensorfleet_kernels._tls")
if os.environ.get(tls_records.SWITCH) == "0":
    pytest.skip(f"the compiled module is switched off by {tls_records.SWITCH}", allow_module_level=True)

MakePair = Callable[..., tuple[TlsSocket, TlsSocket]]


@pytest.fixture
def pair(pki: Pki) -> Iterator[MakePair]:
    """Makes a connected pair: `pair(compiled, compiled, ends)`, of a client and a server."""
    made: list[Any] = []

    def make(
        client: bool = True, server: bool = True, ends: tuple[Any, Any] | None = None
    ) -> tuple[TlsSocket, TlsSocket]:
        if ends is None:
            with socket.create_server(("127.0.0.1", 0)) as listening:
                near = socket.create_connection(listening.getsockname())
                ends = near, listening.accept()[0]
        made.extend(ends)
        found: list[TlsSocket] = []
        context = certificates(pki.task("worker", 0)).server_context()
        thread = in_thread(lambda: found.append(TlsSocket(ends[1], context, server_side=True)))
        one = TlsSocket(ends[0], certificates(pki.user("alice")).client_context(), server_side=False)
        join(thread)
        for side, compiled in ((one, client), (found[0], server)):
            if compiled:
                side.greeted()
                assert side.records is not None
            made.append(side)
        return one, found[0]

    yield make
    for one in reversed(made):
        one.close()


@pytest.fixture(params=[0, 1], ids=["by one thread", "by two"])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a second thread encrypts and decrypts: never, or whatever it can."""
    monkeypatch.setattr(tls_records, "BESIDE_FROM_BYTES", request.param)
    monkeypatch.setattr(tls_records, "_CORES", 4)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("compiled", [(True, True), (True, False), (False, True)])
def test_tensors_of_all_sizes_go_both_ways_at_once(pair: MakePair, compiled: tuple[bool, bool]) -> None:
    sizes = [0, 1, 200, 16_383, 16_384, 16_385, 65_500, 131_072, 1_000_003, 3, 5_000_000]
    tensors = [np.frombuffer(os.urandom(size), np.uint8) for size in sizes]
    heard: dict[int, list[Any]] = {0: [], 1: []}

    def read(i: int, reader: TlsReader) -> None:
        for _ in tensors:
            heard[i] += reader.read().tensors

    connections = [TlsConnection(sock) for sock in pair(*compiled)]
    threads = [in_thread(read, i, connection.reader) for i, connection in enumerate(connections)]
    for tensor in tensors:
        for connection in connections:
            connection.send(encode(Kind.PUSH, 1, 1, b"", [tensor]))
    for thread in threads:
        join(thread)
    for i in (0, 1):
        assert all(map(np.array_equal, heard[i], tensors))
    for connection in connections:
        # As many bytes were counted on either side, of the frames and not of the cipher.
        until(lambda c=connection: c.traffic.sent_bytes == connections[0].traffic.received_bytes)
        connection.close()


@pytest.mark.usefixtures("threads")
def test_many_buffers_at_once(pair: MakePair) -> None:
    one, other = pair()
    parts = [os.urandom(1 + 997 * i % 9000) for i in range(300)]
    whole = b"".join(parts)
    connection = TlsConnection(one)
    connection.send(list(parts))
    buffer = bytearray(len(whole))
    assert other.recv_into(buffer, 0, socket.MSG_WAITALL) == len(whole)
    assert buffer == whole
    assert connection.flush(TIMEOUT)
    thread = in_thread(one.sendmsg, parts)
    assert other.recv_into(buffer, 0, socket.MSG_WAITALL) == len(whole)
    join(thread)
    assert buffer == whole


@pytest.mark.usefixtures("threads")
def test_a_send_without_waiting_leaves_the_rest_to_the_writer(pair: MakePair) -> None:
    one, other = pair()
    connection = TlsConnection(one)
    data = os.urandom(30_000_000)
    connection.send([b"head", data])
    assert connection.waiting == 1  # more than the sockets hold
    connection.send([b"tail"])
    buffer = bytearray(len(data) + 8)
    other.settimeout(TIMEOUT)
    got = 0
    while got < len(buffer):
        got += other.recv_into(memoryview(buffer)[got:], 0, socket.MSG_WAITALL)
    assert (buffer[:4], buffer[-4:]) == (b"head", b"tail")
    assert buffer[4:-4] == data
    assert connection.flush(TIMEOUT)


def test_the_ends_of_a_connection(pair: MakePair) -> None:
    one, other = pair()
    one.settimeout(0.01)
    with pytest.raises(TimeoutError):
        one.recv_into(bytearray(10))
    with pytest.raises(TimeoutError):
        one.sendall(bytes(50_000_000))
    one.settimeout(None)
    one, other = pair()
    other.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        other.sendall(b"x")
    assert one.recv_into(bytearray(10)) == 0
    one.shutdown(socket.SHUT_RDWR)
    with pytest.raises(BrokenPipeError):
        one.sendall(b"x")


def test_a_socket_that_is_closed_while_a_thread_reads_keeps_its_number(pair: MakePair) -> None:
    one, other = pair()
    heard: list[int] = []
    thread = in_thread(lambda: heard.append(one.recv_into(bytearray(10))))
    one.close()
    opened = [socket.socket() for _ in range(8)]
    try:
        other.sendall(b"0123456789")  # the reader is still there, or has seen the end
        join(thread)
    finally:
        for sock in opened:
            sock.close()
    assert heard in ([10], [])


class _Interrupted(Exception):
    pass


def test_a_signal_interrupts_a_read(pair: MakePair) -> None:
    one, _ = pair()

    def interrupt(*_: object) -> None:
        raise _Interrupted

    before = signal.signal(signal.SIGUSR1, interrupt)
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGUSR1))
    try:
        timer.start()
        with pytest.raises(_Interrupted):
            one.recv_into(bytearray(10))
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.usefixtures("threads")
def test_a_large_tensor_that_ends_in_the_middle(pair: MakePair) -> None:
    one, other = pair()
    data = os.urandom(20_000_000)

    def send() -> None:
        one.sendall(data)
        one.shutdown(socket.SHUT_WR)

    thread = in_thread(send)
    buffer = memoryview(bytearray(30_000_000))
    got = 0
    while part := other.recv_into(buffer[got:], 0, socket.MSG_WAITALL):
        got += part
    join(thread)
    assert buffer[:got] == data


@pytest.mark.usefixtures("threads")
def test_a_socket_that_is_shut_down_ends_a_large_tensor(pair: MakePair) -> None:
    one, other = pair()
    ends: list[OSError] = []

    def send() -> None:
        try:
            one.sendall(bytes(50_000_000))
        except OSError as e:
            ends.append(e)

    thread = in_thread(send)
    assert other.recv_into(bytearray(5_000_000), 0, socket.MSG_WAITALL) == 5_000_000
    one.shutdown(socket.SHUT_RDWR)
    join(thread)
    assert len(ends) == 1


@pytest.mark.usefixtures("threads")
def test_a_signal_interrupts_a_large_tensor(pair: MakePair) -> None:
    one, other = pair()
    one.sendall(bytes(1_000_000))
    interrupted = threading.Event()
    before = signal.signal(signal.SIGUSR1, lambda *_: interrupted.set())
    main = threading.main_thread().ident
    assert main is not None

    def go_on() -> None:
        # No other part comes before. A thread that waits sees a signal; one that still computes does not.
        end = time.monotonic() + TIMEOUT
        while not interrupted.wait(0.05):
            assert time.monotonic() < end
            signal.pthread_kill(main, signal.SIGUSR1)
        one.sendall(bytes(9_000_000))

    thread = in_thread(go_on)
    try:
        got, size = 0, 10_000_000
        while got < size:
            got += other.recv_into(memoryview(bytearray(size - got)), 0, socket.MSG_WAITALL)
    finally:
        join(thread)
        signal.signal(signal.SIGUSR1, before)


def outgoing(sock: TlsSocket) -> int:
    """Bytes that the system has, and the other side's has not yet."""
    return struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4)))[0]


@pytest.mark.usefixtures("threads")
def test_a_connection_that_breaks_in_the_middle_says_so_after_its_bytes(pair: MakePair) -> None:
    one, other = pair()
    data = os.urandom(3_000_000)
    buffer = memoryview(bytearray(30_000_000))
    got, ends = 0, []

    def read() -> None:
        nonlocal got
        try:
            while part := other.recv_into(buffer[got:], 0, socket.MSG_WAITALL):
                got += part
        except OSError as e:
            ends.append(e)
        with pytest.raises(ConnectionResetError):  # and for every later call
            other.recv_into(buffer)

    thread = in_thread(read)
    one.sendall(data)
    until(lambda: not outgoing(one))
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # to end without a goodbye
    one.close()
    join(thread)
    assert buffer[:got] == data
    assert [type(e) for e in ends] == [ConnectionResetError]


def test_nothing_is_waited_for_after_the_end(pair: MakePair) -> None:
    one, other = pair(False, True)
    one.sendall(b"the last")
    with pytest.raises(ssl.SSLWantReadError):
        one._tls.unwrap()  # says that nothing follows, and leaves the socket open
    one._flush()
    other.settimeout(TIMEOUT)
    buffer = bytearray(100)
    assert other.recv_into(buffer, 0, socket.MSG_WAITALL) == 8
    assert [other.recv_into(buffer) for _ in range(3)] == [0, 0, 0]


def test_errors_that_others_left_with_the_library_are_not_taken_for_its_own(pair: MakePair) -> None:
    one, other = pair(False, True)
    sealed = one.seal([b"in two parts"])
    heard: list[bytes] = []

    def read() -> None:
        library = ctypes.CDLL(_ssl.__file__)  # whose functions are those of its OpenSSL, too
        library.ERR_new()
        library.ERR_set_error(20, 1, None)
        buffer = bytearray(12)
        other.recv_into(buffer, 0, socket.MSG_WAITALL)
        heard.append(bytes(buffer))

    thread = in_thread(read)
    one.send_sealed(sealed[:10])
    until(lambda: not outgoing(one))
    one.send_sealed(sealed[10:])
    join(thread)
    assert heard == [b"in two parts"]


def test_a_second_thread_needs_a_core(pair: MakePair, monkeypatch: pytest.MonkeyPatch) -> None:
    def apart(client: str) -> socket.socket:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            sock = socket.create_connection(listening.getsockname(), source_address=(client, 0))
            listening.accept()[0].close()
        return sock

    with apart("127.0.0.1") as near, apart("127.0.0.2") as far, socket.socket() as lost:
        for cores, expected in ((1, [False] * 3), (2, [False, True, False]), (4, [True, True, False])):
            monkeypatch.setattr(tls_records, "_CORES", cores)
            assert [tls_records._has_core_beside(sock) for sock in (near, far, lost)] == expected


def test_a_peer_that_asks_for_new_keys_without_end_is_given_up(pair: MakePair) -> None:
    one, other = pair(False, True)
    other.settimeout(TIMEOUT)
    library = ctypes.CDLL(_ssl.__file__)
    inner: Any = one._tls._sslobj  # type: ignore[attr-defined]
    words = (ctypes.c_void_p * (type(inner).__basicsize__ // 8)).from_address(id(inner))
    found = ctypes.c_void_p(words[list(words).index(id(inner.context)) - 1])

    def ask() -> None:
        with contextlib.suppress(OSError):  # once the other side is gone
            for _ in range(40_000):
                assert library.SSL_key_update(found, 1) == 1
                one.sendall(b"x")

    def read() -> None:
        buffer = bytearray(40_000)
        while other.recv_into(buffer):
            pass

    thread = in_thread(ask)
    with pytest.raises(ConnectionError, match="TLS: "):
        read()
    other.close()
    join(thread)


def test_the_fastest_suite_is_used(pair: MakePair) -> None:
    one, other = pair()
    assert one._tls.cipher() == other._tls.cipher() == ("TLS_AES_128_GCM_SHA256", "TLSv1.3", 128)


def relay(near: socket.socket, far: socket.socket, change: Callable[[bytes], bytes]) -> None:
    while data := near.recv(1 << 16):
        far.sendall(change(data))


def test_a_byte_that_was_changed_on_its_way_ends_the_connection(pair: MakePair) -> None:
    (a, b), (c, d) = socket.socketpair(), socket.socketpair()
    spoil = threading.Event()

    def change(data: bytes) -> bytes:
        return data[:-1] + bytes((data[-1] ^ 1,)) if spoil.is_set() else data

    threads = [in_thread(relay, b, c, change), in_thread(relay, c, b, bytes)]
    for sock in (a, d):
        sock.settimeout(TIMEOUT)
    one, other = pair(False, False, (a, d))
    for side in (one, other):
        side._takes_descriptors = False  # as after HELLO
        side.greeted()
        assert side.records is not None
    one.sendall(b"as it was")
    buffer = bytearray(100)
    assert other.recv_into(buffer) == 9
    spoil.set()
    one.sendall(b"as it is not")
    for _ in range(2):
        with pytest.raises(ConnectionError, match=r"TLS: .*mac"):
            other.recv_into(buffer)
    one.shutdown(socket.SHUT_RDWR)
    other.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        join(thread)
    b.close()
    c.close()


@pytest.mark.parametrize("reads_compiled", [True, False])
def test_keys_are_renewed(pair: MakePair, reads_compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_records, "RENEWED_AFTER_RECORDS", 4)
    (a, b), (c, d) = socket.socketpair(), socket.socketpair()
    sizes: list[int] = []

    def note(data: bytes) -> bytes:
        sizes.append(len(data))
        return data

    threads = [in_thread(relay, b, c, note), in_thread(relay, c, b, bytes)]
    one, other = pair(False, False, (a, d))
    one._takes_descriptors = other._takes_descriptors = False
    one.greeted()
    if reads_compiled:
        other.greeted()
    del sizes[:]
    buffer = bytearray(100)
    for i in range(40):
        one.sendall(b"%02d" % i)
        assert other.recv_into(buffer) == 2
        assert buffer[:2] == b"%02d" % i
    # A record of two bytes has 24; before each fourth one stands a message of 27, that the key is a new one.
    assert sum(sizes) >= 40 * 24 + 9 * 27
    for side in (one, other):
        side.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        join(thread)
    b.close()
    c.close()


@pytest.fixture
def loaded_again() -> Iterator[None]:
    tls_records.module.cache_clear()
    yield
    tls_records.module.cache_clear()


@pytest.mark.usefixtures("loaded_again")
@pytest.mark.parametrize("reason", ["another version", "switched off"])
def test_python_does_it_where_the_module_does_not_fit(
    reason: str, monkeypatch: pytest.MonkeyPatch, pair: MakePair
) -> None:
    if reason == "switched off":
        monkeypatch.setenv(tls_records.SWITCH, "0")
    else:
        monkeypatch.setattr(tls_records, "INTERFACE", 0)
    one, other = pair(False, False)
    one.greeted()
    assert one.records is None
    one.sendall(b"all the same")
    assert other.recv_into(bytearray(12), 0, socket.MSG_WAITALL) == 12


def test_what_is_not_of_ssl_is_not_looked_into(pair: MakePair) -> None:
    module = tls_records.module()
    one, _ = pair(False, False)
    inner: Any = one._tls._sslobj  # type: ignore[attr-defined]
    other = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    assert module.open(object(), object(), object.__basicsize__, 0, b"", 1, 0) is None
    assert module.open(inner, other, type(inner).__basicsize__, 0, b"", 1, 0) is None
    assert not module.prefer(object(), object(), object.__basicsize__, ":".join(tls_records.SUITES))
    assert not module.prefer(inner, other, type(inner).__basicsize__, ":".join(tls_records.SUITES))
    assert not module.prefer(inner, inner.context, type(inner).__basicsize__, "TLS_NOT_THERE")
    assert module.prefer(inner, inner.context, type(inner).__basicsize__, ":".join(tls_records.SUITES))


def test_python_does_it_where_there_is_no_descriptor_for_the_module(pair: MakePair) -> None:
    one, other = pair(False, False)
    other.sendall(b"before, ")
    one._receive(100)  # of which nothing may be lost
    with socket.socket() as closed:
        pass
    assert tls_records.over(one._tls, one._in, closed) is None
    other.sendall(b"and after")
    buffer = bytearray(17)
    assert one.recv_into(buffer, 0, socket.MSG_WAITALL) == 17
    assert buffer == b"before, and after"


def test_other_interpreters_use_their_own_ssl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_records, "INTERPRETERS", ((3, 10),))
    assert tls_records.module.__wrapped__() is None
