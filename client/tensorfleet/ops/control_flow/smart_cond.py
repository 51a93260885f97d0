"""A conditional that is decided while the graph is built, if its predicate is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.graph.static_value import static_value
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.control_flow.control_flow import case, cond


def known_predicate(pred: Any) -> bool | None:
    """The predicate's value, None if it is only known in a run."""
    if not isinstance(pred, Tensor):
        value = getattr(pred, "_as_graph_element", None)
        if value is None:
            return bool(pred)
        pred = value()
    known = static_value(pred)
    return None if known is None else bool(known)


def smart_cond(
    pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str | None = None
) -> Any:
    """The result of `true_fn` or `false_fn`, without a `tf.cond` if `pred` is known."""
    known = known_predicate(pred)
    if known is None:
        return cond(pred, true_fn, false_fn, name=name)
    return true_fn() if known else false_fn()


def smart_case(
    pred_fn_pairs: Any, default: Any = None, exclusive: bool = False, name: str = "smart_case"
) -> Any:
    """The result of the first function whose predicate is true, without a `tf.case` as far as they are known.

    Args:
        pred_fn_pairs: pairs of a predicate and a function, as a list or a dictionary.
        default: the function for the case that none is true.
        exclusive: whether the run checks that one is true at most.
    """
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
    if all(known_predicate(pred) is not None for pred, _ in pairs):
        chosen = [function for pred, function in pairs if known_predicate(pred)]
        if chosen or default is not None:
            return (chosen[0] if chosen else default)()
    return case(pairs, default=default, exclusive=exclusive, name=name)
