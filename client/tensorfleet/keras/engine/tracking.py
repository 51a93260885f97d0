"""What a layer holds: variables and other layers, found by the attributes they are assigned to."""

from __future__ import annotations

from typing import Any

from tensorfleet.layers.dependencies import depending
from tensorfleet.ops.state.variables import Variable
from tensorfleet.train.object_graph import Tracked


class NoDependency:
    """A list or dict that an attribute of a layer is to have as it is, not searched for layers and variables
    (`data_structures.NoDependency`)."""

    def __init__(self, value: Any) -> None:
        self.value = value


class TrackingLayer(Tracked):
    """The part of a layer that knows its variables and the layers in it."""

    _trainable: bool
    _name: str
    _dtype: str | None
    _losses: list[Any]
    _updates: list[Any]
    _metrics: list[Any]
    _conditional: set[Any]
    built: bool
    _is_metric = False
    """Whether this keeps a metric, whose variables are no weights of the layer that holds it."""

    def _start_tracking(self) -> None:
        if "_trainable_weights" in self.__dict__:
            return
        self.__dict__["_trainable_weights"] = []
        self.__dict__["_non_trainable_weights"] = []
        self.__dict__["_held"] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        if plain := isinstance(value, NoDependency):
            value = value.value
        if not name.startswith("__") and name not in _INTERNAL:
            held = self.__dict__.get("_held")
            if held is None:
                if _layers_in(value):
                    raise RuntimeError(
                        "It looks like you are subclassing `Model` and you forgot to call "
                        "`super().__init__()`. Always start with this line."
                    )
            elif isinstance(value, TrackingLayer) or (not plain and isinstance(value, (list, tuple, dict))):
                held[name] = value
            elif isinstance(value, Variable):
                held.pop(name, None)
                self._own_variable(value, value.trainable)
            else:
                held.pop(name, None)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self.__dict__.get("_held", {}).pop(name, None)
        super().__delattr__(name)

    def _own_variable(self, variable: Any, trainable: bool) -> None:
        known = [*self._trainable_weights, *self._non_trainable_weights]
        if all(variable is not other for other in known):
            (self._trainable_weights if trainable else self._non_trainable_weights).append(variable)

    _trainable_weights: list[Any]
    _non_trainable_weights: list[Any]
    _held: dict[str, Any]

    def _children(self) -> list[Any]:
        """The layers that this one holds, each once, in the order in which they were assigned."""
        found: dict[int, Any] = {}
        for value in self._held.values():
            for layer in _layers_in(value):
                found.setdefault(id(layer), layer)
        return list(found.values())

    def _all_layers(self) -> list[Any]:
        """This layer, and all that it holds, directly or not, each once."""
        found: dict[int, Any] = {}
        pending: list[Any] = [self]
        while pending:
            layer = pending.pop(0)
            if id(layer) not in found:
                found[id(layer)] = layer
                pending += layer._children()
        return list(found.values())

    def _held_metrics(self) -> list[Any]:
        """The metrics that this layer and those in it hold."""
        values = [value for layer in self._all_layers() for value in layer._held.values()]
        flat = [one for value in values for one in (value if isinstance(value, (list, tuple)) else [value])]
        return [value for value in flat if isinstance(value, TrackingLayer) and value._is_metric]

    @property
    def name(self) -> str:
        """The name, with which the names of its variables begin."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The name of the variables' dtype; None before the first input, if it depends on that."""
        return self._dtype

    @property
    def trainable(self) -> bool:
        """Whether training changes the variables."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = value
        for layer in self._children():
            layer.trainable = value

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that training changes; none if the layer is not trainable."""
        if not self.trainable:
            return []
        return _once([*self._trainable_weights, *(w for c in self._children() for w in c.trainable_weights)])

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables that training leaves alone."""
        own = self._non_trainable_weights
        if not self.trainable:
            children = [w for c in self._children() for w in c.weights]
            return _once([*self._trainable_weights, *own, *children])
        return _once([*own, *(w for c in self._children() for w in c.non_trainable_weights)])

    @property
    def weights(self) -> list[Any]:
        """All variables, the trainable ones first."""
        return self.trainable_weights + self.non_trainable_weights

    @property
    def variables(self) -> list[Any]:
        """All variables, the trainable ones first."""
        return self.weights

    @property
    def trainable_variables(self) -> list[Any]:
        """The variables that training changes; none if the layer is not trainable."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The variables that training leaves alone."""
        return self.non_trainable_weights

    @property
    def losses(self) -> list[Any]:
        """The losses of regularizers and of `add_loss`, of this layer and those in it."""
        return [loss for layer in self._all_layers() for loss in layer._losses]

    @property
    def updates(self) -> list[Any]:
        """The operations of `add_update`, which training must run; none if the layer is not trainable."""
        if not self.trainable and not getattr(self, "stateful", False):
            return []
        return [
            update
            for layer in self._all_layers()
            if layer.trainable or getattr(layer, "stateful", False)
            for update in layer._updates
        ]

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """The losses that depend on these inputs; with None, those that depend on none."""
        marked = {loss for layer in self._all_layers() for loss in layer._conditional}
        return depending(self.losses, marked, inputs)

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """The updates that depend on these inputs; with None, those that depend on none."""
        marked = {update for layer in self._all_layers() for update in layer._conditional}
        return depending(self.updates, marked, inputs)

    def count_params(self) -> int:
        """The number of elements of all variables.

        Raises:
            ValueError: the layer has not been built yet.
        """
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on {self.name}, but the layer isn't built. You can build "
                f"it manually via: `{self.name}.build(batch_input_shape)`."
            )
        return sum(int(w.shape.num_elements()) for w in self.weights)

    def _checkpoint_children(self) -> dict[str, Any]:
        """Variables by the attributes that hold them, and layers likewise."""
        found = {name: value for name, value in vars(self).items() if isinstance(value, Variable)}
        known = {id(value) for value in found.values()}
        for variable in [*self._trainable_weights, *self._non_trainable_weights]:
            if id(variable) not in known:
                found[variable.op.name.rpartition("/")[2]] = variable
        return {**found, **self._held}


_INTERNAL = frozenset(
    (
        *("_inbound_nodes", "_outbound_nodes", "_losses", "_updates", "_metrics", "_conditional"),
        *("_trainable_weights", "_non_trainable_weights", "_held", "input_spec", "_batch_input_shape"),
        *("_initial_weights", "_compile_metrics", "inputs", "outputs", "_layers", "optimizer", "history"),
        *("_states", "_nested_inputs", "_nested_outputs", "_graph_of_layers", "_input_layers"),
        *("_output_layers", "input_names", "output_names", "_program", "_arguments", "_extra_metrics"),
    )
)


def _layers_in(value: Any) -> list[Any]:
    if isinstance(value, TrackingLayer):
        return [] if value._is_metric else [value]
    if isinstance(value, dict):
        return [layer for item in value.values() for layer in _layers_in(item)]
    if isinstance(value, (list, tuple)):
        return [layer for item in value for layer in _layers_in(item)]
    return []


def _once(values: list[Any]) -> list[Any]:
    return list({id(value): value for value in values}.values())
