"""`tensorflow.python.util.tf_export`: decorators that give a function its public names."""

from __future__ import annotations

from functools import partial
from typing import Any


class api_export:
    """A decorator that writes public names on what it decorates, and changes nothing else."""

    def __init__(self, *args: str, **kwargs: Any) -> None:
        self._names = args
        self._v1 = kwargs.get("v1", args)
        self._attribute = f"_{kwargs.get('api_name', 'tensorflow')}_api_names"

    def __call__(self, func: Any) -> Any:
        setattr(func, self._attribute, self._names)
        setattr(func, f"{self._attribute}_v1", self._v1)
        return func

    def export_constant(self, module_name: str, name: str) -> None:
        """Records nothing: constants have their names by their modules."""


tf_export = partial(api_export, api_name="tensorflow")
estimator_export = partial(api_export, api_name="estimator")
keras_export = partial(api_export, api_name="keras")
