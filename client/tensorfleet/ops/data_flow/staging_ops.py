"""The ops of staging areas."""

from __future__ import annotations

from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.ops.shape_rules import nothing, scalar


def _unknown(op: RuleNode) -> list[Dims]:
    return [None] * len(op.outputs)


_LIMITS = ("capacity: int >= 0 = 0", "memory_limit: int >= 0 = 0")
_PLACE = ('container: string = ""', 'shared_name: string = ""')
_TYPES = "dtypes: list(type) >= 1"
_ANY_TYPES = "dtypes: list(type)"

op("Stage(values: list(dtypes)) -> ()", *_LIMITS, _TYPES, *_PLACE, shape=nothing, stateful=True)
op("Unstage() -> (values: list(dtypes))", *_LIMITS, _TYPES, *_PLACE, shape=_unknown, stateful=True)
op(
    "StagePeek(index: int32) -> (values: list(dtypes))",
    *_LIMITS,
    _TYPES,
    *_PLACE,
    shape=_unknown,
    stateful=True,
)
op("StageSize() -> (size: int32)", *_LIMITS, _ANY_TYPES, *_PLACE, shape=scalar, stateful=True)
op("StageClear() -> ()", *_LIMITS, _ANY_TYPES, *_PLACE, shape=nothing, stateful=True)

for _prefix in ("", "Ordered"):
    op(
        f"{_prefix}MapStage(key: int64, indices: int32, values: list(fake_dtypes)) -> ()",
        *_LIMITS,
        _ANY_TYPES,
        "fake_dtypes: list(type) >= 1",
        *_PLACE,
        shape=nothing,
        stateful=True,
    )
    for _kind in ("MapUnstage", "MapPeek"):
        op(
            f"{_prefix}{_kind}(key: int64, indices: int32) -> (values: list(dtypes))",
            *_LIMITS,
            _TYPES,
            *_PLACE,
            shape=_unknown,
            stateful=True,
        )
    op(
        f"{_prefix}MapUnstageNoKey(indices: int32) -> (key: int64, values: list(dtypes))",
        *_LIMITS,
        _TYPES,
        *_PLACE,
        shape=_unknown,
        stateful=True,
    )
    for _kind in ("MapSize", "MapIncompleteSize"):
        op(f"{_prefix}{_kind}() -> (size: int32)", *_LIMITS, _ANY_TYPES, *_PLACE, shape=scalar, stateful=True)
    op(f"{_prefix}MapClear() -> ()", *_LIMITS, _ANY_TYPES, *_PLACE, shape=nothing, stateful=True)
