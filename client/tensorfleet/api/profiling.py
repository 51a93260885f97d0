"""Costs of the nodes of a graph, by their names, op types or lines: `tf.profiler`."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tensorfleet.api.float_operations import float_operations
from tensorfleet.api.profile_options import ProfileOptionBuilder
from tensorfleet.core import errors
from tensorfleet.core.shapes import num_elements
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.ops.state.variable_collections import trainable_variables
from tensorfleet.proto.config_pb2 import RunMetadata
from tensorfleet.proto.tfprof_output_pb2 import AdviceProto, GraphNodeProto, MultiGraphNodeProto
from tensorfleet.session.timeline import Timeline

_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")
_ROOT = "_TFProfRoot"
# What is shown, by the names of options: (field of messages, unit).
_SHOWN = {
    "params": ("parameters", "params"),
    "float_ops": ("float_ops", "flops"),
    "micros": ("exec_micros", "us"),
    "accelerator_micros": ("accelerator_exec_micros", "us of accelerators"),
    "cpu_micros": ("cpu_exec_micros", "us of CPUs"),
    "bytes": ("requested_bytes", "bytes"),
    "output_bytes": ("output_bytes", "bytes of outputs"),
}
_LIMITS = {
    "min_params": "parameters",
    "min_float_ops": "float_ops",
    "min_micros": "exec_micros",
    "min_bytes": "requested_bytes",
    "min_accelerator_micros": "accelerator_exec_micros",
    "min_cpu_micros": "cpu_exec_micros",
    "min_output_bytes": "output_bytes",
}
_FIELDS = tuple(dict.fromkeys(field for field, _ in _SHOWN.values()))


@dataclasses.dataclass
class _Cost:
    """What one node costs."""

    op: Operation
    types: set[str]
    runs: int = 0
    values: dict[str, int] = dataclasses.field(default_factory=lambda: dict.fromkeys(_FIELDS, 0))


class Profiler:
    """Profiles several steps of one graph (`tf.profiler.Profiler`).

    Args:
        graph: by default the default graph.
        op_log: not supported: counts of operations follow from the graph.

    Raises:
        ValueError: there is an `op_log`.
    """

    def __init__(self, graph: Graph | None = None, op_log: Any = None) -> None:
        _refuse_log(op_log)
        self._graph = graph or get_default_graph()
        self._steps: dict[int, RunMetadata] = {}

    def add_step(self, step: int, run_meta: RunMetadata) -> None:
        """Adds a step, with the RunMetadata of a run with a trace."""
        self._steps[step] = run_meta

    def profile_python(self, options: dict[str, Any]) -> MultiGraphNodeProto:
        """Costs by the lines that have made the nodes."""
        return self._profile("code", options)  # type: ignore[no-any-return]

    def profile_operations(self, options: dict[str, Any]) -> MultiGraphNodeProto:
        """Costs by op types."""
        return self._profile("op", options)  # type: ignore[no-any-return]

    def profile_name_scope(self, options: dict[str, Any]) -> GraphNodeProto:
        """Costs by name scopes."""
        return self._profile("scope", options)  # type: ignore[no-any-return]

    def profile_graph(self, options: dict[str, Any]) -> GraphNodeProto:
        """Costs of nodes, in the order in which they were made."""
        return self._profile("graph", options)  # type: ignore[no-any-return]

    def advise(self, options: dict[str, Any] | None = None) -> AdviceProto:
        """The most expensive op types of all steps."""
        return _advice(_costs(self._graph, self._steps.values()))

    def serialize_to_string(self) -> bytes:
        """The RunMetadata of all steps, merged."""
        merged = RunMetadata()
        for run_meta in self._steps.values():
            merged.MergeFrom(run_meta)
        return merged.SerializeToString()

    def _profile(self, cmd: str, options: dict[str, Any]) -> Any:
        step = options.get("step", -1)
        chosen = list(self._steps.values()) if step == -1 else [self._steps[step]]
        return _report(self._graph, chosen, cmd, options)


def profile(
    graph: Graph | None = None,
    run_meta: RunMetadata | None = None,
    op_log: Any = None,
    cmd: str = "scope",
    options: Any = 0,
) -> Any:
    """Costs of the nodes of a graph, as a report and as a message (`tf.profiler.profile`).

    Parameters and floating-point operations follow from the graph, times and bytes from a step that was run
    with a trace.

    Args:
        graph: by default the default graph.
        run_meta: of the step.
        op_log: not supported.
        cmd: "scope" by name scopes, "op" by op types, "code" by the lines that have made nodes, "graph" node
            by node.
        options: as from `tf.profiler.ProfileOptionBuilder`.

    Returns:
        A GraphNodeProto for "scope" and "graph", else a MultiGraphNodeProto.

    Raises:
        UnimplementedError: an output for pprof.
        ValueError: an unknown `cmd`, or there is an `op_log`.

    Example:
        >>> x = tf.zeros([2, 3]) @ tf.zeros([3, 4])
        >>> options = dict(tf.profiler.ProfileOptionBuilder.float_operation(), output="none")
        >>> tf.profiler.profile(cmd="op", options=options).total_float_ops
        48
    """
    _refuse_log(op_log)
    given = options or ProfileOptionBuilder().build()
    return _report(graph or get_default_graph(), [] if run_meta is None else [run_meta], cmd, given)


def advise(graph: Graph | None = None, run_meta: RunMetadata | None = None, options: Any = 0) -> AdviceProto:
    """The most expensive op types of a step (`tf.profiler.advise`); printed as well."""
    advice = _advice(_costs(graph or get_default_graph(), [] if run_meta is None else [run_meta]))
    for name, checker in sorted(advice.checkers.items()):
        print(f"{name}:", *checker.reports, sep="\n")
    return advice


def _refuse_log(op_log: Any) -> None:
    if op_log is not None:
        raise ValueError("There are no op_logs here: counts of operations follow from the graph.")


def _costs(graph: Graph, steps: Iterable[RunMetadata]) -> list[_Cost]:
    with graph.as_default():
        trainable = {v.op for v in trainable_variables()}
    found: dict[str, _Cost] = {}
    for op in graph.get_operations():
        types = {op.type, op.device} | ({"_trainable_variables"} if op in trainable else set())
        cost = found[op.name] = _Cost(op, types)
        cost.values["float_ops"] = float_operations(op)
        if op.type in _VARIABLES:
            cost.values["parameters"] = num_elements(op.attrs["shape"]) or 0
    count = 0
    for run_meta in steps:
        count += 1
        for device in run_meta.step_stats.dev_stats:
            kind = "accelerator_exec_micros" if "gpu" in device.device.lower() else "cpu_exec_micros"
            for stats in device.node_stats:
                if (known := found.get(stats.node_name)) is None:
                    continue
                micros = stats.op_end_rel_micros - stats.op_start_rel_micros or stats.all_end_rel_micros
                size = sum(
                    output.tensor_description.allocation_description.requested_bytes
                    for output in stats.output
                )
                known.runs += 1
                known.types.add(device.device)
                for field, value in (
                    ("exec_micros", micros),
                    (kind, micros),
                    ("requested_bytes", size),
                    ("output_bytes", size),
                ):
                    known.values[field] += value
    for cost in found.values() if count > 1 else ():
        for field in (
            "exec_micros",
            "accelerator_exec_micros",
            "cpu_exec_micros",
            "requested_bytes",
            "output_bytes",
        ):
            cost.values[field] //= count
    return list(found.values())


def _advice(costs: list[_Cost]) -> AdviceProto:
    advice = AdviceProto()
    totals: dict[str, int] = {}
    for cost in costs:
        totals[cost.op.type] = totals.get(cost.op.type, 0) + cost.values["exec_micros"]
    reports = advice.checkers["ExpensiveOperationChecker"].reports
    whole = sum(totals.values())
    for name, micros in sorted(totals.items(), key=lambda item: -item[1])[:3]:
        if micros:
            reports.append(
                f"top operation type: {name}, cpu and accelerators: {micros} us ({micros / whole:.1%})"
            )
    return advice


def _report(graph: Graph, steps: list[RunMetadata], cmd: str, options: dict[str, Any]) -> Any:
    kind, _, target = options.get("output", "stdout").partition(":outfile=")
    if kind == "pprof":
        raise errors.UnimplementedError(None, None, "There are no files for pprof here: ask for a timeline.")
    if cmd not in ("scope", "op", "code", "graph"):
        raise ValueError(f'cmd must be "scope", "op", "code" or "graph", not {cmd!r}.')
    accounted = [
        cost for cost in _costs(graph, steps) if _matches(options, "account_type_regexes", *cost.types)
    ]
    costs = [cost for cost in accounted if _is_shown(cost.op.name, options)]
    if cmd in ("op", "code"):
        result: Any = _grouped(costs, cmd, options)
    else:
        result = _tree(costs, options) if cmd == "scope" else _listed(costs, options)
    if kind == "timeline":
        for run_meta in steps[-1:]:
            Path(target).write_text(Timeline(run_meta.step_stats).generate_chrome_trace_format())
    elif kind != "none":
        lines = list(_lines(result, [name for name in options["select"] if name in _SHOWN], 0))
        text = "\n".join([f"Profile by {cmd}:", *lines, ""])
        if kind == "file":
            Path(target).write_text(text)
        else:
            print(text)
    return result


def _matches(options: dict[str, Any], key: str, *texts: str) -> bool:
    return any(re.fullmatch(pattern, text) for pattern in options.get(key, ()) for text in texts)


def _is_shown(name: str, options: dict[str, Any]) -> bool:
    return (
        _matches(options, "show_name_regexes", name)
        and _matches(options, "start_name_regexes", *_scopes(name))
        and not _matches(options, "hide_name_regexes", name)
        and not _matches(options, "trim_name_regexes", *_scopes(name)[:-1])
    )


def _scopes(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]


def _is_large(message: Any, options: dict[str, Any]) -> bool:
    return all(
        getattr(message, f"total_{field}") >= options.get(limit, 0) for limit, field in _LIMITS.items()
    )


def _node(cost: _Cost) -> GraphNodeProto:
    message = GraphNodeProto(name=cost.op.name, run_count=cost.runs, total_definition_count=1)
    message.total_run_count = cost.runs
    for field, value in cost.values.items():
        setattr(message, field, value)
        setattr(message, f"total_{field}", value)
    if cost.op.device:
        message.devices.append(cost.op.device)
    return message


def _add(total: Any, part: Any) -> None:
    for field in _FIELDS:
        name = f"total_{field}"
        setattr(total, name, getattr(total, name) + getattr(part, name))
    if isinstance(total, GraphNodeProto):
        total.total_definition_count += part.total_definition_count
        total.total_run_count += part.total_run_count


def _ordered(messages: Iterable[Any], options: dict[str, Any]) -> list[Any]:
    by = options.get("order_by", "name")
    if by not in _SHOWN:
        return sorted(messages, key=lambda message: message.name)
    return sorted(messages, key=lambda message: -getattr(message, f"total_{_SHOWN[by][0]}"))


def _listed(costs: list[_Cost], options: dict[str, Any]) -> GraphNodeProto:
    root = GraphNodeProto(name=_ROOT)
    for message in map(_node, costs):
        if _is_large(message, options):
            root.children.append(message)
            _add(root, message)
    return root


def _tree(costs: list[_Cost], options: dict[str, Any]) -> GraphNodeProto:
    """The nodes by their name scopes, which have what is in them as their totals."""
    inner: dict[str, dict[str, None]] = {"": {}}
    own = {cost.op.name: _node(cost) for cost in costs}
    for name in own:
        path = ""
        for scope in _scopes(name):
            inner[path][scope] = None
            inner.setdefault(scope, {})
            path = scope

    def made(name: str, depth: int) -> GraphNodeProto:
        message = GraphNodeProto(name=name or _ROOT)
        if name in own:
            message.CopyFrom(own[name])
        children = [made(child, depth + 1) for child in inner[name]]
        for child in children:
            _add(message, child)
        if depth < options.get("max_depth", 100):
            message.children.extend(_ordered((c for c in children if _is_large(c, options)), options))
        return message

    return made("", 0)


def _grouped(costs: list[_Cost], cmd: str, options: dict[str, Any]) -> MultiGraphNodeProto:
    groups: dict[str, MultiGraphNodeProto] = {}
    for cost in costs:
        key = cost.op.type if cmd == "op" else cost.op.definition or "unknown"
        group = groups.setdefault(key, MultiGraphNodeProto(name=key))
        node = _node(cost)
        _add(group, node)
        if any(cost.values.values()):
            group.graph_nodes.append(node)
    root = MultiGraphNodeProto(name=_ROOT)
    for group in _ordered(groups.values(), options):
        for field in _FIELDS:
            setattr(group, field, getattr(group, f"total_{field}"))
        if _is_large(group, options) and len(group.graph_nodes) >= options.get("min_occurrence", 0):
            _add(root, group)
            root.children.append(group)
    return root


def _lines(message: Any, select: list[str], depth: int) -> Iterator[str]:
    parts = [
        f"{getattr(message, f'total_{field}'):,} {unit}" for field, unit in (_SHOWN[name] for name in select)
    ]
    yield f"{'  ' * depth}{message.name} ({', '.join(parts)})"
    for child in message.children:
        yield from _lines(child, select, depth + 1)
