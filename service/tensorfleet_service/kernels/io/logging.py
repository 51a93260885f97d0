"""Assert, Print, PrintV2, StringFormat, Timestamp."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from tensorfleet.checkpoint.files import reported
from tensorfleet.core import errors
from tensorfleet.core.long_texts import beginning, decoded, grouped
from tensorfleet.core.printable import MAX_TOLD
from tensorfleet_service.kernels.io.summarize import both_ends, first_elements
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.state import printed
from tensorfleet_service.threads.running import check as check_step


def _bracketed(value: Any, summarize: int, before: str = "") -> Iterator[str]:
    yield f"{before}["
    yield from first_elements(value, summarize)
    yield "]"


@kernel("Assert")
def assert_(node: KernelNode) -> Kernel:
    summarize = node.attrs["summarize"]

    def run(condition: Any, *data: Any) -> None:
        if np.ndim(condition):
            raise errors.InvalidArgumentError(None, None, "In[0] should be a scalar")
        if not condition:
            shown = (
                piece for i, value in enumerate(data) for piece in _bracketed(value, summarize, " " * (i > 0))
            )
            text = beginning(shown, MAX_TOLD)
            raise errors.InvalidArgumentError(None, None, f"assertion failed: {text}")

    return run


@kernel("Print")
def print_(node: KernelNode) -> Kernel:
    message = node.attrs["message"]
    first_n, summarize = node.attrs["first_n"], node.attrs["summarize"]
    calls = 0
    lock = threading.Lock()

    def run(value: Any, *data: Any) -> Any:
        nonlocal calls
        if first_n >= 0:
            with lock:
                if calls >= first_n:
                    return value
                calls += 1
        shown = (piece for item in data for piece in _bracketed(item, summarize))
        printed.write("stderr", chain(decoded(message), shown, "\n"))
        return value

    return run


@kernel("PrintV2")
def print_v2(node: KernelNode) -> Kernel:
    stream, end = (node.attrs[key].decode() for key in ("output_stream", "end"))
    # Names of log levels are streams too: all of them are the standard error.
    known = ("stderr", "stdout", "log(info)", "log(warning)", "log(error)")
    path = stream.removeprefix("file://")
    files = node.resources.files
    if stream not in known and path == stream:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Unknown output stream: {stream}, Valid streams are: stderr, stdout, and file:// paths",
        )

    def run(text: Any) -> None:
        line = chain(decoded(text if isinstance(text, bytes) else text[()], check_step), (end,))
        if path != stream:
            with reported(path), files.open_for_write(path, "ab") as file:
                for part in grouped(line):
                    rest = memoryview(part.encode())
                    while rest:
                        rest = rest[file.write(rest) :]
        else:
            printed.write(stream, line)

    return run


@kernel("StringFormat")
def string_format(node: KernelNode) -> Kernel:
    template, placeholder = (node.attrs[key].decode() for key in ("template", "placeholder"))
    summarize = node.attrs["summarize"]
    parts = template.split(placeholder) if placeholder else [template]
    if len(parts) - 1 != len(node.input_types):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"num placeholders in template and num inputs must match: {len(parts) - 1} vs. "
            f"{len(node.input_types)}",
        )

    def pieces(inputs: Sequence[Any]) -> Iterator[str]:
        yield parts[0]
        for value, part in zip(inputs, parts[1:], strict=True):
            yield from both_ends(value, summarize)
            yield part

    def run(*inputs: Any) -> bytes:
        return b"".join([text.encode() for text in grouped(pieces(inputs))])

    return run


@kernel("Timestamp")
def timestamp(node: KernelNode) -> Kernel:
    return lambda: np.float64(time.time())
