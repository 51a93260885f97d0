"""Layers that are made of layers: by a graph of calls, or by a class of one's own."""

from __future__ import annotations

import inspect
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.keras import backend as K, nest, ops
from tensorfleet.keras.backend.state import unique_name
from tensorfleet.keras.engine.base_layer import Layer
from tensorfleet.keras.engine.graph_of_layers import LayerGraph
from tensorfleet.keras.engine.node import Node, history
from tensorfleet.keras.engine.op_layer import complete_history
from tensorfleet.layers.base import snake_case
from tensorfleet.layers.dependencies import reachable_from


class Network(Layer):
    """A layer that is made of layers: the calls between `inputs` and `outputs`, or what a subclass does in
    `call` (`tf.keras.Model` without what trains it)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args or "inputs" in kwargs or "outputs" in kwargs:
            self._begin_graph(*args, **kwargs)
        else:
            self._begin_subclass(**kwargs)

    def _begin(self, name: str | None, trainable: bool = True, dtype: Any = None) -> None:
        super().__init__(name=name, trainable=trainable, dtype=dtype)
        self.inputs: Any = None
        self.outputs: Any = None
        self._graph_of_layers: Any = None
        self._is_compiled = False
        self.optimizer: Any = None
        self.supports_masking = True

    def _init_name(self, name: str | None) -> str:
        return name or unique_name(snake_case(type(self).__name__))

    def _begin_subclass(self, name: str | None = None, dtype: Any = None, trainable: bool = True) -> None:
        self._begin(name, trainable, dtype)

    def _begin_graph(
        self, inputs: Any, outputs: Any, name: str | None = None, trainable: bool = True
    ) -> None:
        self._begin(name, trainable)
        self._set_graph(inputs, outputs)

    def _set_graph(self, inputs: Any, outputs: Any) -> None:
        if isinstance(inputs, (list, tuple)) and len(inputs) == 1:
            inputs = inputs[0]
        if isinstance(outputs, (list, tuple)) and len(outputs) == 1:
            outputs = outputs[0]
        complete_history([outputs])
        self._nested_inputs, self._nested_outputs = inputs, outputs
        self.inputs, self.outputs = nest.flatten(inputs), nest.flatten(outputs)
        self._graph_of_layers = LayerGraph(self.inputs, self.outputs)
        self.built = True
        self._input_layers = [_layer_of(t) for t in self.inputs]
        self._output_layers = [_layer_of(t) for t in self.outputs]
        self.input_names = [layer.name for layer in self._input_layers]
        self.output_names = _unique([layer.name for layer in self._output_layers])
        # The graph itself counts as the first call of the model, as in Keras.
        self._inbound_nodes.clear()
        Node(self, inputs, outputs, is_definition=True)

    @property
    def is_graph_network(self) -> bool:
        """Whether the model is a graph of calls."""
        return self._graph_of_layers is not None

    _is_graph_network = is_graph_network

    def _children(self) -> list[Any]:
        if self._graph_of_layers is None:
            return super()._children()
        known = list(self._graph_of_layers.layers)
        seen = {id(layer) for layer in known}
        return known + [layer for layer in super()._children() if id(layer) not in seen]

    @property
    def layers(self) -> list[Any]:
        """The layers of the model, from the inputs to the outputs."""
        return self._children()

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """The layer of that name, or at that place.

        Raises:
            ValueError: there is none.
        """
        if index is not None:
            if len(self.layers) <= index:
                raise ValueError(
                    f"Was asked to retrieve layer at index {index} but model only has "
                    f"{len(self.layers)} layers."
                )
            return self.layers[index]
        if not name:
            raise ValueError("Provide either a layer name or layer index.")
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}")

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that training changes; none if the model is not trainable."""
        self._check_built()
        return super().trainable_weights

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables that training leaves alone."""
        self._check_built()
        return super().non_trainable_weights

    @property
    def weights(self) -> list[Any]:
        """All variables, layer by layer."""
        self._check_built()
        found = [w for layer in self._children() for w in layer.weights]
        found += [*self._trainable_weights, *self._non_trainable_weights]
        return list({id(w): w for w in found}.values())

    def _check_built(self) -> None:
        if not self.built and type(self).__name__ == "Sequential" and self._children():
            raise ValueError(
                f"Weights for model {self.name} have not yet been created. Weights are created "
                f"when the Model is "
                "first called on inputs or `build()` is called with an `input_shape`."
            )

    @property
    def state_updates(self) -> list[Any]:
        """The updates of stateful layers, such as the states of RNNs."""
        return [u for layer in self.layers if getattr(layer, "stateful", False) for u in layer.updates]

    @property
    def stateful(self) -> bool:
        """Whether a layer keeps its states from one batch to the next."""
        return any(getattr(layer, "stateful", False) for layer in self._children())

    @stateful.setter
    def stateful(self, value: bool) -> None:
        pass  # that of the layers

    @property
    def losses(self) -> list[Any]:
        """The losses of regularizers and of `add_loss` that depend on nothing, or on the model's inputs."""
        return self._relevant(super().losses)

    @property
    def updates(self) -> list[Any]:
        """The operations that training must run, as far as they depend on nothing but the model's inputs."""
        return self._relevant(super().updates)

    def _relevant(self, values: list[Any]) -> list[Any]:
        values = list(dict.fromkeys(values))
        if not self.inputs or not values:
            return values
        marked = {v for layer in self._all_layers() for v in layer._conditional}
        if not any(v in marked for v in values):
            return values
        reached = reachable_from([t for t in self.inputs if hasattr(t, "op")])
        return [v for v in values if v not in marked or getattr(v, "op", v) in reached]

    def _checkpoint_children(self) -> dict[str, Any]:
        """The layers by their places, as in TensorFlow's checkpoints of models; the optimizer."""
        own: dict[str, Any] = {}
        if self._graph_of_layers is not None or type(self).__name__ == "Sequential":
            layers = self.layers if type(self).__name__ == "Sequential" else self._graph_of_layers.layers
            own = {f"layer-{i}": layer for i, layer in enumerate(layers)}
            with_weights = [layer for layer in layers if layer.weights]
            own |= {f"layer_with_weights-{i}": layer for i, layer in enumerate(with_weights)}
            own |= {name: value for name, value in self._held.items() if not name.startswith("_")}
            # The first name of an object is that of its values.
            own = dict(sorted(own.items(), key=lambda item: not item[0].startswith("layer_with_weights")))
        else:
            own = super()._checkpoint_children()
        return own if self.optimizer is None else {**own, "optimizer": self.optimizer}

    def reset_states(self) -> None:
        """Sets the states of all stateful layers to zeros."""
        for layer in self.layers:
            if hasattr(layer, "reset_states") and getattr(layer, "stateful", False):
                layer.reset_states()

    @property
    def input_spec(self) -> Any:
        """None: a model's inputs are checked by its layers."""
        return None

    @input_spec.setter
    def input_spec(self, value: Any) -> None:
        pass  # as the layers of the model have their own

    def build(self, input_shape: Any = None) -> None:
        """Makes the variables of a model of one's own class by calling it on placeholders of that shape."""
        if self._graph_of_layers is not None:
            self.built = True
            return
        if input_shape is None:
            raise ValueError("Input shape must be defined when calling build on a model subclass network.")
        self.built = True
        shapes = input_shape if isinstance(input_shape, list) else [input_shape]
        made = [ops.placeholder(dtypes.as_dtype(K.floatx()), TensorShape(s)) for s in shapes]
        self(made if isinstance(input_shape, list) else made[0])

    def _maybe_build(self, inputs: Any) -> None:
        # A subclass makes its variables in the layers it calls.
        if not self.built and type(self).build is not Network.build:
            super()._maybe_build(inputs)
        self.built = True

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """The outputs for other inputs; a class of one's own overrides it.

        Raises:
            NotImplementedError: the model is no graph of calls, and does not override this.
        """
        graph = self._graph_of_layers
        if graph is None:
            raise NotImplementedError(
                "When subclassing the `Model` class, you should implement a `call` method."
            )
        values = self._in_order(inputs)
        for value, one in zip(values, nest.flatten(mask) if mask is not None else (), strict=False):
            if one is not None:
                value._keras_mask = one

        def again(node: Any, given: Any, arguments: dict[str, Any]) -> Any:
            layer = node.outbound_layer
            if training is not None and "training" in inspect.signature(layer.call).parameters:
                arguments.setdefault("training", training)
            return layer(given, **arguments)

        results = graph.run(self.inputs, values, self.outputs, again)
        return nest.pack(self._nested_outputs, results)

    def _in_order(self, inputs: Any) -> list[Any]:
        if isinstance(inputs, dict) and set(inputs) >= set(self.input_names):
            return [inputs[name] for name in self.input_names]
        values = nest.flatten(inputs)
        if len(values) != len(self.inputs):
            raise ValueError(
                f"The model {self.name} takes {len(self.inputs)} inputs, and was called with {len(values)}."
            )
        return values

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The masks of the outputs, which the layers have set."""
        return None

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the outputs for inputs of that shape."""
        if self._graph_of_layers is not None:
            shapes = input_shape if isinstance(input_shape, list) else [input_shape]
            own = [t.shape.as_list() for t in self.inputs]
            if [TensorShape(s).as_list() for s in shapes] == own:
                return nest.map_structure(lambda t: t.shape, self._nested_outputs)
        return super().compute_output_shape(input_shape)


def _layer_of(tensor: Any) -> Any:
    found = history(tensor)
    assert found is not None
    return found.layer


def _unique(names: list[str]) -> list[str]:
    """The names, with numbers behind those that are there already."""
    counts: dict[str, int] = {}
    result = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        result.append(name if counts[name] == 1 else f"{name}_{counts[name] - 1}")
    return result
