"""Finds ops that keep the interpreter from all other threads: `python -m tests.security.lock_sweep [OP...]`.

Each op's kernel is called with large inputs, each in a process of its own: many strings, one long text, many
numbers. Meanwhile a thread that wants to run once a millisecond notes for how long it could not. What kinds
of inputs an op takes is found by trying: first small ones, until one is accepted, then the same ones, grown.
`--seconds` says from which pause on an op is printed. No test runs this: it takes half an hour, and says
what is so on the machine where it runs.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from tensorfleet.core import dtypes, errors
from tensorfleet.graph.graph import lookup_op
from tensorfleet.graph.op_def import Arg, OpDef
from tensorfleet_service.kernels.registry import make_kernel, registered
from tests.kernels.harness import call, make_node

STRINGS, TEXT, NUMBERS = "strings", "text", "numbers"
GROWN = {STRINGS: 1 << 22, TEXT: 1 << 26, NUMBERS: 1 << 23}
MEMORY = 8 << 30
TRIED = 1500
CASES = 4
SECONDS = 90
REFUSALS = (
    *(errors.OpError, DecodeError),
    *(ValueError, TypeError, AssertionError, LookupError, AttributeError),
)

Make = Callable[[int], Any]


def many(item: bytes) -> Make:
    def make(size: int) -> Any:
        made = np.empty(size, object)
        for begin in range(0, size, 1 << 16):
            made[begin : begin + (1 << 16)] = [item + b"%d" % i for i in range(min(1 << 16, size - begin))]
        return made

    return make


def text_of(piece: bytes) -> Make:
    return lambda size: np.array(piece * max(size // len(piece), 1), object)


def constant(value: Any, dtype: Any) -> Make:
    return lambda size: np.array(value, dtype)


def values(kind: str, dtype: dtypes.DType) -> list[Make]:
    """What an input of a dtype may be, as functions of a size that is grown."""
    if dtype is dtypes.string:
        if kind == TEXT:
            pieces = (b"a", b"1 ", b"1,1,", b"aaaa", b"a\n", b'{"a":1}')
            return [text_of(piece) for piece in pieces] + [lambda n: np.array(b"a", object)]
        rows = [many(b"1"), many(b"a"), lambda n: many(b"a")(n).reshape(-1, 2)]
        return [*rows, lambda n: np.array(b"a", object), lambda n: np.array([b"a", b"b"], object)]
    kept = dtype.np
    if kind != NUMBERS:
        few = [constant(v, kept) for v in (1, 0, 2, [0], [1], [1, 1], [4])]
        return [*few, lambda n: np.arange(n if kind == STRINGS else 4).astype(kept)]
    grown: list[Make] = [
        lambda n: (np.arange(n) % 4).astype(kept),
        lambda n: (np.arange(n) % 4).astype(kept).reshape(-1, 2),
        lambda n: (np.arange(n) % 4).astype(kept).reshape(1, -1, 4, 1),
        lambda n: (np.arange(n) % 4).astype(kept).reshape(-1, 2, 2),
    ]
    if dtype in (dtypes.int32, dtypes.int64):
        constants = (0, 1, [1], [1, 1], [0, 0], 4, [4], [1, 4, 4, 1])
        return [*(constant(v, kept) for v in constants), *grown[:2]]
    return [*grown, lambda n: np.array(1, kept), lambda n: np.array([1, 1], kept)]


def types_of(kind: str, opdef: OpDef) -> dict[str, Any] | None:
    """Values of the attributes without a default; None if the op does not take such inputs."""
    found: dict[str, Any] = {}
    for name, attr in opdef.attrs.items():
        if attr.kind == "type":
            if attr.default is not None and (kind == NUMBERS or attr.default is dtypes.string):
                continue
            wanted = dtypes.string if kind != NUMBERS else dtypes.float32
            allowed = attr.allowed
            if allowed is None or wanted in allowed:
                found[name] = wanted
            elif attr.default is None:
                found[name] = dtypes.int64 if dtypes.int64 in allowed else allowed[0]
        elif attr.default is None:
            guesses = {"int": 1, "float": 1.0, "bool": False, "string": b"", "shape": (), "list(int)": [1, 1]}
            if attr.kind in guesses:
                found[name] = guesses[attr.kind]
            elif attr.kind == "list(type)":
                found[name] = [dtypes.string if kind != NUMBERS else dtypes.float32]
    return found


def inputs_of(kind: str, opdef: OpDef, attrs: dict[str, Any]) -> list[list[list[Make]]]:
    """For each input its candidates, each a list of tensors."""
    found = []
    for arg in opdef.inputs:
        if arg.type_list_attr:
            found.append([[make] for make in values(kind, attrs[arg.type_list_attr][0])])
            continue
        dtype = arg.dtype if arg.dtype is not None else attrs.get(arg.type_attr)
        if dtype is None:
            dtype = opdef.attrs[arg.type_attr].default
        if dtype.np is None or dtype in (dtypes.resource, dtypes.variant):
            raise LookupError("it takes handles")
        made = values(kind, dtype)
        found.append([[make, make] if arg.number_attr else [make] for make in made])
    return found


def built(opdef: OpDef, attrs: dict[str, Any], chosen: Any, size: int) -> tuple[Any, list[Any]]:
    arguments = []
    for arg, makes in zip(opdef.inputs, chosen, strict=True):
        made = [make(size) for make in makes]
        arguments.append(made if arg.number_attr or arg.type_list_attr else made[0])
    counts = {arg.number_attr for arg in opdef.inputs}
    kept = {name: value for name, value in attrs.items() if name not in counts}
    return make_node(opdef.name, *arguments, **kept)


def accepted(kind: str, opdef: OpDef, attrs: dict[str, Any]) -> Iterator[Any]:
    """Choices of inputs that the op takes when they are small; in no order."""
    candidates = inputs_of(kind, opdef, attrs)
    choices = list(itertools.islice(itertools.product(*candidates), 100_000))
    random.Random(0).shuffle(choices)
    for chosen in choices[:TRIED]:
        try:
            node, flat = built(opdef, attrs, chosen, 8)
            call(make_kernel(node), flat)
        except REFUSALS:
            continue
        yield chosen


class Pauses(threading.Thread):
    """Notes for how long it could not run, at most, while another thread computed.

    The other thread's processor time tells this from waiting for a core, which other programs have.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.longest = 0.0
        self.ended = False
        self._clock = time.pthread_getcpuclockid(threading.get_ident())

    def run(self) -> None:
        before = 0.0, 0.0
        while not self.ended:
            time.sleep(1e-3)
            now = time.monotonic(), time.clock_gettime(self._clock)
            if before[0]:
                self.longest = max(self.longest, min(now[0] - before[0], now[1] - before[1]))
            before = now


def measured(kind: str, op: str) -> str:
    """The longest pauses while the op computes, and while its outputs and inputs are dropped."""
    opdef = lookup_op(op)
    attrs = types_of(kind, opdef) or {}
    worst, seen = (0.0, 0.0, 0.0), 0
    for chosen in accepted(kind, opdef, attrs):
        if seen == CASES:
            break
        size = GROWN[kind]
        while size > 1 << 10:
            try:
                node, flat = built(opdef, attrs, chosen, size)
                if sum(getattr(x, "size", 1) for x in flat) < size and kind != TEXT:
                    break  # nothing grows
                kernel = make_kernel(node)
                pauses = Pauses()
                pauses.start()
                time.sleep(0.02)
                pauses.longest = 0.0
                begun = time.monotonic()
                result = call(kernel, flat)
                took = time.monotonic() - begun
                time.sleep(5e-3)
                computing, pauses.longest = pauses.longest, 0.0
                del result
                time.sleep(5e-3)
                worst = max(worst, (max(computing, pauses.longest), computing, took))
                pauses.ended = True
                seen += 1
                break
            except (*REFUSALS, MemoryError):
                size //= 16
    return f"{worst[0]:.3f} {worst[1]:.3f} {worst[2]:.2f}" if seen else "-"


def one(kind: str, op: str, directory: str) -> str:
    """What `measured` says in a process of its own, which works in a directory."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os.chdir(directory)  # some of the ops write files, with the texts that they get for names
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            signal.alarm(SECONDS)
            os.write(writes, measured(kind, op).encode())
        except LookupError:
            os.write(writes, b"-")
        except BaseException as e:
            os.write(writes, f"? {type(e).__name__}: {str(e)[:150]!r}".encode())
        finally:
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as answer:
        found = answer.read().decode()
    os.waitpid(child, 0)
    return found or f"? no answer in {SECONDS} s"


def may_be_string(opdef: OpDef, arg: Arg) -> bool:
    if not arg.type_attr:
        return arg.dtype is dtypes.string
    return dtypes.string in (opdef.attrs[arg.type_attr].allowed or [dtypes.string])


def main() -> None:
    shown = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=shown)
    parser.add_argument("ops", nargs="*")
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--kind", choices=[*GROWN], action="append")
    options = parser.parse_args()
    for op in options.ops or registered():
        try:
            opdef = lookup_op(op)
        except errors.NotFoundError:
            continue
        takes_strings = any(may_be_string(opdef, arg) for arg in opdef.inputs)
        takes_numbers = any(arg.dtype is not dtypes.string for arg in opdef.inputs)
        for kind in options.kind or GROWN:
            if not (takes_numbers if kind == NUMBERS else takes_strings):
                continue
            with tempfile.TemporaryDirectory() as directory:
                found = one(kind, op, directory)
            if found == "-":
                print(op, kind, "not measured", file=sys.stderr, flush=True)
            elif options.ops or found[0] == "?" or float(found.split()[0]) >= options.seconds:
                print(op, kind, found, flush=True)


if __name__ == "__main__":
    main()
