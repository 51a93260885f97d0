"""The configuration of a layer of `tf.layers`: the constructor's arguments, as Keras's layers give them."""

from __future__ import annotations

import inspect
from typing import Any


class Configuration:
    """The part of a layer that knows how another one like it is made."""

    trainable: bool

    @property
    def name(self) -> str:
        """The name of the layer."""
        raise NotImplementedError

    @property
    def dtype(self) -> Any:
        """The dtype of the variables."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments: "name", "trainable" and "dtype". A class with others overrides this.

        Raises:
            NotImplementedError: the class has others, and does not override it.
        """
        config = {"name": self.name, "trainable": self.trainable, "dtype": self.dtype}
        known = {"self", "activity_regularizer", "_scope", "_reuse", *config}
        made = _unconfigured(type(self))
        if any(argument not in known for argument in inspect.getfullargspec(made.__init__).args):
            raise NotImplementedError("Layers with arguments in `__init__` must override `get_config`.")
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A layer with the arguments of `get_config`."""
        return cls(**config)


def _unconfigured(kind: type) -> Any:
    """The class whose arguments are those of `Configuration.get_config` alone: `kind`, or if it or its bases
    override the method, the one of TensorFleet's classes that they call."""
    bases = kind.__mro__
    above = [number for number, base in enumerate(bases) if "get_config" in vars(base)]
    if len(above) == 1:
        return kind
    package = __name__.partition(".")[0]
    below = bases[above[-2] + 1 :]
    return next(base for base in below if base.__module__.partition(".")[0] == package)
