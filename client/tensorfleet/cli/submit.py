"""`tensorfleet submit`: runs a script as a Kubernetes Job beside a release of the chart."""

from __future__ import annotations

import argparse
import re
import secrets
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from tensorfleet.core import errors
from tensorfleet.kube import api, bundle, job, missing_module, release
from tensorfleet.kube.job_run import JobRun
from tensorfleet.session.containers import CONTAINER_VARIABLE

WRONG_USAGE = 2
NOT_RUN = 125  # as for `docker run`, to be distinguished from the script's exit codes


def parser() -> argparse.ArgumentParser:
    """The flags of `tensorfleet submit`."""
    p = argparse.ArgumentParser(
        prog="tensorfleet submit",
        usage="tensorfleet submit SCRIPT [ARGUMENT…] --release NAME [FLAGS] [-- ARGUMENT…]",
        description="Run a Python script as a Kubernetes Job beside a release of TensorFleet's chart, with "
        "TENSORFLEET_ADDRESS set, and pass its output on. Files are in the script's working directory.",
        epilog="Exit code: the script's; 125 if it could not be run; 2 for a wrong command line. What stands "
        "after -- goes to the script as it is.",
        allow_abbrev=False,
    )
    p.add_argument("script", metavar="SCRIPT")
    p.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="for the script")
    add_cluster_flags(p)
    p.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="FILE|DIR",
        help="a file or a folder that is sent along; may be repeated",
    )
    p.add_argument(
        "--requirements",
        action="append",
        default=[],
        metavar="FILE",
        help="a requirements file or a wheel that pip installs in the pod; may be repeated",
    )
    p.add_argument(
        "--name",
        type=_program_name,
        help="of the program, and of the container that its variables are in: another run with the same name "
        "finds them again (default: the script's file name)",
    )
    p.add_argument(
        "--env", action="append", default=[], metavar="NAME=VALUE", help="for the script; may be repeated"
    )
    p.add_argument("--image", help="(default: that of the release's tasks)")
    p.add_argument(
        "--pull-policy",
        choices=("Always", "IfNotPresent", "Never"),
        help="(default: as the tasks have; IfNotPresent with --image)",
    )
    p.add_argument("--cpu", default="100m", help="requested, such as 500m or 2 (default: 100m)")
    p.add_argument("--memory", help="requested, and the limit, such as 2Gi (default: none)")
    p.add_argument(
        "--start-seconds",
        type=_positive,
        default=300.0,
        metavar="S",
        help="how long the script may take to start (default: 300)",
    )
    p.add_argument("--timeout", type=_whole, metavar="S", help="stop the script after so long")
    p.add_argument(
        "--tensorflow",
        action="store_true",
        help="the script's imports say tensorflow: run it as `tensorfleet run` does",
    )
    p.add_argument("--detach", action="store_true", help="leave the Job to itself, and print its name")
    p.add_argument(
        "--keep-seconds",
        type=_whole,
        default=3600,
        metavar="S",
        help="how long a detached Job is kept after its end (default: 3600)",
    )
    return p


def add_cluster_flags(p: argparse.ArgumentParser, required: bool = True) -> None:
    """Adds the flags that select a release."""
    text = "of the chart, as `helm list` shows it"
    p.add_argument("--release", required=required, metavar="NAME", help=text)
    p.add_argument("-n", "--namespace", metavar="NAME", help="the release's (default: the context's)")
    p.add_argument("--context", metavar="NAME", help="of the kubeconfig (default: the current one)")


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return value


def _program_name(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?", text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a program's name: small letters, digits and -, 40 at most, no - at either end"
        )
    return text


def _whole(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of seconds, 1 or more")
    return int(text)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The flags, which may be before and after the script; arguments after `--` are the script's."""
    p = parser()
    own = list(argv)
    rest: list[str] = []
    if "--" in own:
        split = own.index("--")
        own, rest = own[:split], own[split + 1 :]
    # The parser has its own usage text, which argparse would use for each part of intermixed arguments.
    flags = p.parse_intermixed_args(own)
    flags.arguments += rest
    return flags


def main(argv: Sequence[str]) -> int:
    """Runs a script; returns its exit code, 125 if it could not be run, 2 for wrong arguments."""
    flags = parse(argv)
    try:
        files = bundle.read(flags.script, flags.file, flags.requirements)
        env = job.environment(flags.env)
    except ValueError as error:
        say(str(error))
        return WRONG_USAGE
    try:
        return run(flags, files, env)
    except errors.OpError as error:
        say(error.message)
    except ImportError as error:
        say(str(error))
    return NOT_RUN


def run(flags: argparse.Namespace, files: bundle.Bundle, env: dict[str, str]) -> int:
    """Makes the Job, follows its log, and removes it unless it is detached. Raises OpError, ImportError."""
    cluster = api.Cluster("tensorfleet submit", flags.context)
    found = release.find(cluster, flags.release, flags.namespace or cluster.namespace)
    settings = _settings(flags, cluster, found, env)
    name = f"{settings.program}-{secrets.token_hex(3)}"
    work = JobRun(cluster, job.job_manifest(name, found, files, flags.arguments, settings), say)
    watch = missing_module.Watch(_write)
    if CONTAINER_VARIABLE not in env:
        others = work.others()
        if others:
            say(
                f"{', '.join(others)} runs the program {settings.program} on this release, too: both use the "
                "variables of that name. For a training of its own give it another name: --name NAME"
            )
    with _interruptible():
        work.create(files)
        if flags.detach:
            print(work.name)
            say(
                f"follow it: kubectl logs -f job/{work.name} -n {found.namespace}; "
                f"end it: kubectl delete job {work.name} -n {found.namespace}"
            )
            return 0
        try:
            work.wait_started(flags.start_seconds)
            code = work.follow(watch)
            if code and watch.module:
                say(missing_module.hint(watch.module, flags.script))
            return code
        finally:
            work.remove()


def _settings(
    flags: argparse.Namespace, cluster: api.Cluster, found: release.Release, env: dict[str, str]
) -> job.JobSettings:
    """The Job's settings; the image is that of the release's tasks unless another one is given."""
    image, policy, secrets_ = flags.image, flags.pull_policy, ()
    if image is None:
        pod = release.master_pod(cluster, found)
        task = next((c for c in pod.spec.containers if c.name == "task"), pod.spec.containers[0])
        image, policy = task.image, policy or task.image_pull_policy
        secrets_ = tuple(secret.name for secret in pod.spec.image_pull_secrets or ())
    return job.JobSettings(
        program=flags.name or _name(flags.script),
        image=image,
        pull_policy=policy or "IfNotPresent",
        pull_secrets=secrets_,
        env=env,
        cpu=flags.cpu,
        memory=flags.memory,
        seconds=flags.timeout,
        keep_seconds=flags.keep_seconds,
        runner=("-m", "tensorfleet.run") if flags.tensorflow else (),
    )


def _name(script: str) -> str:
    """The default name of a program, from the name of its file."""
    stem = re.sub(r"[^a-z0-9]+", "-", Path(script).stem.lower()).strip("-")
    return stem[:40].strip("-") or "script"


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def say(text: str) -> None:
    """Prints to standard error, as standard output is the script's."""
    print(f"tensorfleet submit: {text}", file=sys.stderr, flush=True)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Lets SIGTERM and SIGHUP end the command as Ctrl-C does, so that the Job is removed."""

    def interrupt(signum: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
