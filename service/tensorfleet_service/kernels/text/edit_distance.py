"""The edit distance of sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfleet_service.kernels.registry import Kernel, KernelNode
from tensorfleet_service.kernels.sparse import check, elements, linear, numbered, sizes_of, starts_of
from tensorfleet_service.kernels.values import host_kernel, invalid
from tensorfleet_service.threads.running import check as check_step


def _sequences(indices: Any, values: Any, sizes: list[int]) -> dict[int, Any]:
    """The elements of each sequence, by its place among the others."""
    outer = indices[:, :-1]
    if ((outer < 0) | (outer >= np.array(sizes, np.int64))).any():
        raise invalid("An index is outside of the shape")
    places = linear(outer, sizes)
    order = np.argsort(places, kind="stable")
    places, values = places[order], values[order]
    starts = starts_of(places)
    parts = np.split(values, starts[1:]) if len(starts) else []
    return dict(zip(places[starts].tolist(), parts, strict=True))


def _distance(a: Any, b: Any) -> int:
    """The distance of two sequences, by rows of the table of distances; insertions are a running minimum."""
    steps = np.arange(len(b) + 1)
    row = steps
    for i, element in enumerate(a):
        check_step()
        best = np.empty_like(row)
        best[0] = i + 1
        np.minimum(row[1:] + 1, row[:-1] + (b != element), out=best[1:])
        row = np.minimum.accumulate(best - steps) + steps
    return int(row[-1])


@host_kernel("EditDistance", lasting=True)
def edit_distance(node: KernelNode) -> Kernel:
    normalize = node.attrs["normalize"]

    def run(hi: Any, hv: Any, hshape: Any, ti: Any, tv: Any, tshape: Any) -> Any:
        check(hi, hv, hshape, "hypothesis")
        check(ti, tv, tshape, "truth")
        if len(hshape) != len(tshape):
            raise invalid("Expected hypothesis_shape and truth_shape of one length")
        if len(hshape) < 2:
            raise invalid("hypothesis and truth must have rank 2 or more")
        sizes = [max(a, b) for a, b in zip(sizes_of(hshape[:-1]), sizes_of(tshape[:-1]), strict=True)]
        result = np.zeros(elements(sizes), np.float32)
        if hv.dtype == object:
            hv, tv = numbered(hv, tv)
        ours, true = _sequences(hi, hv, sizes), _sequences(ti, tv, sizes)
        nothing = hv[:0]
        for place in ours.keys() | true.keys():
            a, b = ours.get(place, nothing), true.get(place, nothing)
            distance = float(_distance(a, b))
            if normalize:
                distance = distance / len(b) if len(b) else float("inf")
            result[place] = distance
        return result.reshape(sizes)

    return run
