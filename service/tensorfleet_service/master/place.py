"""Stage 2: the device of every node, by the rules of TensorFlow's placer, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from tensorfleet.core.device import ParsedDevice, parse
from tensorfleet.core.errors import InvalidArgumentError
from tensorfleet.core.similar import did_you_mean
from tensorfleet_service.graph.graph import Node
from tensorfleet_service.master.colocate import Group, colocate, requested
from tensorfleet_service.master.partition import task_of

_METADATA_OPS = frozenset(("Shape", "Size", "Rank"))
_MAX_LISTED = 20
_THIS_PROCESS = "localhost"  # the job of a session without a target

HasKernel = Callable[[Node], bool]


def place(
    nodes: Sequence[Node],
    devices: Sequence[str],
    default_device: str,
    allow_soft_placement: bool = False,
    has_gpu_kernel: HasKernel | None = None,
) -> None:
    """Sets `assigned` and `why` of all nodes. Nodes with an assigned device keep it.

    A request names all or some parts of a device. Of several devices that match, those of the default
    device's task come first, then the others in the order of their names; within a task, the GPU with the
    lowest number if the op has a kernel for it, else the CPU. Nodes joined by references, resources or
    `_class` go together. Of the others, Shape, Size and Rank go with their input, and a node without inputs
    with its consumers, if these are all on one device. `_Arg` goes with its first consumer, `_Retval` with
    the fetched node.

    The result depends on all nodes that share state. So that a variable has the same device in all steps, it
    must be called first with the nodes of the whole graph, as in TensorFlow; `prune` keeps the devices.

    Args:
        nodes: in any order, with all their inputs.
        devices: full names, "/job:worker/replica:0/task:1/device:CPU:0".
        default_device: one of them, for ops without a request.
        allow_soft_placement: whether nodes that request a device of a type or number that does not exist, or
            have no kernel there, run on the CPU of the task.
        has_gpu_kernel: whether a node can run on a GPU. Without it, only nodes that request a GPU get one.

    Raises:
        InvalidArgumentError: a request is not a device name, or matches no device; or nodes that belong
            together
            request different devices.
    """
    placer = _Placer(_Cluster(devices, default_device), allow_soft_placement, has_gpu_kernel)
    groups = colocate(nodes, allow_soft_placement)
    metadata: list[Node] = []
    generators: list[Node] = []
    ends: list[Node] = []
    for node in nodes:
        if node.assigned:
            continue
        group = groups.get(node)
        if group is not None:
            placer.place_group(group)
        elif node.op in ("_Arg", "_Retval"):
            ends.append(node)
        elif not node.inputs and len(node.output_types) == 1:
            generators.append(node)
        elif node.op in _METADATA_OPS:
            metadata.append(node)
        else:
            placer.place_node(node)
    consumers = _consumers(nodes, generators)
    for node in generators:
        if not placer.follow(node, *consumers.get(node, ("", ""))):
            placer.place_node(node)
    for node in metadata:
        source = node.inputs[0][0]
        if not placer.follow(node, source.assigned, f"with its input {source.name}"):
            placer.place_node(node)
    _place_ends(nodes, ends)


def placement_report(nodes: Iterable[Node]) -> str:
    """A line for each node: `name: (Op): device, reason`, as `log_device_placement` prints."""
    return "".join(f"{node.name}: ({node.op}): {node.assigned}, {node.why}\n" for node in nodes)


def _consumers(nodes: Sequence[Node], generators: Sequence[Node]) -> dict[Node, tuple[str, str]]:
    """The device, and a reason, of each generator whose placed consumers are all on one device."""
    pending = set(generators)
    found: dict[Node, tuple[str, str]] = {}
    for node in nodes if pending else ():
        if not node.assigned:
            continue
        for source in _among(pending, node):
            device, reason = found.setdefault(source, (node.assigned, f"with its consumer {node.name}"))
            if device != node.assigned:
                found[source] = ("", reason)
    return found


def _among(pending: set[Node], node: Node) -> list[Node]:
    """The sources of a node that are among some nodes; nearly always none."""
    found = [source for source, _ in node.inputs if source in pending]
    return found + [control for control in node.controls if control in pending] if node.controls else found


def _place_ends(nodes: Sequence[Node], ends: Sequence[Node]) -> None:
    arguments = {node for node in ends if node.op == "_Arg"}
    for node in nodes:
        if not arguments:
            break
        for source in _among(arguments, node) if node.assigned else ():
            source.assigned, source.why = node.assigned, f"with its consumer {node.name}"
            arguments.discard(source)
    for node in ends:
        if node.op == "_Retval":
            source = node.inputs[0][0]
            node.assigned, node.why = source.assigned, f"with its input {source.name}"


class _Placer:
    def __init__(self, cluster: _Cluster, soft: bool, has_gpu_kernel: HasKernel | None) -> None:
        self._cluster = cluster
        self._soft = soft
        self._has_gpu_kernel = has_gpu_kernel
        self._placed: dict[str, tuple[str, str]] = {}
        """The device, and the reason, by request, of nodes that go alone."""

    def place_node(self, node: Node) -> None:
        known = self._placed.get(node.device)
        if known is None:
            spec = requested(node)
            device, softly = self._find(spec, [node], partial(self._explicit_error, node))
            known = device, softly or (f"requested {node.device}" if node.device else self._default([node]))
            if self._has_gpu_kernel is None:  # else the op has its say, too
                self._placed[node.device] = known
        node.assigned, node.why = known

    def place_group(self, group: Group) -> None:
        members = group.members
        spec = group.wanted
        assigned = next((node.assigned for node in members if node.assigned), "")
        softly = ""
        if not assigned:
            for node in members:
                if node.device and not self._soft and self._cluster.find(requested(node), False) is None:
                    raise self._explicit_error(node, "")
            assigned, softly = self._find(spec, members, partial(self._group_error, group))
        device = parse(assigned)
        default = self._default(members)
        for node in members:
            if node.assigned:
                continue
            node.assigned = assigned
            follows = group.reasons.get(node) or f"with {members[-1 if node is members[0] else 0].name}"
            if node.device:
                fits = requested(node).matches(device)
                node.why = f"requested {node.device}" if fits else softly or f"{follows}, not {node.device}"
            elif spec == ParsedDevice():
                node.why = default if node not in group.reasons else follows
            else:
                node.why = follows

    def follow(self, node: Node, device: str, reason: str) -> bool:
        """Places a node on the device of another one, if its own request and its kernels allow that."""
        if not device:
            return False
        parsed = parse(device)
        if not requested(node).matches(parsed) or (parsed.type == "GPU" and not self._runs_on_gpu([node])):
            return False
        node.assigned, node.why = device, reason
        return True

    def _runs_on_gpu(self, nodes: Sequence[Node]) -> bool:
        return self._has_gpu_kernel is None or all(map(self._has_gpu_kernel, nodes))

    def _default(self, nodes: Sequence[Node]) -> str:
        """The reason for the device of nodes without a request."""
        has_kernel = self._has_gpu_kernel
        if has_kernel is None or not self._cluster.has_gpu:
            return "default"
        without = next((node for node in nodes if not has_kernel(node)), None)
        if without is None:
            return "default"
        return f"default: no kernel for GPUs of {without.op}{'' if len(nodes) == 1 else f' ({without.name})'}"

    def _find(
        self, spec: ParsedDevice, nodes: Sequence[Node], error: Callable[[str], InvalidArgumentError]
    ) -> tuple[str, str]:
        """A device for nodes that go together, and the reason if it is not the requested one."""
        prefer_gpu = spec.type is None and self._has_gpu_kernel is not None and self._cluster.has_gpu
        found = self._cluster.find(spec, prefer_gpu and self._runs_on_gpu(nodes))
        problem = ""
        if found is not None and spec.type == "GPU" and not self._runs_on_gpu(nodes):
            problem = "no supported kernel for GPU devices is available"
        if found is not None and not problem:
            return found, ""
        if self._soft:
            task = ParsedDevice(spec.job, spec.replica, spec.task)
            found = self._cluster.find(task, False)
            if found is not None:
                name = f"{spec.type}:{'*' if spec.index is None else spec.index}"
                return found, f"soft placement: {problem or f'no {name} on {task_of(found)}'}"
        raise error(problem)

    def _explicit_error(self, node: Node, problem: str) -> InvalidArgumentError:
        head = f"Cannot assign a device for operation {node.name}: "
        if problem:
            text = f"Could not satisfy explicit device specification '{node.device}' because {problem}."
        else:
            text = (
                f"{{{{node {node.name}}}}} was explicitly assigned to {node.device} but available devices "
                f"are [ {self._cluster.listing} ]. Make sure the device specification refers to a valid "
                "device."
            )
            if requested(node).type == "GPU" and not self._cluster.has_gpu:
                text += " The requested device appears to be a GPU, but CUDA is not enabled."
            text += self._cluster.hint(requested(node))
        return InvalidArgumentError(None, None, f"{head}{text}\n\t [[{{{{node {node.name}}}}}]]")

    def _group_error(self, group: Group, problem: str) -> InvalidArgumentError:
        node = group.members[0]
        members = [f"{member.name} ({member.op}) {member.device}".rstrip() for member in group.members]
        message = (
            f"Cannot assign a device for operation {node.name}: Could not satisfy explicit device "
            f"specification '{node.device}' because the node {{{{colocation_node {node.name}}}}} was "
            f"colocated with a group of nodes that required incompatible device '{group.wanted}'"
            f"{problem and f': {problem}'}. All available devices [{self._cluster.listing}]."
            f"{self._cluster.hint(group.wanted)} \n"
            f"Colocation members and their requested devices:\n  {_cut(members, f'{chr(10)}  ')}"
            f"\n\t [[{{{{node {node.name}}}}}]]"
        )
        return InvalidArgumentError(None, None, message)


def _cut(items: Sequence[str], separator: str) -> str:
    """The items as one text; the end of a long list is left out."""
    text = separator.join(items[:_MAX_LISTED])
    more = len(items) - _MAX_LISTED
    return text if more <= 0 else f"{text}{separator}… and {more} more"


class _Cluster:
    """The available devices, to be found by their parts."""

    def __init__(self, devices: Sequence[str], default_device: str) -> None:
        self.listing = _cut(sorted(devices, key=_sort_key), ", ")
        default_task = task_of(default_device)
        names = sorted(devices, key=lambda name: (task_of(name) != default_task, _sort_key(name)))
        self._tasks: dict[str, list[tuple[ParsedDevice, str]]] = {}
        self._by_job: dict[str | None, list[str]] = {None: []}
        self._by_task: dict[tuple[str | None, int | None], list[str]] = {}
        for name in names:
            device, task = parse(name), task_of(name)
            if task not in self._tasks:
                self._tasks[task] = []
                self._by_job[None].append(task)
                self._by_job.setdefault(device.job, []).append(task)
                self._by_task.setdefault((device.job, device.task), []).append(task)
            self._tasks[task].append((device, name))
        self.has_gpu = any(device.type == "GPU" for task in self._tasks.values() for device, _ in task)
        self._found: dict[tuple[ParsedDevice, bool], str | None] = {}

    def find(self, spec: ParsedDevice, prefer_gpu: bool) -> str | None:
        """The first device that matches, in the order that `place` describes."""
        key = (spec, prefer_gpu)
        if key not in self._found:
            self._found[key] = self._search(spec, prefer_gpu)
        return self._found[key]

    def hint(self, spec: ParsedDevice) -> str:
        """A sentence about a job or a task that does not exist; empty if both do."""
        jobs = sorted(job for job in self._by_job if job is not None)
        if jobs == [_THIS_PROCESS] and spec.job not in (None, _THIS_PROCESS):
            return (
                " This session computes in this process, without a cluster: give it the address of a task, "
                'as in tf.Session("grpc://host:port").'
            )
        if spec.job is not None and spec.job not in jobs:
            question = did_you_mean(spec.job, jobs, "/job:")
            return f" There is no job {spec.job}, only {', '.join(jobs)}.{question}"
        if spec.task is None or any(
            (job, spec.task) in self._by_task for job in jobs if spec.job in (None, job)
        ):
            return ""
        tasks = sorted({task for job, task in self._by_task if task is not None and spec.job in (None, job)})
        where = f"Job {spec.job}" if spec.job else "The cluster"
        return f" {where} has no task {spec.task}, only {_ranges(tasks)}."

    def _search(self, spec: ParsedDevice, prefer_gpu: bool) -> str | None:
        if spec.job is not None and spec.task is not None:
            tasks = self._by_task.get((spec.job, spec.task), [])
        else:
            tasks = self._by_job.get(spec.job, [])
        wanted = "GPU" if prefer_gpu else "CPU"
        for task in tasks:
            fitting = [(device, name) for device, name in self._tasks[task] if spec.matches(device)]
            for device, name in fitting:
                if device.type == wanted:
                    return name
            if fitting:
                return fitting[0][1]
        return None


def _ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers, with consecutive ones as a range: "0 to 3, 7"."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return _cut([str(p[0]) if len(p) == 1 else f"{p[0]} to {p[-1]}" for p in parts], ", ")


def _sort_key(name: str) -> tuple[str, int, int, str, int]:
    device = parse(name)
    return device.job or "", device.replica or 0, device.task or 0, device.type or "", device.index or 0
