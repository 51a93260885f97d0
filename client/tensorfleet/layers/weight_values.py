"""Getting and setting the values of a layer's variables, for the layers of `tf.layers` and of Keras."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.graph.default_session import get_default_session


class WeightValues:
    """The part of a layer that knows the values of its variables: in the default session, where Keras's
    layers do not say otherwise."""

    @property
    def name(self) -> str:
        """The name of the layer."""
        raise NotImplementedError

    @property
    def weights(self) -> list[Any]:
        """All variables, the trainable ones first."""
        raise NotImplementedError

    def _read(self, variables: Sequence[Any]) -> list[Any]:
        """The values of variables, arrays."""
        return list(_session().run(list(variables))) if variables else []

    def _write(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        """Sets the values of variables."""
        for variable, value in pairs:
            variable.load(value, _session())

    def set_weights(self, weights: Any) -> None:
        """Sets the values of all variables, in the order of `weights`.

        Raises:
            ValueError: not as many arrays as variables, or another shape.
        """
        params = self.weights
        if len(params) != len(weights):
            raise ValueError(
                f'You called `set_weights(weights)` on layer "{self.name}" with a  weight list of length '
                f"{len(weights)}, but the layer was expecting {len(params)} weights. Provided weights: "
                f"{str(weights)[:50]}..."
            )
        pairs = []
        for variable, value in zip(params, weights, strict=True):
            if tuple(variable.shape.as_list()) != getattr(value, "shape", ()):
                raise ValueError(
                    f"Layer weight shape {tuple(variable.shape.as_list())} not compatible with provided "
                    f"weight shape {getattr(value, 'shape', ())}"
                )
            pairs.append((variable, value))
        self._write(pairs)

    def get_weights(self) -> list[Any]:
        """The values of all variables, arrays."""
        return self._read(self.weights)


def _session() -> Any:
    session = get_default_session()
    if session is None:
        raise ValueError(
            "The values of a layer's weights are a session's: call this `with session.as_default()`."
        )
    return session
