"""The functions of `tensorflow.python.ops.gen_…_ops`: one for each op type, `mat_mul` for MatMul."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from tensorfleet.api.raw_ops import raw_ops
from tensorfleet.graph import op_def

# Where a word begins: a capital after a small letter or before one (`conv2d`, `mat_mul`, `l2_loss`).
_WORD = re.compile(r"(?<=.)(?:(?<=[a-z])(?=[A-Z])|(?=[A-Z][a-z]))")


def _snake(op_type: str) -> str:
    """The name of an op type's function."""
    return _WORD.sub("_", op_type).lower()


@cache
def _by_snake() -> dict[str, str]:
    return {_snake(name): name for name in op_def.registered()}


def _function(op_type: str) -> Callable[..., Any]:
    raw = getattr(raw_ops, op_type)
    names = list(raw.__signature__.parameters)

    @wraps(raw)
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(names):
            raise TypeError(f"{op_type} takes at most {len(names)} arguments: {names}")
        return raw(**dict(zip(names, args, strict=False)), **kwargs)

    return call


def __getattr__(name: str) -> Any:
    # Op types' own names are there, too.
    op_type = name if op_def.lookup(name) is not None else _by_snake().get(name.lstrip("_"))
    if op_type is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()[name] = _function(op_type)
    return made


def __dir__() -> list[str]:
    # Until 1.9 the functions that no public name stands for began with an underscore.
    return sorted({*globals(), *op_def.registered(), *_by_snake(), *(f"_{name}" for name in _by_snake())})
