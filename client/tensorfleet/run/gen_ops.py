"""Python functions for op types, under the names of TensorFlow's modules `gen_array_ops`, `gen_nn_ops`, …"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from tensorfleet.api.raw_ops import raw_ops


def _snake_case(op_type: str) -> str:
    """The function's name for an op type: `max_pool_grad_v2` for MaxPoolGradV2, `conv2d` for Conv2D."""
    parts: list[str] = []
    for at, letter in enumerate(op_type):
        following = op_type[at + 1 : at + 2]
        if letter.isupper() and at and (op_type[at - 1].islower() or following.islower()):
            parts.append("_")
        parts.append(letter.lower())
    return "".join(parts)


@cache
def _op_types() -> dict[str, str]:
    return {_snake_case(op_type): op_type for op_type in dir(raw_ops)}


def _function(name: str, op_type: str) -> Callable[..., Any]:
    raw = getattr(raw_ops, op_type)
    signature = inspect.signature(raw)

    def make(*args: Any, **kwargs: Any) -> Any:
        return raw(**signature.bind(*args, **kwargs).arguments)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = raw.__doc__
    make.__signature__ = signature  # type: ignore[attr-defined]
    return make


class _GeneratedOps:
    """A function for each op type, whose arguments are its inputs and attributes, by place or by name."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        # TensorFlow 1 hid many of these functions by an underscore.
        if (op_type := _op_types().get(name.removeprefix("_"))) is None:
            raise AttributeError(f"there is no op for {name}; docs/ops.md lists the ops that TensorFleet has")
        made = self.__dict__[name] = _function(name, op_type)
        return made

    def __dir__(self) -> list[str]:
        return sorted(_op_types())


gen_ops = _GeneratedOps()
