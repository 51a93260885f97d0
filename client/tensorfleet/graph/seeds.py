"""The seeds of random ops: the graph's and their own."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from tensorfleet.graph.graph import Graph, get_default_graph

DEFAULT_GRAPH_SEED = 87654321
_MAX_INT32 = 2**31 - 1

_seeds_drawn: WeakKeyDictionary[Graph, int] = WeakKeyDictionary()


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The two seeds of a random op (`tf.random.get_seed`).

    With the graph's seed alone, each op gets another one: the number of seeds so drawn before it. With the
    op's seed alone, the graph's is a constant. With neither, the numbers differ from run to run.
    """
    graph = get_default_graph()
    if graph.seed is None:
        if op_seed is None:
            return None, None
        seeds = DEFAULT_GRAPH_SEED, op_seed
    else:
        if op_seed is None:
            op_seed = _seeds_drawn.get(graph, 0)
            _seeds_drawn[graph] = op_seed + 1
        seeds = graph.seed, op_seed
    first, second = (seed % _MAX_INT32 for seed in seeds)
    # Two zeros would mean no seed at all.
    return (0, _MAX_INT32) if (first, second) == (0, 0) else (first, second)
