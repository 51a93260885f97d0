"""`tensorflow.python.debug`: sessions that look for tensors with certain values while they run.

There is no command line as tfdbg has it. A wrapped session applies the filters that were added to it to what
each run computes, and logs the tensors that pass one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np

from tensorfleet.core import logging
from tensorfleet.graph.graph import Graph
from tensorfleet.graph.tensor import Tensor
from tensorfleet.session.fetches import Fetches
from tensorfleet.train.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

Filter = Callable[[Any, Any], bool]


class DebugTensorDatum(NamedTuple):
    """What a filter is told of a tensor."""

    node_name: str
    output_slot: int
    debug_op: str = "DebugIdentity"

    @property
    def tensor_name(self) -> str:
        """The tensor's name."""
        return f"{self.node_name}:{self.output_slot}"


def has_inf_or_nan(datum: Any, tensor: Any) -> bool:
    """Whether a value has an infinity or a NaN: a filter."""
    array = np.asarray(tensor)
    if not (np.issubdtype(array.dtype, np.floating) or np.issubdtype(array.dtype, np.complexfloating)):
        return False
    return not bool(np.isfinite(array).all())


def _watched(graph: Graph, fetches: Any, feeds: Any) -> list[Tensor]:
    """The floating-point tensors that a run computes, outside of loops and branches, and not fed."""
    waiting = [
        element.op if isinstance(element, Tensor) else element for element in Fetches(graph, fetches).elements
    ]
    fed = {graph.as_graph_element(key) for key in feeds or () if not isinstance(key, tuple)}
    seen = set(waiting)
    tensors: list[Tensor] = []
    while waiting:
        op = waiting.pop()
        if op._control_flow_context is None:
            tensors += [
                tensor
                for tensor in op.outputs
                if tensor not in fed
                and not tensor.dtype.is_ref
                and (tensor.dtype.is_floating or tensor.dtype.is_complex)
                and op.type not in ("Placeholder", "Switch", "RefSwitch", "Merge")
            ]
        for before in (*(tensor.op for tensor in op.inputs), *op.control_inputs):
            if before not in seen:
                seen.add(before)
                waiting.append(before)
    return tensors


class _Inspector:
    """The filters, and what they are applied to."""

    def __init__(self) -> None:
        self._filters: dict[str, Filter] = {}

    def add_tensor_filter(self, filter_name: str, tensor_filter: Filter) -> None:
        """Adds a filter: a function of a DebugTensorDatum and an array that says whether to report it."""
        self._filters[filter_name] = tensor_filter

    def watched(self, graph: Graph, fetches: Any, feeds: Any) -> list[Tensor]:
        return _watched(graph, fetches, feeds) if self._filters else []

    def report(self, tensors: list[Tensor], values: list[Any]) -> None:
        """Logs the tensors that pass a filter, in the order of their names."""
        for name, passes in self._filters.items():
            passed = sorted(
                tensor.name
                for tensor, value in zip(tensors, values, strict=True)
                if passes(DebugTensorDatum(tensor.op.name, tensor.value_index), value)
            )
            if passed:
                more = f" and {len(passed) - 10} more" if len(passed) > 10 else ""
                logging.warning("tensors that pass %s: %s%s", name, ", ".join(passed[:10]), more)


class LocalCLIDebugWrapperSession:
    """A session whose runs are looked into by the filters that are added (`tf_debug`).

    Args:
        sess: the session, to which all else goes.
        dump_root, log_usage, ui_type, thread_name_filter, config_file_path: without effect, as nothing is
            dumped, and there is no command line.
    """

    def __init__(
        self,
        sess: Any,
        dump_root: Any = None,
        log_usage: bool = True,
        ui_type: str = "curses",
        thread_name_filter: Any = None,
        config_file_path: Any = None,
    ) -> None:
        self._sess = sess
        self._inspector = _Inspector()
        self.add_tensor_filter = self._inspector.add_tensor_filter

    def run(
        self,
        fetches: Any,
        feed_dict: Any = None,
        options: Any = None,
        run_metadata: Any = None,
        **_: Any,
    ) -> Any:
        """Runs a step (`tf.Session.run`), and logs the tensors that pass a filter."""
        tensors = self._inspector.watched(self._sess.graph, fetches, feed_dict)
        result, values = self._sess.run((fetches, tensors), feed_dict, options, run_metadata)
        self._inspector.report(tensors, values)
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sess, name)

    def __enter__(self) -> LocalCLIDebugWrapperSession:
        self._sess.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._sess.__exit__(*error)


class LocalCLIDebugHook(SessionRunHook):
    """The hook that looks into the steps of a monitored session by the filters that are added."""

    def __init__(
        self, ui_type: str = "curses", dump_root: Any = None, thread_name_filter: Any = None
    ) -> None:
        self._inspector = _Inspector()
        self.add_tensor_filter = self._inspector.add_tensor_filter

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        asked = run_context.original_args
        graph = run_context.session.graph
        self._tensors = self._inspector.watched(graph, asked.fetches, asked.feed_dict)
        return SessionRunArgs(self._tensors)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._inspector.report(self._tensors, run_values.results)


def _missing(name: str, instead: str) -> Any:
    def make(*_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(f"TensorFleet has no {name}: {instead}")

    make.__name__ = name
    return make


_WRAPPER = "tf_debug.LocalCLIDebugWrapperSession logs the tensors that pass a filter; docs/observability.md"
DumpingDebugWrapperSession = _missing("DumpingDebugWrapperSession", _WRAPPER)
DumpingDebugHook = _missing("DumpingDebugHook", _WRAPPER)
TensorBoardDebugWrapperSession = _missing("TensorBoardDebugWrapperSession", _WRAPPER)
TensorBoardDebugHook = _missing("TensorBoardDebugHook", _WRAPPER)
DebugDumpDir = _missing("DebugDumpDir", _WRAPPER)
watch_graph = _missing("watch_graph", _WRAPPER)
