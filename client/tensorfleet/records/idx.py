"""The IDX format of the MNIST database: a short header, then the elements of one array.

Header: two zero bytes, a type code, the number of dimensions, then each dimension as a big-endian uint32. The
elements follow in row-major order, big-endian. A file may be compressed by gzip.
"""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_GZIP_MAGIC = b"\x1f\x8b"
_DTYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def sample_dir() -> Path:
    """Returns the directory of this package's MNIST sample: 1,000 training and 500 test digits."""
    return Path(__file__).parents[1] / "examples" / "data"


def read_idx(path: str | Path) -> npt.NDArray[Any]:
    """Reads one IDX file, plain or compressed by gzip.

    Returns a writable array in native byte order, with the shape and type that the header gives.

    Raises:
      FileNotFoundError: there is no such file.
      ValueError: the file is not an IDX file, or its length does not fit its header. The text names the
          file, what was expected and what was found.
    """
    path = Path(path)
    data = _content(path)
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in _DTYPES:
        raise ValueError(
            f"{path}: not an IDX file: expected two zero bytes and a type code out of "
            f"{', '.join(f'{code:#04x}' for code in _DTYPES)}, found {data[:4].hex(' ') or 'an empty file'}"
        )
    dtype = np.dtype(_DTYPES[data[2]])
    rank = data[3]
    start = 4 + 4 * rank
    if len(data) < start:
        raise ValueError(f"{path}: truncated: expected a header of {start} bytes, found {len(data)}")
    shape = struct.unpack(f">{rank}I", data[4:start])
    expected, found = math.prod(shape) * dtype.itemsize, len(data) - start
    if found != expected:
        what = "truncated" if found < expected else "too long"
        raise ValueError(
            f"{path}: {what}: expected {expected} bytes of elements for shape {shape}, found {found}"
        )
    return np.frombuffer(data, dtype, offset=start).reshape(shape).astype(dtype.newbyteorder("="))


def _content(path: Path) -> bytes:
    """Returns the bytes of a file, decompressed if they are gzip's, independent of the file's name."""
    raw = path.read_bytes()
    if not raw.startswith(_GZIP_MAGIC):
        if path.suffix == ".gz":
            raise ValueError(
                f"{path}: not a gzip file: expected it to begin with 1f 8b, found {raw[:2].hex(' ')}"
            )
        return raw
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path}: broken gzip file: {error}") from error
