"""Which products of a plan share their second operand, which is then packed once for all of them.

Such as the weights of an unrolled network, of which each step makes a product with a few rows: to bring the
weights into the order in which a product reads them takes up to a third of its time. The results are the same
bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tensorfleet.core import dtypes
from tensorfleet_service.devices import native
from tensorfleet_service.executor.statements import dereferences
from tensorfleet_service.kernels.math.matmul import product_of

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node

LEAST_PRODUCTS = 3
"""The number of products from which it pays to keep what is packed."""

MOST_ROWS = 1 << 7
"""The most rows of a product for which it pays: with more, the packing is a small part of it."""


@dataclass(frozen=True, slots=True)
class SharedOperand:
    """An operand of several products.

    Attributes:
        first, last: the positions of the first and the last of them.
    """

    first: int
    last: int


def find_shared(nodes: Sequence[Node], without: Collection[int]) -> dict[int, SharedOperand]:
    """The shared second operands by the positions of their products.

    Args:
        without: positions of products that are computed in other ways.
    """
    if native.native is None:
        return {}
    users: dict[tuple[int, int, bool], list[int]] = {}
    for position, node in enumerate(nodes):
        if (
            node.op == "MatMul"
            and node.output_types[0] is dtypes.float32
            and not node.attrs["transpose_a"]
            and position not in without
            and not dereferences(node, 1)  # each reads what the variable has become
        ):
            source, index = node.inputs[1]
            users.setdefault((id(source), index, bool(node.attrs["transpose_b"])), []).append(position)
    return {
        position: SharedOperand(positions[0], positions[-1])
        for positions in users.values()
        if len(positions) >= LEAST_PRODUCTS
        for position in positions
    }


def packer(node: Node) -> Callable[[Any, Any], Any]:
    """The function of the first product's operands that packs the second; None where that does not pay."""
    is_turned = bool(node.attrs["transpose_b"])

    def pack(a: Any, b: Any) -> Any:
        if a.ndim != 2 or not native.LEAST_SIDE <= len(a) <= MOST_ROWS:
            return None
        try:
            return native.pack(b, is_turned)
        except MemoryError:
            return None  # the products do without

    return pack


def packed_product(node: Node) -> Callable[[Any, Any, Any], Any]:
    """The product of a matrix and a packed one, which is given as it was, too."""
    return product_of(False, bool(node.attrs["transpose_b"]))
