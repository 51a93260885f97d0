"""Installs a program's packages, then runs the program; `tensorfleet submit` sends this file.

    python packages.py WHEEL-OR-REQUIREMENTS… -- SCRIPT ARGUMENT…

It needs only Python and pip: the image's package, or a wheel in the image's share/tensorfleet.
Packages of the image keep their versions; new ones are installed below the temporary directory.
"""

from __future__ import annotations

import glob
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import tempfile

FAILED = 125  # exit code for a program that could not be run

_HINT = (
    "tensorfleet submit: the packages were not installed, and the program was not run. The pod needs an "
    "index that it reaches, such as --env PIP_INDEX_URL=https://…, or the wheels: --requirements NAME.whl"
)


def pip() -> list[str]:
    """The command that runs pip; empty if there is none."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    wheels = sorted(glob.glob(os.path.join(sys.prefix, "share", "tensorfleet", "pip-*.whl")))
    return [sys.executable, os.path.join(wheels[-1], "pip")] if wheels else []


def install(wanted: list[str], directory: str) -> int:
    """Installs wheels and requirements files into `directory`; returns pip's exit code."""
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
    if done.returncode != 0:  # pip's output is shown only for errors
        sys.stdout.buffer.write(done.stdout)
        sys.stdout.flush()
    return done.returncode


def main(arguments: list[str]) -> int:
    """Installs the packages and replaces this process by the program; returns 125 if that fails."""
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
