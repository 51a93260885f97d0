"""The switches and limits of `optimize`, as a client's GraphOptions have them."""

from __future__ import annotations

from dataclasses import dataclass

from tensorfleet.proto.config_pb2 import GraphOptions
from tensorfleet.proto.rewriter_config_pb2 import RewriterConfig

MAX_FOLDED_BYTES = 10_000_000
MAX_FOLDED_TOTAL_BYTES = 100_000_000


@dataclass(frozen=True, slots=True)
class Rewrites:
    """What `optimize` may do.

    Attributes:
        any: whether it may do anything.
        fold: compute nodes whose inputs are constants (`constant_folding`).
        merge: keep one of several equal nodes (`common_subgraph_elimination`).
        branches: drop branches that are never taken (`loop_optimization`).
        dependencies: drop control edges that order nothing, and nodes that hand on their input
            (`dependency_optimization`).
        arithmetic: compute the same in a cheaper way (`arithmetic_optimization`).
        fuse: let executors compute several nodes as one (`remapping`; the patterns of `executor.patterns`).
        max_bytes: the limit on one folded value (`max_folded_constant_in_bytes`).
        max_total_bytes: the limit on all folded values of a signature together.
    """

    any: bool = True
    fold: bool = True
    merge: bool = True
    branches: bool = True
    dependencies: bool = True
    arithmetic: bool = True
    fuse: bool = True
    max_bytes: int = MAX_FOLDED_BYTES
    max_total_bytes: int = MAX_FOLDED_TOTAL_BYTES

    @staticmethod
    def of(options: GraphOptions) -> Rewrites:
        """The rewrites that a session's options ask for."""
        general, single = options.optimizer_options, options.rewrite_options
        off = RewriterConfig.OFF
        return Rewrites(
            any=general.opt_level >= 0 and not single.disable_meta_optimizer,
            fold=single.constant_folding != off,
            merge=single.common_subgraph_elimination != off,
            branches=single.loop_optimization != off,
            dependencies=single.dependency_optimization != off,
            arithmetic=single.arithmetic_optimization != off,
            fuse=single.remapping != off,
            max_bytes=min(general.max_folded_constant_in_bytes, MAX_FOLDED_TOTAL_BYTES)
            if general.max_folded_constant_in_bytes > 0
            else MAX_FOLDED_BYTES,
        )


NONE = Rewrites(any=False)
ALL = Rewrites()
