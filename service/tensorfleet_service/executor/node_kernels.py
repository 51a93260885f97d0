"""The kernels of a partition's nodes."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfleet_service.kernels import registry
from tensorfleet_service.kernels.device_memory import memory_of
from tensorfleet_service.kernels.registry import ALL, KernelNode

if TYPE_CHECKING:
    from tensorfleet_service.graph.graph import Node
    from tensorfleet_service.state.library import Library
    from tensorfleet_service.state.resources import Resources


StatefulKernels = dict[tuple[str, str], Any]
"""Kernels by device and name of the node, so that a random op goes on where another signature's step ended.
"""

_WITHOUT_KERNEL = frozenset(("_Arg", "_Retval", "_Send", "_Recv", "Const", "NoOp"))


def make_kernels(
    device: str,
    nodes: list[Node],
    resources: Resources,
    xp: ModuleType,
    stateful: StatefulKernels,
    library: Library | None = None,
) -> dict[int, Any]:
    """The kernels of a partition, by the identities of their nodes; those of stateful ops are kept in
    `stateful`.

    Raises:
        OpError: an op type has no kernel, or it refuses its node.
    """
    kernels = {}
    shared: dict[tuple[str, int], Any] = {}
    # Which outputs are used matters only for nodes with several.
    used = {
        (id(source), index) for node in nodes for source, index in node.inputs if len(source.output_types) > 1
    }
    for node in nodes:
        if node.op in _WITHOUT_KERNEL:
            continue
        alike = registry.is_alike(node.op)
        if alike and (node.op, id(node.attrs)) in shared:
            kernels[id(node)] = shared[node.op, id(node.attrs)]
            continue
        kernel = stateful.get((device, node.name)) if node.opdef.is_stateful else None
        if kernel is None:
            kernel = registry.make_kernel(
                KernelNode(
                    name=node.name,
                    op=node.op,
                    attrs=node.attrs,
                    input_types=node.input_types,
                    output_types=node.output_types,
                    device=device,
                    xp=np if xp is np or memory_of(node).on_host else xp,
                    resources=resources,
                    library=library,
                    # Other partitions may use other outputs of a stateful kernel.
                    used_outputs=ALL
                    if node.opdef.is_stateful or len(node.output_types) < 2
                    else [i for i in range(len(node.output_types)) if (id(node), i) in used],
                )
            )
            if node.opdef.is_stateful:
                # Another thread may have made one meanwhile, for another signature: they share its state.
                kernel = stateful.setdefault((device, node.name), kernel)
        if alike:
            shared[node.op, id(node.attrs)] = kernel  # the nodes keep their attributes, and so the identities
        kernels[id(node)] = kernel
    return kernels
