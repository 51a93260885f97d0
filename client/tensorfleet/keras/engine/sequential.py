"""`tf.keras.Sequential`: layers one after the other."""

from __future__ import annotations

from typing import Any

from tensorfleet.core.shapes import TensorShape
from tensorfleet.keras.engine.base_layer import Layer
from tensorfleet.keras.engine.input_layer import Input, InputLayer
from tensorfleet.keras.engine.node import history
from tensorfleet.keras.engine.training import Model
from tensorfleet.keras.layer_registry import deserialize
from tensorfleet.keras.nest import flatten
from tensorfleet.keras.serialization import serialize_keras_object


class Sequential(Model):
    """Layers one after the other (`tf.keras.Sequential`).

    Without an `input_shape` of the first layer the model is built at its first call, or by its first data.

    Example:
        >>> model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
        >>> model.count_params()
        8
    """

    def __init__(self, layers: Any = None, name: str | None = None) -> None:
        self._begin(name)
        self._stack: list[Any] = []
        self._tail: Any = None
        for layer in layers or []:
            self.add(layer)

    @property
    def layers(self) -> list[Any]:
        """The layers, without the input."""
        return [layer for layer in self._stack if not isinstance(layer, InputLayer)]

    def _children(self) -> list[Any]:
        return list(self.__dict__.get("_stack", ()))

    def add(self, layer: Any) -> None:
        """Adds a layer behind the others.

        Raises:
            TypeError: no layer.
        """
        source = history(layer)
        if source is not None:
            layer = source.layer
        if not isinstance(layer, Layer):
            raise TypeError(f"The added layer must be an instance of class Layer. Found: {layer}")
        if not self._stack and not isinstance(layer, InputLayer):
            shape, dtype = _input_of(layer)
            if shape is not None:
                x = Input(batch_shape=shape, dtype=dtype, name=f"{layer.name}_input")
                found = history(x)
                assert found is not None
                self.add(found.layer)
        if isinstance(layer, InputLayer) and not self._stack:
            self._first, self._tail = (
                layer._inbound_nodes[0].output_tensors,
                layer._inbound_nodes[0].output_tensors,
            )
        elif self._tail is not None:
            self._tail = layer(self._tail)
            if len(flatten(self._tail)) != 1:
                raise TypeError(
                    "All layers in a Sequential model should have a single output tensor. For "
                    "multi-output layers, "
                    "use the functional API."
                )
        self._stack = [*self._stack, layer]
        if self._tail is not None and self.layers:
            self._set_graph(self._first, self._tail)
        elif self._tail is None:
            self.built = False

    def pop(self) -> None:
        """Removes the last layer.

        Raises:
            TypeError: there is none.
        """
        if not self.layers:
            raise TypeError("There are no layers in the model.")
        self._stack = self._stack[:-1]
        if self._tail is None:
            return
        if self.layers:
            self._tail = self.layers[-1]._inbound_nodes[-1].output_tensors
            self._set_graph(self._first, self._tail)
        else:
            self._tail = self._first
            self.inputs = self.outputs = None
            self._graph_of_layers, self.built = None, False

    def build(self, input_shape: Any = None) -> None:
        """Makes the variables for inputs of that shape; for a dict of inputs, the first call makes them."""
        if self._graph_of_layers is None and not isinstance(input_shape, dict):
            if input_shape is None:
                raise ValueError("You must provide an `input_shape` argument.")
            self._begin_at(TensorShape(input_shape).as_list(), None)
        self.built = True

    def _begin_at(self, shape: Any, dtype: Any) -> None:
        """Connects the layers behind an input of that shape."""
        layers, self._stack = self._stack, []
        self._tail = None
        found = history(Input(batch_shape=tuple(shape), dtype=dtype, name=f"{layers[0].name}_input"))
        assert found is not None
        self.add(found.layer)
        for layer in layers:
            self.add(layer)

    def _build_for(self, shapes: Any, x: Any) -> None:
        if isinstance(x, dict):
            # The first layer takes several inputs by their names: it is called as a model of one's own is.
            super()._build_for(shapes, x)
            self.built = True
            return
        [(shape, dtype)] = shapes
        first = self._stack[0] if self._stack else None
        wanted = getattr(first, "dtype", None)
        self._begin_at(shape, wanted or (dtype.name if not dtype.is_integer else None))

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        if self._graph_of_layers is None:
            is_known = isinstance(inputs, dict) or inputs.shape.ndims is not None
            if is_known and not self.inputs:
                for layer in self.layers:
                    inputs = layer(inputs) if training is None else _trained(layer, inputs, training)
                return inputs
        return super().call(inputs, training=training, mask=mask)

    def predict_proba(self, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
        """The outputs, which are probabilities."""
        return self.predict(x, batch_size, verbose)

    def predict_classes(self, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
        """The numbers of the most probable classes; of one probability, whether it is above one half."""
        found = self.predict(x, batch_size=batch_size, verbose=verbose)
        return found.argmax(axis=-1) if found.shape[-1] > 1 else (found > 0.5).astype("int32")

    def get_config(self) -> dict[str, Any]:
        """The name, and the configurations of the layers."""
        layers = [serialize_keras_object(layer) for layer in self.layers]
        config: dict[str, Any] = {"name": self.name, "layers": layers}
        if self._graph_of_layers is not None:
            config["build_input_shape"] = tuple(self.inputs[0].shape.as_list())
        return config

    @classmethod
    def from_config(cls, config: Any, custom_objects: Any = None) -> Any:
        """The model of `get_config`."""
        layers = config["layers"] if isinstance(config, dict) else config
        model = cls(name=config.get("name") if isinstance(config, dict) else None)
        for layer in layers:
            model.add(deserialize(layer, custom_objects=custom_objects))
        shape = config.get("build_input_shape") if isinstance(config, dict) else None
        if model.inputs is None and shape and model.layers:
            model.build(tuple(shape))
        return model


def _trained(layer: Any, inputs: Any, training: Any) -> Any:
    return layer(inputs, training=training) if layer._expects("training") else layer(inputs)


def _input_of(layer: Any) -> tuple[Any, Any]:
    """The shape and dtype that the first layer says inputs have; None, if it does not."""
    if getattr(layer, "_graph_of_layers", None) is not None and layer.inputs:
        tensor = layer.inputs[0]
        return tuple(tensor.shape.as_list()), tensor.dtype.base.name
    shape = getattr(layer, "_batch_input_shape", None)
    return (None if shape is None else tuple(shape)), layer.dtype
