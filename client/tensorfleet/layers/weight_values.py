"""Getting and setting the values of a layer's variables, for the layers of `tf.layers` and of Keras."""

from __future__ import annotations

from typing import Any


class WeightValues:
    """The part of a layer that knows the values of its variables, in Keras's session: the default one, if
    there is one."""

    @property
    def name(self) -> str:
        """The name of the layer."""
        raise NotImplementedError

    @property
    def weights(self) -> list[Any]:
        """All variables, the trainable ones first."""
        raise NotImplementedError

    def set_weights(self, weights: Any) -> None:
        """Sets the values of all variables, in the order of `weights`.

        Raises:
            ValueError: not as many arrays as variables, or another shape.
        """
        # Keras's layers are made of this module.
        from tensorfleet.keras.backend.state import batch_set_value

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
        batch_set_value(pairs)

    def get_weights(self) -> list[Any]:
        """The values of all variables, arrays."""
        from tensorfleet.keras.backend.state import batch_get_value

        return batch_get_value(self.weights)
