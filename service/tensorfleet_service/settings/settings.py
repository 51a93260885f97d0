"""Settings of `tensorfleet serve`: flags, else environment variables, else defaults.

Each setting has one flag and one variable: `--drain-seconds` is TENSORFLEET_DRAIN_SECONDS. The job, the task
and the cluster may come from TF_CONFIG instead, as Kubeflow's TFJob sets it.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tensorfleet.cluster.cluster import ClusterSpec
from tensorfleet.core.environment import SettingsError
from tensorfleet.core.files import LOCAL, Files
from tensorfleet.core.similar import did_you_mean
from tensorfleet.security.settings import OPEN, Security, SecurityError, is_loopback, load as load_security
from tensorfleet_service.observe.log import FORMATS, LEVELS
from tensorfleet_service.settings import environment
from tensorfleet_service.settings.environment import PREFIX
from tensorfleet_service.state.files import PathsError, from_environment

PROTOCOLS = ("grpc+stream", "grpc")


@dataclass(frozen=True)
class Settings:
    """One task's settings.

    Attributes:
        bind_host: the interface to listen on; None: loopback if the task's address is on it, else all.
        stream_port: TCP port of the stream endpoint, 0 for any free one.
        drain_seconds: time for which running steps may go on after SIGTERM.
        stop_with_stdin: whether to drain at the end of standard input, as when the parent process dies.
        metrics_port: TCP port of metrics and health pages, 0 for any free one; None: no such port.
        gpus: the number of GPUs that the task uses, and must have; None: all GPUs of the machine.
        files: the files that ops may use.
        security: authentication of others and of this task; has variables, but no flags.
        warnings: warnings about the environment, for the log.
    """

    cluster: ClusterSpec
    job_name: str
    task_index: int
    protocol: str = "grpc+stream"
    bind_host: str | None = None
    stream_port: int = 0
    log_format: str = "text"
    log_level: str = "info"
    drain_seconds: float = 20.0
    stop_with_stdin: bool = False
    metrics_port: int | None = None
    gpus: int | None = None
    files: Files = field(default=LOCAL, compare=False)
    security: Security = OPEN
    warnings: tuple[str, ...] = ()

    @property
    def bind(self) -> str:
        """The host to listen at, in the form it has in addresses."""
        host, _, _ = self.cluster.task_address(self.job_name, self.task_index).rpartition(":")
        return self.bind_host or ("127.0.0.1" if host in ("localhost", "127.0.0.1", "::1") else "[::]")

    @property
    def task(self) -> str:
        """The task's short name."""
        return f"/job:{self.job_name}/task:{self.task_index}"


def parser() -> argparse.ArgumentParser:
    """The flags of `tensorfleet serve`."""
    p = argparse.ArgumentParser(
        prog="tensorfleet serve",
        description="Serve one task of a cluster until SIGTERM or SIGINT, then drain and exit with 0.",
        epilog="Each flag can be given as an environment variable: --job-name as TENSORFLEET_JOB_NAME. "
        "Job, task and cluster may come from TF_CONFIG instead. A flag wins over its variable, and that over "
        "TF_CONFIG.",
        allow_abbrev=False,
    )
    p.add_argument("--job-name", metavar="NAME", help="the task's job, such as ps or worker")
    p.add_argument(
        "--task-index",
        metavar="N",
        help="its number in the job (default: the number that ends the host name)",
    )
    p.add_argument(
        "--cluster-spec",
        metavar="JSON",
        help='the cluster: {"ps": ["host:port"], "worker": {"0": "host:port"}}, or @FILE',
    )
    p.add_argument("--protocol", metavar="|".join(PROTOCOLS), help="grpc: without the stream endpoint")
    p.add_argument("--bind-host", metavar="HOST", help="interface to listen on (default: loopback or all)")
    p.add_argument(
        "--stream-port", metavar="PORT", help="TCP port of the stream endpoint (default: any free one)"
    )
    p.add_argument(
        "--metrics-port",
        metavar="PORT",
        help="TCP port of /metrics and /healthz, 0 for any free one (default: there is none)",
    )
    p.add_argument(
        "--gpus",
        metavar="none|auto|N",
        help="none: opens no GPU; auto: all that there are; N: so many, without which the task is not ready "
        "(default: none for job ps, else auto)",
    )
    for what, done in (("read", "read, beside those of --write-paths"), ("write", "write and read")):
        p.add_argument(
            f"--{what}-paths",
            metavar="DIR:DIR|any|none",
            help=f"the directories whose files ops may {done} (default: any for a task that listens on "
            "loopback only, else its state directory and the temporary one)",
        )
    p.add_argument(
        "--log-format", metavar="|".join(FORMATS), help="of the log on standard error (default: text)"
    )
    p.add_argument("--log-level", metavar="|".join(LEVELS), help="the least that is logged (default: info)")
    p.add_argument(
        "--drain-seconds", metavar="S", help="for running steps to end after SIGTERM (default: 20)"
    )
    p.add_argument(
        "--stop-with-stdin",
        action="store_true",
        help="drain as well when standard input ends: for a parent that must leave no task behind",
    )
    return p


def load(argv: Sequence[str], environ: Mapping[str, str], host_name: str) -> Settings:
    """The settings of this process.

    Args:
        argv: the flags. A flag that does not exist ends the process with code 2, as argparse does.
        environ: the environment.
        host_name: of this machine or pod; a StatefulSet's pod has its ordinal at the end.

    Raises:
        SettingsError: a setting is missing or invalid.
    """
    return _Reader(vars(parser().parse_args(argv)), environ, host_name).settings()


class _Reader:
    def __init__(self, flags: dict[str, Any], environ: Mapping[str, str], host_name: str) -> None:
        self._flags = flags
        self._environ = environ
        self._host_name = host_name
        self._tf_config = self._read_tf_config()

    def settings(self) -> Settings:
        warnings = environment.check(self._environ)
        cluster = self._cluster()
        job = self._job_name(cluster)
        index = self._task_index(cluster, job)
        environment.check_host(cluster, job, index, self._host_name)
        return Settings(
            cluster=cluster,
            job_name=job,
            task_index=index,
            protocol=self._choice("protocol", PROTOCOLS),
            bind_host=self._get("bind_host")[0] or None,
            stream_port=self._port("stream_port") or 0,
            log_format=self._choice("log_format", FORMATS),
            log_level=self._choice("log_level", LEVELS),
            drain_seconds=self._seconds("drain_seconds", Settings.drain_seconds),
            stop_with_stdin=self._flags["stop_with_stdin"],
            metrics_port=self._port("metrics_port"),
            gpus=self._gpus(job),
            files=self._files(cluster.task_address(job, index)),
            security=self._security(),
            warnings=tuple(warnings),
        )

    def _security(self) -> Security:
        try:
            return load_security(self._environ)
        except SecurityError as e:
            raise SettingsError(str(e)) from None

    def _get(self, key: str) -> tuple[str, str]:
        """A setting's text, empty if it is not set, and the name of its source."""
        if self._flags[key] is not None:
            return self._flags[key], _flag(key)
        name = PREFIX + key.upper()
        text = self._environ.get(name, "")
        return "" if environment.is_service_link(name, text) else text, name

    def _choice(self, key: str, choices: Sequence[str]) -> str:
        text, source = self._get(key)
        value: str = text or getattr(Settings, key)
        if value not in choices:
            raise SettingsError(f"{source} is {text!r}: set it to {' or '.join(choices)}")
        return value

    def _port(self, key: str) -> int | None:
        text, source = self._get(key)
        if text and not (text.isascii() and text.isdecimal() and int(text) < 65536):
            raise SettingsError(f"{source} is {text!r}: set it to a port, 0 to 65535; 0 takes any free one")
        return int(text) if text else None

    def _gpus(self, job: str) -> int | None:
        text, source = self._get("gpus")
        text = text or ("none" if job == "ps" else "auto")
        if text in ("none", "auto"):
            return 0 if text == "none" else None
        if not (text.isascii() and text.isdecimal()):
            raise SettingsError(
                f"{source} is {text!r}: set it to none, auto, or the number of GPUs that the task must have"
            )
        return int(text)

    def _files(self, address: str) -> Files:
        host = self._get("bind_host")[0] or address.rpartition(":")[0]
        paths = {PREFIX + key.upper(): self._get(key)[0] for key in ("read_paths", "write_paths")}
        try:
            return from_environment({**self._environ, **paths}, local=is_loopback(host))
        except PathsError as error:
            raise SettingsError(str(error)) from error

    def _seconds(self, key: str, default: float) -> float:
        text, source = self._get(key)
        try:
            value = float(text) if text else default
        except ValueError:
            value = -1.0
        if not 0 <= value < float("inf"):
            raise SettingsError(f"{source} is {text!r}: set it to a number of seconds, 0 or more")
        return value

    def _read_tf_config(self) -> dict[str, Any]:
        text = self._environ.get("TF_CONFIG", "")
        config = _json(text, "TF_CONFIG") if text else {}
        task = config.get("task", {}) if isinstance(config, dict) else None
        if not isinstance(task, dict):
            raise SettingsError(
                'TF_CONFIG must be a JSON object such as {"cluster": {"worker": ["host:port"]}, '
                '"task": {"type": "worker", "index": 0}}'
            )
        return config

    def _from_tf_config(self, key: str) -> str:
        return str(self._tf_config.get("task", {}).get(key, ""))

    def _cluster(self) -> ClusterSpec:
        text, source = self._get("cluster_spec")
        if text:
            if text.startswith("@"):
                text = _file(text[1:], source)
            jobs = _json(text, source)
        elif "cluster" in self._tf_config:
            jobs, source = self._tf_config["cluster"], "TF_CONFIG's cluster"
        else:
            raise SettingsError(
                "the cluster is not known: set TENSORFLEET_CLUSTER_SPEC (or --cluster-spec) to JSON such as "
                '{"ps": ["host:port"], "worker": ["host:port", "host:port"]}, or to @FILE, or set TF_CONFIG'
            )
        return _cluster_spec(jobs, source)

    def _job_name(self, cluster: ClusterSpec) -> str:
        text, source = self._get("job_name")
        if not text:
            text, source = self._from_tf_config("type"), "TF_CONFIG's task type"
        if not text:
            raise SettingsError(
                "the task's job is not known: set TENSORFLEET_JOB_NAME (or --job-name) to one of these: "
                + ", ".join(cluster.jobs)
            )
        if text not in cluster.jobs:
            raise SettingsError(
                f"{source} is {text!r}, and the ClusterSpec has no such job, only {', '.join(cluster.jobs)}: "
                f"correct one of them.{did_you_mean(text, cluster.jobs)}"
            )
        return text

    def _task_index(self, cluster: ClusterSpec, job: str) -> int:
        text, source = self._get("task_index")
        if not text:
            text, source = self._from_tf_config("index"), "TF_CONFIG's task index"
        if not text:
            ordinal = re.search(r"-(\d+)$", self._host_name.partition(".")[0])
            if ordinal is None:
                raise SettingsError(
                    "the task's index is not known: set TENSORFLEET_TASK_INDEX (or --task-index); the host "
                    f"name {self._host_name!r} does not end in a number, as that of a StatefulSet's pod does"
                )
            text, source = ordinal[1], f"the ordinal of the host name {self._host_name!r}"
        if not text.isdecimal():
            raise SettingsError(f"{source} is {text!r}: set it to a number, 0 or more")
        indices = cluster.task_indices(job)
        if int(text) not in indices:
            raise SettingsError(
                f"{source} is {text}, and the ClusterSpec has no such task in job {job!r}, only "
                f"{', '.join(map(str, indices))}: correct one of them"
            )
        return int(text)


def _flag(key: str) -> str:
    return "--" + key.replace("_", "-")


def _file(path: str, source: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{source} names the file {path!r}, which cannot be read: {error}") from error


def _json(text: str, source: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise SettingsError(f"{source} is JSON that is nested too deeply") from None
    except ValueError as error:  # includes numbers with too many digits
        raise SettingsError(f"{source} is not JSON: {error}; it begins with {text[:40]!r}") from error


def _cluster_spec(jobs: Any, source: str) -> ClusterSpec:
    """A cluster from parsed JSON, whose addresses are of the form `host:port` and all different."""
    try:
        cluster = ClusterSpec(jobs)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"{source} is not a valid cluster: {error}") from error
    seen: dict[str, str] = {}
    for job in cluster.jobs:
        for index in cluster.task_indices(job):
            task, address = f"/job:{job}/task:{index}", cluster.task_address(job, index)
            host, _, port = address.rpartition(":")
            if not host or not (port.isdecimal() and int(port) < 65536) or index < 0:
                raise SettingsError(f"{source} gives {task} the address {address!r}: expected host:port")
            if address in seen and int(port):
                raise SettingsError(f"{source} gives {seen[address]} and {task} the same address, {address}")
            seen[address] = task
    if not seen:
        raise SettingsError(f"{source} has no tasks")
    return cluster
