"""Ops that are stateful by definition, so that nothing may share or fold them, yet change nothing."""

from __future__ import annotations

READS = frozenset(
    ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "VarIsInitializedOp")
)
"""Reads of a resource: their order among themselves does not matter, that to the writes does."""

SAMPLERS = frozenset(
    (
        *("RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal", "RandomGamma"),
        *("RandomShuffle", "RandomPoisson", "RandomPoissonV2", "Multinomial", "ParameterizedTruncatedNormal"),
    )
)
"""Random numbers of a kernel's own generator: nobody notices whether they were drawn. Those of a generator
in a variable (StatefulUniform and its kind) are not among them, as they write that variable."""
