"""Which products of a plan are computed beside what follows them (`devices.beside`).

Plans go through their nodes one by one. A product whose result is not needed soon, such as the gradient of a
layer's weights, whose update comes last, need not hold up the next one, such as the gradient of the
layer's input: it is started where it stands in the order, and taken where its result is needed. In between,
the plan goes on. Each op computes the same as always, so the results are the same bit by bit.

This is for products that do not use all cores by themselves, and are long enough to be handed over: from
LEAST multiplications on, up to as many as the compiled kernels, or else `devices.blas`, divide among all
threads. Their number is known when the plan runs; smaller ones cost one comparison. Nothing is started where
the process has one core.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tensorfleet.core import dtypes
from tensorfleet_service.devices import native
from tensorfleet_service.devices.beside import Beside
from tensorfleet_service.devices.blas import LARGE_PRODUCT, LEAST_PART
from tensorfleet_service.devices.blocks import thread_count
from tensorfleet_service.executor.fusing import Group, first_uses

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node

LEAST = 1 << 21
"""Number of multiplications from which handing a product over pays: 50 us at 90 GFLOP/s; it costs some 20."""

SMALL = 1 << 11
"""Number of elements of a product's first input below which its multiplications are not counted."""


def find_beside(nodes: Sequence[Node], groups: dict[int, Group | None]) -> set[int]:
    """The positions of the products that may be computed beside others.

    Args:
        groups: of nodes that are computed together, by their positions; these start nothing.
    """
    if thread_count() < 2 or not any(_is_product(node) for node in nodes):
        return set()
    first_use = first_uses(nodes, groups)
    found = set()
    following = len(nodes)  # the next product that the plan itself computes: it does not wait for one at once
    for position in range(len(nodes) - 1, -1, -1):
        if _is_product(nodes[position]) and position not in groups:
            if following < first_use.get(position, 0):
                found.add(position)
            else:
                following = position
    return found


def _is_product(node: Node) -> bool:
    return node.op == "MatMul" and node.output_types[0] in (dtypes.float32, dtypes.float64)


def starter(node: Node, product: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The function that computes a product or starts it: it returns the value, or what stands for it."""
    inner_a = 0 if node.attrs["transpose_a"] else 1
    inner_b = 1 if node.attrs["transpose_b"] else 0
    if native.native is not None and node.output_types[0] is dtypes.float32:
        most = native.DIVIDED_PRODUCT
    else:
        most = max(LARGE_PRODUCT, 2 * LEAST_PART * thread_count())

    def start(a: Any, b: Any) -> Any:
        # What the kernel refuses it refuses at once, so that its error tells of the inputs.
        if (
            a.ndim == 2 == b.ndim
            and a.shape[inner_a] == b.shape[inner_b]
            and LEAST <= a.size * b.shape[1 - inner_b] < most
        ):
            return Beside(product, a, b)
        return product(a, b)

    return start
