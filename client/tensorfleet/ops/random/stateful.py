"""Random ops whose state is a variable: `tf.random.Generator` and what it is made of."""

from __future__ import annotations

from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.static_value import static_dims
from tensorfleet.ops.shape_rules import nothing, unchanged, with_rank

_FORM = "resource: resource, algorithm: int64, shape: shape_dtype"


def _drawn(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[1].dims, 0)
    return [static_dims(op.inputs[2])]


def _plain(op: RuleNode) -> list[Dims]:
    return [static_dims(op.inputs[0])]


def _state(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[1].dims, 0)
    with_rank(op.inputs[2].dims, 0)
    return [(3,)]


for _name, _default in (
    ("StatefulUniform", "float32"),
    ("StatefulStandardNormalV2", "float32"),
    ("StatefulTruncatedNormal", "float32"),
    ("StatefulUniformFullInt", "uint64"),
):
    op(
        f"{_name}({_FORM}) -> (output: dtype)",
        f"dtype: type = {_default}",
        "shape_dtype: type = int64",
        shape=_drawn,
        stateful=True,
    )
op(
    f"StatefulUniformInt({_FORM}, minval: dtype, maxval: dtype) -> (output: dtype)",
    "dtype: type = int64",
    "shape_dtype: type = int64",
    shape=_drawn,
    stateful=True,
)
op(
    "NonDeterministicInts(shape: shape_dtype) -> (output: dtype)",
    "dtype: type = int64",
    "shape_dtype: type = int64",
    shape=_plain,
    stateful=True,
)
op(
    "RngReadAndSkip(resource: resource, alg: int32, delta: uint64) -> (value: int64)",
    shape=_state,
    stateful=True,
)
op("RngSkip(resource: resource, algorithm: int64, delta: int64) -> ()", shape=nothing, stateful=True)
for _name, _inputs in (
    ("StatelessRandomGammaV2", "shape: T, seed: Tseed, alpha: dtype"),
    ("StatelessRandomPoisson", "shape: T, seed: Tseed, lam: Rtype"),
):
    op(
        f"{_name}({_inputs}) -> (output: dtype)",
        *(
            ("dtype: {float16, float32, float64}",)
            if _name.endswith("V2")
            else (
                "Rtype: {float16, float32, float64, int32, int64}",
                "dtype: {float16, float32, float64, int32, int64}",
            )
        ),
        "T: {int32, int64}",
        "Tseed: {int32, int64} = int64",
        shape=_plain,
    )
op(
    "StatelessRandomGammaV3(shape: shape_dtype, key: uint64, counter: uint64, alg: int32, alpha: dtype) -> "
    "(output: dtype)",
    "dtype: {float16, float32, float64}",
    "shape_dtype: {int32, int64} = int32",
    shape=_plain,
)
op(
    "StatelessShuffle(value: T, key: uint64, counter: uint64, alg: int32) -> (output: T)",
    "T: type",
    shape=unchanged,
)
