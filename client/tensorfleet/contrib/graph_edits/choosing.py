"""`tf.contrib.graph_editor`: lists of operations and tensors, chosen by walks and by names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tensorfleet.graph.graph import Graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.identity import placeholder


def get_unique_graph(tops: Any, check_types: Any = None, none_if_empty: bool = False) -> Graph | None:
    """The graph of operations and tensors.

    Raises:
        ValueError: they are of several graphs, or there are none.
        TypeError: something is neither.
    """
    if isinstance(tops, Graph):
        return tops
    found = {id(top.graph): top.graph for top in flat(tops)}
    if not found and none_if_empty:
        return None
    if len(found) != 1:
        raise ValueError("Operations and tensors of one graph are expected.")
    return next(iter(found.values()))


def flat(given: Any) -> list[Any]:
    """Operations and tensors in a list; of a graph or a view its operations."""
    if isinstance(given, Graph):
        return given.get_operations()
    if hasattr(given, "ops") and hasattr(given, "outputs") and not isinstance(given, Operation):
        return list(given.ops)
    if isinstance(given, (Operation, Tensor)) or hasattr(given, "_as_graph_element"):
        return [given]
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise TypeError(f"An operation or tensor, or a list of them, is expected, not {given!r}.")
    return [one for part in given for one in flat(part)]


def make_list_of_op(
    ops: Any, check_graph: bool = True, allow_graph: bool = True, ignore_ts: bool = False
) -> Any:
    """A list of operations from one, several, or a graph.

    Args:
        ignore_ts: whether tensors are left out; else they raise TypeError.
    """
    if isinstance(ops, Graph) and not allow_graph:
        raise TypeError("A tf.Graph cannot be converted to a list of operations here.")
    listed = flat(ops)
    if ignore_ts:
        listed = [op for op in listed if isinstance(op, Operation)]
    if wrong := [op for op in listed if not isinstance(op, Operation)]:
        raise TypeError(f"An operation is expected, not {wrong[0]!r}.")
    if check_graph and listed:
        get_unique_graph(listed)
    return listed


def make_list_of_t(
    ts: Any, check_graph: bool = True, allow_graph: bool = True, ignore_ops: bool = False
) -> Any:
    """A list of tensors from one, several, or a graph.

    Args:
        ignore_ops: whether operations are left out; else they raise TypeError.
    """
    if isinstance(ts, Graph):
        if not allow_graph:
            raise TypeError("A tf.Graph cannot be converted to a list of tensors here.")
        return get_tensors(ts)
    listed = [t._as_graph_element() if hasattr(t, "_as_graph_element") else t for t in flat(ts)]
    if ignore_ops:
        listed = [t for t in listed if isinstance(t, Tensor)]
    if wrong := [t for t in listed if not isinstance(t, Tensor)]:
        raise TypeError(f"A tensor is expected, not {wrong[0]!r}.")
    if check_graph and listed:
        get_unique_graph(listed)
    return listed


def get_tensors(graph: Graph) -> list[Tensor]:
    """All tensors of a graph."""
    return [tensor for op in graph.get_operations() for tensor in op.outputs]


def get_generating_ops(ts: Any) -> list[Operation]:
    """The operations that make these tensors."""
    return [tensor.op for tensor in make_list_of_t(ts, allow_graph=False)]


def get_consuming_ops(ts: Any) -> list[Operation]:
    """The operations that take these tensors."""
    tensors = make_list_of_t(ts, allow_graph=False)
    return list(dict.fromkeys(op for tensor in tensors for op in tensor.consumers()))


def can_be_regex(obj: Any) -> bool:
    """Whether an object is a string or a compiled regular expression."""
    return isinstance(obj, (str, re.Pattern))


def make_regex(obj: Any) -> re.Pattern[str]:
    """A compiled regular expression. Raises ValueError for other objects."""
    if not can_be_regex(obj):
        raise ValueError(f"Expected a string or a regex, got: {type(obj)}")
    return re.compile(obj)


def filter_ops(ops: Any, positive_filter: Any) -> list[Operation]:
    """The operations for which a function is true; all if it is True, none if it is False."""
    listed = make_list_of_op(ops)
    if positive_filter is True:
        return list(listed)
    return [op for op in listed if positive_filter and positive_filter(op)]


def filter_ts(ops: Any, positive_filter: Any) -> list[Tensor]:
    """The inputs and outputs of operations for which a function is true; all if it is True."""
    ops = make_list_of_op(ops)
    found = dict.fromkeys(t for op in ops for t in (*op.inputs, *op.outputs))
    if positive_filter is True:
        return list(found)
    return [t for t in found if positive_filter and positive_filter(t)]


def filter_ops_from_regex(ops: Any, regex: Any) -> list[Operation]:
    """The operations whose names have a match."""
    pattern = make_regex(regex)
    return filter_ops(ops, lambda op: pattern.search(op.name))


def filter_ts_from_regex(ops: Any, regex: Any) -> list[Tensor]:
    """The inputs and outputs of operations, whose names have a match."""
    pattern = make_regex(regex)
    return filter_ts(ops, lambda t: pattern.search(t.name))


def get_name_scope_ops(ops: Any, scope: str) -> list[Operation]:
    """The operations in a name scope."""
    scope = scope.rstrip("/")
    return [op for op in make_list_of_op(ops) if op.name == scope or op.name.startswith(f"{scope}/")]


def _seeds(given: Any, forward: bool) -> list[Operation]:
    listed = flat(given)
    if listed and isinstance(listed[0], Operation):
        return make_list_of_op(listed)  # type: ignore[no-any-return]
    return get_consuming_ops(listed) if forward else get_generating_ops(listed)


def _walk(
    seeds: list[Operation], following: Callable[[Operation], Any], within: Any, inclusive: bool
) -> list[Operation]:
    allowed = None if within is None else set(make_list_of_op(within, allow_graph=False))
    found: dict[Operation, None] = {}
    waiting = [op for op in seeds if allowed is None or op in allowed]
    begun = set(waiting)
    while waiting:
        wave = dict.fromkeys(waiting)
        found.update(wave)
        waiting = list(
            dict.fromkeys(
                new
                for op in wave
                for new in following(op)
                if new not in found and (allowed is None or new in allowed)
            )
        )
    return [op for op in found if inclusive or op not in begun]


def get_forward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    stop_at_ts: Any = (),
    control_outputs: Any = None,
) -> list[Operation]:
    """All operations that depend on operations or tensors.

    Args:
        inclusive: whether the first ones are among them.
        within_ops: the operations to stay with; None for all. `within_ops_fn` is a condition on them.
        stop_at_ts: tensors that the walk does not follow.
        control_outputs: true to follow control dependencies too.
    """
    stop = set(make_list_of_t(stop_at_ts))

    def following(op: Operation) -> Iterator[Operation]:
        for tensor in op.outputs:
            if tensor not in stop:
                yield from filter(within_ops_fn, tensor.consumers()) if within_ops_fn else tensor.consumers()
        if control_outputs:
            yield from op.control_outputs

    return _walk(_seeds(seed_ops, forward=True), following, within_ops, inclusive)


def get_backward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    stop_at_ts: Any = (),
    control_inputs: bool = False,
) -> list[Operation]:
    """All operations on which operations or tensors depend; arguments as of `get_forward_walk_ops`."""
    stop = set(make_list_of_t(stop_at_ts))

    def following(op: Operation) -> Iterator[Operation]:
        for tensor in op.inputs:
            if tensor not in stop and (within_ops_fn is None or within_ops_fn(tensor.op)):
                yield tensor.op
        if control_inputs:
            yield from op.control_inputs

    return _walk(_seeds(seed_ops, forward=False), following, within_ops, inclusive)


def get_walks_intersection_ops(
    forward_seed_ops: Any,
    backward_seed_ops: Any,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Any = None,
) -> list[Operation]:
    """The operations on the ways from some operations or tensors to others."""
    forward = set(get_forward_walk_ops(forward_seed_ops, forward_inclusive, within_ops))
    backward = get_backward_walk_ops(backward_seed_ops, backward_inclusive, within_ops)
    return [op for op in backward if op in forward]


def get_walks_union_ops(
    forward_seed_ops: Any,
    backward_seed_ops: Any,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Any = None,
) -> list[Operation]:
    """The operations after some operations or tensors, and those before others."""
    forward = get_forward_walk_ops(forward_seed_ops, forward_inclusive, within_ops)
    backward = get_backward_walk_ops(backward_seed_ops, backward_inclusive, within_ops)
    return list(dict.fromkeys([*forward, *backward]))


def get_within_boundary_ops(
    ops: Any, seed_ops: Any, boundary_ops: Any = (), inclusive: bool = True
) -> list[Operation]:
    """The operations around others, up to a boundary."""
    allowed, border = set(make_list_of_op(ops)), set(make_list_of_op(boundary_ops))

    def following(op: Operation) -> Iterator[Operation]:
        if op not in border:
            yield from (tensor.op for tensor in op.inputs)
            yield from (taker for tensor in op.outputs for taker in tensor.consumers())

    found = _walk(_seeds(seed_ops, forward=True), following, allowed, True)
    return [op for op in found if inclusive or op not in border]


def get_ops_ios(ops: Any, control_inputs: bool = False, control_outputs: Any = None) -> list[Operation]:
    """The operations before and after others."""
    found: list[Operation] = []
    for op in make_list_of_op(ops):
        found += [tensor.op for tensor in op.inputs]
        found += [taker for tensor in op.outputs for taker in tensor.consumers()]
        found += op.control_inputs if control_inputs else []
        found += op.control_outputs if control_outputs else []
    return list(dict.fromkeys(found))


def compute_boundary_ts(ops: Any) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """The tensors that come into a set of operations, that go out of it, and that do not leave it."""
    listed = make_list_of_op(ops)
    own = set(listed)
    inputs = dict.fromkeys(t for op in listed for t in op.inputs if t.op not in own)
    made = [t for op in listed for t in op.outputs]
    outputs = [t for t in made if not t.consumers() or any(op not in own for op in t.consumers())]
    inner = [t for t in made if any(op in own for op in t.consumers())]
    return list(inputs), outputs, [t for t in inner if t not in set(outputs)]


def select_ops(*args: Any, **kwargs: Any) -> list[Operation]:
    """Operations: those given, and those of the argument `graph` whose names match regular expressions.

    Args:
        positive_filter: a condition on operations.
        restrict_ops_regex: the beginning of regular expressions for operations, `(?#ops)` by default; others
            may be for tensors.
    """
    return _selected(args, kwargs, "ops", lambda graph: graph.get_operations(), make_list_of_op)


def select_ts(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Tensors: those given, and those of the argument `graph` whose names match regular expressions; as
    `select_ops`."""
    return _selected(args, kwargs, "ts", get_tensors, make_list_of_t)


def select_ops_and_ts(*args: Any, **kwargs: Any) -> tuple[list[Operation], list[Tensor]]:
    """Operations and tensors: expressions for tensors begin with `(?#ts)`."""
    own = [a for a in args if can_be_regex(a) and make_regex(a).pattern.startswith("(?#ts)")]
    listed = [one for a in args if not can_be_regex(a) for one in flat(a)]
    ops = [a for a in args if can_be_regex(a) and a not in own]
    return (
        select_ops(*ops, *(one for one in listed if isinstance(one, Operation)), **kwargs),
        select_ts(*own, *(one for one in listed if isinstance(one, Tensor)), **kwargs),
    )


def _selected(args: Any, options: dict[str, Any], what: str, members: Any, as_list: Any) -> list[Any]:
    graph, condition = options.get("graph"), options.get("positive_filter")
    found: dict[Any, None] = {}
    for arg in args:
        if can_be_regex(arg):
            if graph is None:
                raise ValueError("Use the keyword argument 'graph' to use regex.")
            pattern = make_regex(arg)
            found.update((one, None) for one in members(graph) if pattern.search(one.name))
        else:
            found.update(dict.fromkeys(as_list(arg)))
    return [one for one in found if condition is None or condition(one)]


def placeholder_name(t: Tensor | None = None, scope: str | None = None, prefix: str = "geph") -> str:
    """The name of a placeholder in the place of a tensor."""
    base = "" if scope is None else f"{scope.rstrip('/')}/"
    if t is None:
        return f"{base}{prefix}"
    return f"{base}{prefix}__{t.op.name.split('/')[-1]}_{t.value_index}"


def make_placeholder_from_tensor(t: Tensor, scope: str | None = None, prefix: str = "geph") -> Tensor:
    """A placeholder of a tensor's dtype and shape."""
    return placeholder(t.dtype.base, shape=t.shape, name=placeholder_name(t, scope, prefix))


def make_placeholder_from_dtype_and_shape(
    dtype: Any, shape: Any = None, scope: str | None = None, prefix: str = "geph"
) -> Tensor:
    """A placeholder of a dtype and shape."""
    return placeholder(dtype, shape=shape, name=placeholder_name(None, scope, prefix))
