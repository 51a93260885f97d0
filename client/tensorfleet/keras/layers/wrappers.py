"""Layers around a layer: for each time step, and in both directions."""

from __future__ import annotations

import inspect
from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.keras import ops
from tensorfleet.keras.engine.base_layer import Layer
from tensorfleet.keras.layer_registry import deserialize
from tensorfleet.keras.layers.core import dims_of
from tensorfleet.keras.nest import to_list
from tensorfleet.keras.serialization import get_registered_name


class Wrapper(Layer):
    """The base class of layers around a layer (`tf.keras.layers.Wrapper`)."""

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        if not isinstance(layer, Layer):
            raise ValueError(
                f"Please initialize `{type(self).__name__}` layer with a `Layer` instance. Got: {layer}"
            )
        super().__init__(**kwargs)
        self.layer = layer

    def get_config(self) -> dict[str, Any]:
        inner = {"class_name": get_registered_name(type(self.layer)), "config": self.layer.get_config()}
        return {**super().get_config(), "layer": inner}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The layer of `get_config`."""
        config = dict(config)
        inner = deserialize(config.pop("layer"), custom_objects=custom_objects)
        return cls(inner, **config)


class TimeDistributed(Wrapper):
    """A layer for each time step (`tf.keras.layers.TimeDistributed`)."""

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        super().__init__(layer, **kwargs)
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        sizes = dims_of(input_shape)
        if len(sizes) < 3:
            raise ValueError(
                "`TimeDistributed` Layer should be passed an `input_shape ` with at least 3 dimensions"
            )
        if not self.layer.built:
            self.layer.build(TensorShape([None, *sizes[2:]]))
            self.layer.built = True
        self.built = True

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        sizes, shape = inputs.shape.as_list(), ops.shape(inputs)
        names = inspect.signature(self.layer.call).parameters
        arguments = {"training": training} if "training" in names else {}
        joined = ops.reshape(inputs, ops.concat([[-1], shape[2:]], 0))
        joined.set_shape([None, *sizes[2:]])
        outputs = self.layer(joined, **arguments)
        apart = ops.reshape(outputs, ops.concat([shape[:2], ops.shape(outputs)[1:]], 0))
        apart.set_shape([*sizes[:2], *outputs.shape.as_list()[1:]])
        return apart

    def compute_output_shape(self, input_shape: Any) -> Any:
        sizes = dims_of(input_shape)
        inner = dims_of(self.layer.compute_output_shape(TensorShape([sizes[0], *sizes[2:]])))
        return TensorShape([inner[0], sizes[1], *inner[1:]])


class Bidirectional(Wrapper):
    """A recurrent layer in both directions (`tf.keras.layers.Bidirectional`).

    Args:
        merge_mode: how both outputs become one: "concat", "sum", "mul", "ave", or None for a list.
    """

    def __init__(
        self, layer: Any, merge_mode: str | None = "concat", weights: Any = None, **kwargs: Any
    ) -> None:
        if merge_mode not in ("sum", "mul", "ave", "concat", None):
            raise ValueError(
                'Invalid merge mode. Merge mode should be one of {"sum", "mul", "ave", "concat", None}'
            )
        super().__init__(layer, **kwargs)
        config = layer.get_config()
        base = config["name"]
        again = type(layer).from_config
        self.forward_layer = again({**config, "name": f"forward_{base}"})
        backward = {**config, "name": f"backward_{base}", "go_backwards": not config["go_backwards"]}
        self.backward_layer = again(backward)
        # The layer that was given is a pattern; it has no variables of its own.
        self._held.pop("layer", None)
        self.merge_mode = merge_mode
        self.return_sequences, self.return_state = layer.return_sequences, layer.return_state
        self.stateful, self.supports_masking = layer.stateful, True
        if weights is not None:
            half = len(weights) // 2
            self.forward_layer._initial_weights = weights[:half]
            self.backward_layer._initial_weights = weights[half:]
        if hasattr(layer, "_batch_input_shape"):
            self._batch_input_shape = layer._batch_input_shape
        self._pattern = layer
        self._held.pop("_pattern", None)

    def build(self, input_shape: Any) -> None:
        # Both directions make their variables when they are called.
        self.built = True

    def __call__(self, inputs: Any, initial_state: Any = None, constants: Any = None, **kwargs: Any) -> Any:
        states = to_list(initial_state)
        if constants is not None:
            raise NotImplementedError("Bidirectional: `constants` are not part of TensorFleet.")
        if states:
            inputs = [*to_list(inputs), *states]
        return super().__call__(inputs, **kwargs)

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        arguments: dict[str, Any] = {"training": training}
        if mask is not None:
            arguments["mask"] = mask[0] if isinstance(mask, (list, tuple)) else mask
        if isinstance(inputs, (list, tuple)):
            x, states = inputs[0], list(inputs[1:])
            half = len(states) // 2
            forward = self.forward_layer(x, initial_state=states[:half], **arguments)
            backward = self.backward_layer(x, initial_state=states[half:], **arguments)
        else:
            forward = self.forward_layer(inputs, **arguments)
            backward = self.backward_layer(inputs, **arguments)
        last: list[Any] = []
        if self.return_state:
            last = [*forward[1:], *backward[1:]]
            forward, backward = forward[0], backward[0]
        if self.return_sequences:
            backward = ops.reverse(backward, [0 if self.forward_layer.time_major else 1])
        if self.merge_mode == "concat":
            output: Any = ops.concat([forward, backward], -1)
        elif self.merge_mode == "sum":
            output = forward + backward
        elif self.merge_mode == "ave":
            output = (forward + backward) / 2
        elif self.merge_mode == "mul":
            output = forward * backward
        else:
            output = [forward, backward]
        return [*to_list(output), *last] if self.return_state else output

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        mask = mask[0] if isinstance(mask, (list, tuple)) else mask
        if not self.return_sequences:
            mask = None
        own = [mask] if self.merge_mode is not None else [mask, mask]
        if self.return_state:
            return [*own, *[None] * (2 * len(self.forward_layer._sizes()))]
        return own if self.merge_mode is None else own[0]

    def reset_states(self) -> None:
        """Sets the states of both directions to zeros."""
        self.forward_layer.reset_states()
        self.backward_layer.reset_states()

    def get_config(self) -> dict[str, Any]:
        inner = {"class_name": get_registered_name(type(self._pattern)), "config": self._pattern.get_config()}
        return {**Layer.get_config(self), "layer": inner, "merge_mode": self.merge_mode}

    def compute_output_shape(self, input_shape: Any) -> Any:
        found = self.forward_layer.compute_output_shape(input_shape)
        output = dims_of(found[0] if self.return_state else found)
        if self.merge_mode == "concat":
            assert output[-1] is not None
            output[-1] *= 2
        shapes = [TensorShape(output)] * (2 if self.merge_mode is None else 1)
        if self.return_state:
            return [*shapes, *found[1:], *found[1:]]
        return shapes if self.merge_mode is None else shapes[0]
