"""`tensorfleet run`: a program that imports `tensorflow`, run on this library."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import thread as executors
from pathlib import Path
from types import ModuleType

from tensorfleet.run import hook, older_arrays, older_names

WRONG_USAGE = 2


def parser() -> argparse.ArgumentParser:
    """The arguments of `tensorfleet run`."""
    p = argparse.ArgumentParser(
        prog="tensorfleet run",
        usage="tensorfleet run [--no-check] (SCRIPT | -m MODULE) [ARGUMENT…]",
        description="Run a Python program in which `import tensorflow` means TensorFleet: the public names "
        "of TensorFlow 1.x, tensorflow.contrib, and the internal modules that programs import. Before it "
        "starts, what it uses and is missing is told on standard error; `tensorfleet doctor` tells more.",
        epilog="The arguments after the script are its own. Exit code: the program's.",
        allow_abbrev=False,
    )
    p.add_argument("--no-check", action="store_true", help="do not read the program before it starts")
    p.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    p.add_argument("script", metavar="SCRIPT")
    p.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a program as `python` does; returns 0, or 2 without such a script. May raise any exception."""
    flags = parser().parse_args(argv)
    try:
        hook.install()
    except hook.RedirectError as error:
        print(f"tensorfleet run: {error}", file=sys.stderr)
        return WRONG_USAGE
    # TensorFlow 1.15's task for nodes without a device, where this process has the session's master.
    os.environ.setdefault("TENSORFLEET_UNPLACED", "first")
    older_names.put_back()
    older_arrays.put_back()
    try:
        code = _execute(flags)
    except SystemExit:  # what `tf.app.run` ends with
        _await_threads()
        raise
    _await_threads()
    return code


def _execute(flags: argparse.Namespace) -> int:
    if flags.module:
        if not flags.no_check:
            _tell_missing(flags.script, module=True)
        sys.path.insert(0, "")
        sys.argv = [flags.script, *flags.arguments]
        runpy.run_module(flags.script, run_name="__main__", alter_sys=True)
        return 0
    path = Path(flags.script)
    try:
        source = path.read_bytes()
    except OSError as error:
        print(f"tensorfleet run: {flags.script} cannot be read: {error.strerror}", file=sys.stderr)
        return WRONG_USAGE
    if not flags.no_check:
        _tell_missing(flags.script)
    sys.argv = [flags.script, *flags.arguments]
    sys.path.insert(0, str(path.resolve().parent))
    # The program's names stay in its __main__ to the end, for threads, pickling and `tf.app.run`.
    module = ModuleType("__main__")
    module.__file__ = flags.script
    sys.modules["__main__"] = module
    exec(compile(source, flags.script, "exec"), module.__dict__)
    return 0


def _await_threads() -> None:
    """Waits for the threads that the program has left running, as long as they run.

    The interpreter does so as well, but stops all executors first, without which such a thread could
    neither make a server nor run a session. Their workers end by that, so they are not waited for here.
    """
    own = threading.current_thread()
    while left := [
        thread
        for thread in threading.enumerate()
        if thread is not own and not thread.daemon and thread not in executors._threads_queues
    ]:
        left[0].join()


def _tell_missing(script: str, module: bool = False) -> None:
    from tensorfleet.run import doctor  # imported only for the check

    if text := doctor.sentence(script, module):
        print(f"tensorfleet run: {text}", file=sys.stderr, flush=True)
