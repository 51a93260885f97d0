"""Compressed files: streams that inflate on reading and deflate on writing."""

from __future__ import annotations

import io
import zlib
from typing import IO, TYPE_CHECKING, Any, Protocol

from tensorfleet.core import errors

if TYPE_CHECKING:
    from tensorfleet.records.options import TFRecordOptions

KINDS = ("", "ZLIB", "GZIP")
_GZIP_WINDOW = 16  # added to zlib's window bits, it selects gzip's header and trailer
_PIECE = 1 << 18  # bytes of a compressed file to read at a time


class Readable(Protocol):
    """The interface of sources of bytes: opened files, and files that are inflated."""

    def read(self, size: int = -1, /) -> bytes: ...

    def close(self) -> None: ...


class _Inflating(io.RawIOBase):
    """The content of a compressed file."""

    def __init__(self, file: IO[bytes], window: int) -> None:
        super().__init__()
        self._file = file
        self._window = window
        self._inflate = zlib.decompressobj(window)
        self._rest = b""
        self._begun = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        wanted = len(buffer)
        while wanted:
            if not self._rest:
                self._rest = self._file.read(_PIECE)
                if not self._rest:
                    if self._begun and not self._inflate.eof:
                        raise errors.DataLossError(None, None, "a compressed file ends too early")
                    return 0
            if self._inflate.eof:
                # A concatenation of compressed files is one compressed file.
                self._inflate = zlib.decompressobj(self._window)
            self._begun = True
            try:
                found = self._inflate.decompress(self._rest, wanted)
            except zlib.error as e:
                raise errors.DataLossError(None, None, _inflate_text(e)) from None
            self._rest = self._inflate.unconsumed_tail or self._inflate.unused_data
            if found:
                buffer[: len(found)] = found
                return len(found)
        return 0

    def close(self) -> None:
        self._file.close()
        super().close()


def _inflate_text(error: zlib.error) -> str:
    """zlib's error in TensorFlow's words."""
    number, _, reason = str(error).removeprefix("Error ").partition(" while decompressing data: ")
    return f"inflate() failed with error {number}: {reason}"


def check_kind(kind: str) -> str:
    """`kind` itself. Raises InvalidArgumentError for an unknown compression."""
    if kind not in KINDS:
        raise errors.InvalidArgumentError(None, None, f"Unsupported compression_type: {kind}.")
    return kind


def inflated(file: IO[bytes], kind: str) -> Readable:
    """The content of an opened file with the compression `kind`: "", "ZLIB" or "GZIP"."""
    if not check_kind(kind):
        return file
    window = zlib.MAX_WBITS + (_GZIP_WINDOW if kind == "GZIP" else 0)
    return io.BufferedReader(_Inflating(file, window), _PIECE)


def deflater(options: TFRecordOptions, kind: str) -> Any:
    """A compressor with the interface of zlib's objects, for the options."""

    def given(value: int | None, default: int) -> int:
        return default if value is None else value

    window = given(options.window_bits, zlib.MAX_WBITS)
    return zlib.compressobj(
        given(options.compression_level, zlib.Z_DEFAULT_COMPRESSION),
        zlib.DEFLATED,
        window + (_GZIP_WINDOW if kind == "GZIP" else 0),
        given(options.mem_level, zlib.DEF_MEM_LEVEL),
        given(options.compression_strategy, zlib.Z_DEFAULT_STRATEGY),
    )
