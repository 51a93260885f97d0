"""Has parts below find what of functions they need: gradient rules, and builders of control flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.graph import functional_flow, gradient_registry
from tensorfleet.graph.operation import Operation
from tensorfleet.ops.data_flow.tensor_array import TensorArray, serve_list_array
from tensorfleet.ops.functions import function_ops_grad


def _load_rules() -> None:
    from tensorfleet.functions import branch_gradient, call_gradient, loop_gradient  # noqa: F401


def _builders() -> Any:
    from tensorfleet.functions import control_flow_v2

    return control_flow_v2


def _gradient_by_name(op: Operation, grads: Sequence[Any]) -> list[Any]:
    from tensorfleet.functions.call_gradient import gradient_by_name

    return gradient_by_name(op, grads)


gradient_registry.serve_more(_load_rules)


def _list_array() -> type[TensorArray]:
    from tensorfleet.ops.data_flow.list_array import ListArray

    return ListArray


functional_flow.serve(_builders)
serve_list_array(_list_array)
function_ops_grad.serve(_gradient_by_name)
