"""Nodes and tensors of a graph, as rules of shapes and of static values see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tensorfleet.core.dims import Dims
from tensorfleet.core.dtypes import DType


class RuleTensor(Protocol):
    """A tensor, as a rule sees it."""

    @property
    def op(self) -> RuleNode: ...
    @property
    def value_index(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def dims(self) -> Dims: ...


class RuleNode(Protocol):
    """A node, as a rule sees it."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def attrs(self) -> dict[str, Any]: ...
    @property
    def inputs(self) -> Sequence[RuleTensor]: ...
    @property
    def outputs(self) -> Sequence[RuleTensor]: ...
