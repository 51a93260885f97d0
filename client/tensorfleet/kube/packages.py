"""Installs a program's packages, then becomes the program; this file goes along with `tensorfleet submit`.

    python packages.py WHEEL-OR-REQUIREMENTS… -- SCRIPT ARGUMENT…

It needs nothing but Python and pip: one of the image's packages, or a wheel in share/tensorfleet beside them.
What the image has is kept in its version; what is new goes below the temporary directory.
"""

from __future__ import annotations

import glob
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import tempfile

FAILED = 125  # as where the program could not be run for another reason

_HINT = (
    "tensorfleet submit: the packages were not installed, and the program was not run. The pod needs an "
    "index that it reaches, such as --env PIP_INDEX_URL=https://…, or the wheels: --requirements NAME.whl"
)


def pip() -> list[str]:
    """The command that runs pip; empty without one."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    wheels = sorted(glob.glob(os.path.join(sys.prefix, "share", "tensorfleet", "pip-*.whl")))
    return [sys.executable, os.path.join(wheels[-1], "pip")] if wheels else []


def install(wanted: list[str], directory: str) -> int:
    """Installs wheels and what requirements files name into `directory`; returns pip's exit code."""
    command = pip()
    if not command:
        print(
            "tensorfleet submit: the image has no pip: use one that has it, or the packages (--image)",
            flush=True,
        )
        return FAILED
    kept = os.path.join(directory, "constraints.txt")
    with open(kept, "w", encoding="utf-8") as file:
        for found in importlib.metadata.distributions():
            file.write(f"{found.metadata['Name']}=={found.version}\n")
    flags = [
        "--no-input",
        "--no-cache-dir",
        "--disable-pip-version-check",
        "--progress-bar=off",
        "--retries=2",
    ]
    command += ["install", *flags, "--prefix", directory, "--constraint", kept, "--find-links", "."]
    for path in wanted:
        command += [path] if path.endswith(".whl") else ["-r", path]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:  # else the output is the program's alone
        sys.stdout.buffer.write(done.stdout)
        sys.stdout.flush()
    return done.returncode


def main(arguments: list[str]) -> int:
    """Installs, and runs the program in the place of this process; 125 where nothing was installed."""
    split = arguments.index("--")
    wanted, program = arguments[:split], arguments[split + 1 :]
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    directory = tempfile.mkdtemp(prefix="packages-")
    if install(wanted, directory) != 0:
        print(_HINT, flush=True)
        return FAILED
    paths = glob.glob(os.path.join(directory, "**", "*-packages"), recursive=True)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([*paths, *([before] if before else [])])
    os.environ["PATH"] = os.path.join(directory, "bin") + os.pathsep + os.environ.get("PATH", "")
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *program])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
