"""The run of a Job: its creation, its pod, its log, its exit code and its removal."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from tensorfleet.core import errors
from tensorfleet.kube.api import CALL_SECONDS, Cluster
from tensorfleet.kube.bundle import Bundle
from tensorfleet.kube.job import CONTAINER, PROGRAM_LABEL, RELEASE_LABEL

POLL_SECONDS = 0.5
END_SECONDS = 60.0  # from the end of the log to the pod's exit code
LOG_SILENCE_SECONDS = 3600.0  # time without output after which the log is requested again

# The kubelet's reasons for a container that will never start.
_HOPELESS = frozenset(
    (
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "InvalidImageName",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
    )
)

Say = Callable[[str], None]


class JobRun:
    """A Job with one pod, which `create` makes and `remove` removes."""

    def __init__(self, cluster: Cluster, manifest: Mapping[str, Any], say: Say) -> None:
        self.name: str = manifest["metadata"]["name"]
        self._namespace: str = manifest["metadata"]["namespace"]
        self._manifest = manifest
        self._cluster = cluster
        self._core, self._batch = cluster.core(), cluster.batch()
        self._say = say
        self._pause = threading.Event()

    def others(self) -> list[str]:
        """The names of Jobs that currently run the same program on the release, if the user may list them."""
        labels = self._manifest["metadata"]["labels"]
        selector = ",".join(f"{key}={labels[key]}" for key in (RELEASE_LABEL, PROGRAM_LABEL))
        try:
            with self._cluster.errors_of("list Jobs"):
                jobs = self._batch.list_namespaced_job(
                    self._namespace, label_selector=selector, _request_timeout=CALL_SECONDS
                ).items
        except errors.PermissionDeniedError:
            return []
        return sorted(job.metadata.name for job in jobs if job.status.active)

    def create(self, bundle: Bundle) -> None:
        """Makes the Job and its ConfigMaps. Raises OpError, after the removal of created objects."""
        with self._cluster.errors_of(f"create the Job {self.name}"):
            job = self._batch.create_namespaced_job(
                self._namespace, self._manifest, _request_timeout=CALL_SECONDS
            )
        try:
            with self._cluster.errors_of(f"create the ConfigMap {self.name}"):
                for manifest in bundle.manifests(job):
                    self._core.create_namespaced_config_map(
                        self._namespace, manifest, _request_timeout=CALL_SECONDS
                    )
            with self._cluster.errors_of(f"start the Job {self.name}"):
                self._batch.patch_namespaced_job(
                    self.name, self._namespace, {"spec": {"suspend": False}}, _request_timeout=CALL_SECONDS
                )
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Removes the Job with its pod and its ConfigMaps. Raises OpError, but not for a missing Job."""
        try:
            with self._cluster.errors_of(f"delete the Job {self.name}"):
                self._batch.delete_namespaced_job(
                    self.name,
                    self._namespace,
                    propagation_policy="Background",
                    _request_timeout=CALL_SECONDS,
                )
        except errors.NotFoundError:
            pass  # already deleted, by a user or after its time to live

    def wait_started(self, seconds: float) -> Any:
        """The pod (V1Pod), once its container has started.

        Raises:
            FailedPreconditionError: it can never start: no such image, no such key of a Secret.
            ResourceExhaustedError: it was not scheduled to a node within `seconds`.
            DeadlineExceededError: it has not started for another reason.
            AbortedError: the Job was deleted, or failed before its pod started.
        """
        end = time.monotonic() + seconds
        last = ""
        while True:
            pod = self._pod()
            waiting = _waiting(pod)
            if pod is not None and waiting is None:
                return pod
            reason, text = waiting or ("", self._job_problem())
            if reason in _HOPELESS:
                raise errors.FailedPreconditionError(
                    None, None, f"the pod of Job {self.name} cannot start: {reason}: {text}"
                )
            if time.monotonic() > end:
                kind = (
                    errors.ResourceExhaustedError
                    if reason == "Unschedulable"
                    else errors.DeadlineExceededError
                )
                raise kind(
                    None,
                    None,
                    f"the pod of Job {self.name} has not started within {seconds:g} s: {reason or 'no pod'}: "
                    f"{text or 'no reason is given'}",
                )
            if reason == "Unschedulable" and text != last:
                self._say(f"waiting for a node: {text}")
                last = text
            self._pause.wait(POLL_SECONDS)

    def _pod(self) -> Any | None:
        with self._cluster.errors_of(f"list the pods of Job {self.name}"):
            pods = self._core.list_namespaced_pod(
                self._namespace, label_selector=f"job-name={self.name}", _request_timeout=CALL_SECONDS
            ).items
        return pods[0] if pods else None

    def _job_problem(self) -> str:
        """The reason why there is no pod: the last warning about the Job, if the user may list events.

        Raises:
            AbortedError: the Job was deleted, or has failed.
        """
        try:
            with self._cluster.errors_of(f"read the Job {self.name}"):
                job = self._batch.read_namespaced_job(
                    self.name, self._namespace, _request_timeout=CALL_SECONDS
                )
        except errors.NotFoundError:
            raise errors.AbortedError(None, None, f"the Job {self.name} was deleted") from None
        for condition in job.status.conditions or ():
            if condition.type in ("FailureTarget", "Failed") and condition.status == "True":
                raise errors.AbortedError(
                    None, None, f"the Job {self.name} failed: {condition.reason}: {condition.message}"
                )
        try:
            with self._cluster.errors_of("list events"):
                events = self._core.list_namespaced_event(
                    self._namespace,
                    field_selector=f"involvedObject.name={self.name},type=Warning",
                    _request_timeout=CALL_SECONDS,
                ).items
        except errors.PermissionDeniedError:
            return f"kubectl describe job {self.name} -n {self._namespace} may tell"
        return str(events[-1].message) if events else ""

    def follow(self, write: Callable[[bytes], object]) -> int:
        """Passes the script's output to `write` until it ends; returns its exit code.

        Raises:
            AbortedError: the pod was deleted, evicted or stopped from outside.
            OpError: the API server refuses, or cannot be reached.
        """
        pod = self._pod()
        if pod is None:
            raise errors.AbortedError(None, None, f"the pod of Job {self.name} is gone")
        last = ""
        while True:
            last = self._pass_on(pod.metadata.name, last, write)
            code = self._exit_code()
            if code is not None:
                # Lines that were written after the last read of the log.
                self._pass_on(pod.metadata.name, last, write)
                return code

    def _pass_on(self, pod: str, last: str, write: Callable[[bytes], object]) -> str:
        """Follows the log after the line with the time `last`; returns the time of the new last line."""
        known = last
        with self._cluster.errors_of(f"read the log of pod {pod}"):
            response = self._core.read_namespaced_pod_log(
                pod,
                self._namespace,
                container=CONTAINER,
                follow=True,
                timestamps=True,
                since_seconds=_age(last),
                _preload_content=False,
                _request_timeout=(CALL_SECONDS, LOG_SILENCE_SECONDS),
            )
            try:
                for line in _lines(response):
                    stamp, _, text = line.partition(b" ")
                    if stamp.decode() > known:
                        write(text)
                        last = stamp.decode()
            except self._cluster.broken_stream():
                self._say("the log broke off; asking for the rest")
            finally:
                response.release_conn()
        return last

    def _exit_code(self) -> int | None:
        """The container's exit code; None if it still runs, so that only its log broke off."""
        end = time.monotonic() + END_SECONDS
        while True:
            pod = self._pod()
            if pod is None or pod.metadata.deletion_timestamp is not None:
                self._job_problem()  # raises the reason, which the Job has a moment later
            else:
                code = self._code_of(pod)
                if code is not None:
                    return code
            if time.monotonic() > end:
                if pod is None:
                    raise errors.AbortedError(None, None, f"the pod of Job {self.name} was deleted")
                return None
            self._pause.wait(POLL_SECONDS)

    def _code_of(self, pod: Any) -> int | None:
        """The exit code of a pod that is not being deleted; None while it runs."""
        for status in pod.status.container_statuses or ():
            ended = status.state.terminated
            if ended is not None:
                if ended.reason == "OOMKilled":
                    self._say("the script was killed: it took more memory than its limit (--memory)")
                return int(ended.exit_code)
        if pod.status.phase == "Failed":
            raise errors.AbortedError(
                None,
                None,
                f"the pod of Job {self.name} was stopped: {pod.status.reason}: {pod.status.message}",
            )
        return None


def _waiting(pod: Any | None) -> tuple[str, str] | None:
    """The reason why a pod's container has not started, and a text; None if it has, or there is no pod."""
    if pod is None:
        return None
    for status in pod.status.container_statuses or ():
        if status.state.running is not None or status.state.terminated is not None:
            return None
        if status.state.waiting is not None:
            return status.state.waiting.reason or "", status.state.waiting.message or ""
    for condition in pod.status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False":
            return condition.reason or "", condition.message or ""
    if pod.status.phase in ("Failed", "Succeeded"):
        return None
    return "Pending", ""


def _age(stamp: str) -> int | None:
    """The seconds since a line of the log, rounded up."""
    if not stamp:
        return None
    when = datetime.fromisoformat(stamp[:19]).replace(tzinfo=UTC)
    return max(math.ceil((datetime.now(UTC) - when).total_seconds()) + 1, 1)


def _lines(response: Any) -> Any:
    """The lines of a streamed answer as they arrive."""
    rest = b""
    for chunk in response.stream(amt=1 << 16, decode_content=False):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line + b"\n"
    if rest:
        yield rest
