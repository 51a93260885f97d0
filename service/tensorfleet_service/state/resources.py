"""The state of one task: variables and other resources, kept between steps.

A resource is named by its container, its kind and its name.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from tensorfleet.core import errors
from tensorfleet.core.dims import Dims, compatible, format_dims
from tensorfleet.core.dtypes import DType
from tensorfleet.core.files import Files
from tensorfleet_service.state.files import ConfinedFiles
from tensorfleet_service.state.variables import DEFAULT_CONTAINER, REFERENCE, Variable

if TYPE_CHECKING:
    from tensorfleet_service.collectives.member import Collectives

Key = tuple[str, str, str]
"""(container, kind, name)"""

T = TypeVar("T")


class Resources:
    """All resources of one task. Safe to use from several threads.

    Args:
        collectives: the task's part in collectives, for its kernels.
        files: the files that kernels may use; by default none.
    """

    def __init__(self, collectives: Collectives | None = None, files: Files | None = None) -> None:
        self.collectives = collectives
        self.files = files or ConfinedFiles()
        self._lock = threading.RLock()
        self._table: dict[Key, Any] = {}
        self.lookup: Callable[[Key], Any] = self._table.get
        """The resource with a key, or None; takes no lock."""

    def get_or_create(self, container: str, kind: str, name: str, factory: Callable[[], T]) -> T:
        """The resource of that name, made by `factory` if there is none yet."""
        key = (container or DEFAULT_CONTAINER, kind, name)
        with self._lock:
            found: T | None = self._table.get(key)
            if found is None:
                found = self._table[key] = factory()
            return found

    def variable(
        self, container: str, name: str, dtype: DType, dims: Dims, kind: str = REFERENCE
    ) -> Variable:
        """The variable of that name, made without a value if there is none yet.

        Raises:
            InvalidArgumentError: it exists with another dtype or shape.
        """
        container = container or DEFAULT_CONTAINER
        found = self.get_or_create(
            container, kind, name, lambda: Variable(name, dtype, dims, container, kind)
        )
        if found.dtype is not dtype or not compatible(found.dims, dims):
            has, wanted = (
                f"{t.name} {format_dims(d)}" for t, d in ((found.dtype, found.dims), (dtype, dims))
            )
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Variable {name} of container {container} is {has}, but this graph asks for {wanted}. "
                "Another process made it: build the same graph there, or forget what an earlier program left "
                "with tf.Session.reset",
            )
        return found

    def remove(self, container: str, kind: str, name: str) -> Any:
        """Forgets a resource; returns it, or None if there was none."""
        with self._lock:
            return self._table.pop((container or DEFAULT_CONTAINER, kind, name), None)

    def variables(self) -> list[Variable]:
        """All variables, by container and name."""
        return sorted(self.of_type(Variable), key=lambda v: (v.container, v.name, v.kind))

    def of_type(self, kind: type[T]) -> list[T]:
        """All resources of a Python type."""
        with self._lock:
            return [r for r in self._table.values() if isinstance(r, kind)]

    def reset(self, containers: Iterable[str] = ()) -> None:
        """Forgets all resources of these containers, or of all containers if none is named.

        A resource with a `close` method is closed, so that nobody waits for it any longer.
        """
        wanted = set(containers)
        with self._lock:
            keys = [key for key in self._table if not wanted or key[0] in wanted]
            dropped = [self._table.pop(key) for key in keys]
        for resource in dropped:
            if isinstance(resource, Variable):
                resource.discard()
            elif hasattr(resource, "close"):
                resource.close()

    def close(self) -> None:
        """Closes resources with a `close` method, which ends their work in the background. Variables stay."""
        with self._lock:
            resources = list(self._table.values())
        for resource in resources:
            if not isinstance(resource, Variable) and hasattr(resource, "close"):
                resource.close()
