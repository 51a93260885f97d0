"""`tf.keras.layers.Layer`: variables that are made at the first call, and what a call leaves behind."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.keras import (
    backend as K,
    constraint_classes as constraints,
    initializer_classes as initializers,
    nest,
    ops,
    regularizer_classes as regularizers,
)
from tensorfleet.keras.backend.state import track_variable, unique_name
from tensorfleet.keras.engine import context
from tensorfleet.keras.engine.layer_inputs import LayerEnds
from tensorfleet.keras.engine.node import Node, history
from tensorfleet.keras.engine.tracking import TrackingLayer
from tensorfleet.layers.base import snake_case
from tensorfleet.layers.input_spec import check_inputs
from tensorfleet.layers.weight_values import WeightValues
from tensorfleet.ops.state.variable_options import VariableAggregation, VariableSynchronization
from tensorfleet.ops.state.variables import Variable

_ALLOWED = frozenset(
    ("input_shape", "batch_input_shape", "batch_size", "weights", "activity_regularizer", "autocast")
)


class Layer(TrackingLayer, LayerEnds, WeightValues):
    """A function with variables (`tf.keras.layers.Layer`).

    A subclass makes its variables in `build` with `add_weight`, and computes in `call`. Layers and variables
    that are assigned to attributes belong to it.

    Args:
        trainable: whether training changes the variables.
        name: the name scope, by default the name of the class, made unique in the graph.
        dtype: the dtype of the variables, by default that of the first input.
        input_shape, batch_input_shape, batch_size: the shape of inputs, for the first layer of a Sequential.
        weights: initial values of the variables.
        activity_regularizer: a function from an output to a loss, which is divided by the batch size.

    Raises:
        TypeError: an unknown argument.
    """

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: Any = None,
        dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        for argument in kwargs:
            if argument not in _ALLOWED:
                raise TypeError("Keyword argument not understood:", argument)
        if dynamic:
            raise NotImplementedError(
                "Layers with dynamic=True need eager mode, which is not part of TensorFleet."
            )
        self._start_tracking()
        self._trainable = trainable
        self._name = self._init_name(name)
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype).name
        self.built = False
        self.stateful = False
        self.supports_masking = False
        self.input_spec: Any = None
        self._inbound_nodes: list[Node] = []
        self._outbound_nodes: list[Node] = []
        self._losses: list[Any] = []
        self._updates: list[Any] = []
        self._conditional: set[Any] = set()
        self._metrics: list[Any] = []
        self._initial_weights = kwargs.get("weights")
        self._activity_regularizer = regularizers.get(kwargs.get("activity_regularizer"))
        batch = kwargs.get("batch_size")
        if "batch_input_shape" in kwargs:
            self._batch_input_shape: Any = tuple(kwargs["batch_input_shape"])
        elif "input_shape" in kwargs:
            given = kwargs["input_shape"]
            self._batch_input_shape = (batch, *([given] if isinstance(given, int) else given))

    def _init_name(self, name: str | None) -> str:
        return name or unique_name(snake_case(type(self).__name__))

    def _name_scope(self) -> str:
        return self._name

    # What subclasses override

    def build(self, input_shape: Any) -> None:
        """Makes the variables; subclasses with variables override it."""
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Computes the outputs; subclasses override it."""
        return inputs

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the outputs: that of the inputs, if the layer supports masks.

        Raises:
            TypeError: the inputs have a mask, and the layer does not support it.
        """
        if not self.supports_masking:
            if any(m is not None for m in nest.flatten(mask)):
                raise TypeError(
                    f"Layer {self.name} does not support masking, but was passed an input_mask: {mask}"
                )
            return None
        return mask

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the outputs; by default the layer is called on placeholders to find it."""
        with ops.name_scope("shapes"):
            made = [
                ops.placeholder(dtypes.as_dtype(self.dtype or K.floatx()), TensorShape(shape))
                for shape in (input_shape if isinstance(input_shape, list) else [input_shape])
            ]
            outputs = self(made if isinstance(input_shape, list) else made[0])
        return nest.map_structure(lambda t: t.shape, outputs)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        config: dict[str, Any] = {"name": self.name, "trainable": self.trainable}
        if hasattr(self, "_batch_input_shape"):
            config["batch_input_shape"] = self._batch_input_shape
        config["dtype"] = self.dtype
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A layer with the arguments of `get_config`."""
        return cls(**config)

    # Variables, losses, updates

    def add_weight(
        self,
        name: str | None = None,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        partitioner: Any = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        **kwargs: Any,
    ) -> Any:
        """A new variable of the layer.

        Args:
            regularizer: a function from the variable to a loss of the layer.
            constraint: a function from the variable to its value after an update.
        """
        if synchronization is VariableSynchronization.ON_READ:
            if trainable:
                raise ValueError(
                    "Synchronization value can be set to VariableSynchronization.ON_READ only for "
                    "non-trainable variables. You have specified trainable=True and "
                    "synchronization=VariableSynchronization.ON_READ."
                )
            trainable = False
        trainable = trainable is None or bool(trainable)
        wanted = dtypes.as_dtype(dtype or self.dtype or K.floatx())
        if self._dtype is None:
            self._dtype = wanted.base.name
        initializer = initializers.get(initializer)
        if initializer is None:
            initializer = initializers.get("glorot_uniform" if wanted.is_floating else "zeros")
        sizes = TensorShape(() if shape is None else shape).as_list()
        first = kwargs.get("getter") or Variable
        with ops.init_scope():
            variable = first(
                initial_value=functools.partial(initializer, sizes, dtype=wanted),
                name=name,
                trainable=trainable,
                dtype=wanted,
                constraint=constraints.get(constraint),
                use_resource=use_resource is None or use_resource,
                synchronization=synchronization,
                aggregation=aggregation,
                collections=kwargs.get("collections"),
            )
            track_variable(variable)
            self._own_variable(variable, trainable)
            if regularizer is not None:
                with ops.colocate_with(variable.op), ops.name_scope(f"{name}/Regularizer"):
                    self._losses.append(regularizers.get(regularizer)(variable))
        return variable

    add_variable = add_weight

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds losses, tensors or functions that make them, to the model's.

        Args:
            inputs: what they depend on, if that is not the inputs of the call.
        """
        for loss in nest.to_list(losses):
            if loss is None:
                continue
            made = loss() if callable(loss) else loss
            made = made if isinstance(made, Tensor) else convert_to_tensor(made, dtypes.as_dtype(K.floatx()))
            self._losses.append(made)
            if inputs is not None or (context.in_call() and not callable(loss)):
                self._conditional.add(made)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Adds operations, or pairs of a variable and its new value, which training runs.

        A layer that is frozen, or within one that is, adds none.
        """
        if context.in_frozen():
            return
        for update in nest.to_list(updates) if not isinstance(updates, tuple) else [updates]:
            made = update() if callable(update) else update
            operation = ops.assign(*made).op if isinstance(made, tuple) else getattr(made, "op", made)
            self._updates.append(operation)
            if inputs is not None or context.in_call():
                self._conditional.add(operation)

    def add_metric(self, value: Any, aggregation: str | None = None, name: str | None = None) -> None:
        """Adds a metric of a tensor, whose mean over the batches of an epoch is reported.

        Args:
            aggregation: "mean", or None for the result of a metric object.
        """
        if aggregation not in (None, "mean"):
            raise ValueError(
                "We currently support only `mean` sample-wise metric aggregation. "
                f"You provided aggregation=`{aggregation}`"
            )
        self._metrics.append((name or self.name, value, aggregation))

    # Calls

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The same as calling the layer."""
        return self(inputs, *args, **kwargs)

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        inputs = nest.map_structure(_as_tensor, inputs)
        is_outermost = not context.in_call()
        if is_outermost:
            self._complete_history([inputs, kwargs])
        given, arguments = kwargs, dict(kwargs)
        self._take_mask(inputs, args, arguments)
        training = self._take_training(args, arguments)
        with context.calling(self, training, inputs), ops.name_scope(self._name_scope()):
            self._maybe_build(inputs)
            outputs = self.call(inputs, *args, **arguments)
            if outputs is None:
                raise ValueError(
                    f"A layer's `call` method should return a Tensor or a list of Tensors, not None (layer: "
                    f"{self.name})."
                )
            known = {id(t) for t in nest.flatten(inputs)}
            outputs = nest.map_structure(
                lambda t: ops.identity(t) if id(t) in known and isinstance(t, Tensor) else t, outputs
            )
            if self._activity_regularizer is not None:
                self._regularize(outputs)
            self._set_masks(inputs, outputs, arguments.get("mask"))
        if is_outermost and any(history(t) is not None for t in nest.flatten(inputs)):
            names = [name for name in self._call_arguments() if name not in given][: len(args)]
            Node(self, inputs, outputs, {**dict(zip(names, args, strict=False)), **given})
        return outputs

    def _complete_history(self, tensors: Any) -> None:
        """Makes layers of the ops between layers and these tensors; overridden where op layers are known."""
        complete = Layer._history_completer
        if complete is not None:
            complete(tensors)

    _history_completer: Any = None

    def _call_arguments(self) -> list[str]:
        """The names of the arguments of `call` behind the first, the inputs."""
        names = list(inspect.signature(self.call).parameters)
        return names[1:]

    def _expects(self, argument: str) -> bool:
        parameters = inspect.signature(self.call).parameters
        return argument in parameters

    def _take_mask(self, inputs: Any, args: Any, arguments: dict[str, Any]) -> None:
        if arguments.get("mask") is not None or not self._expects("mask"):
            return
        if len(args) > self._call_arguments().index("mask"):
            return
        masks = nest.map_structure(lambda t: getattr(t, "_keras_mask", None), inputs)
        if any(mask is not None for mask in nest.flatten(masks)):
            arguments["mask"] = masks
        else:
            arguments.pop("mask", None)

    def _take_training(self, args: Any, arguments: dict[str, Any]) -> Any:
        """The training argument of the call: given, or that of the layer around, or None: the learning phase
        is left to the layer."""
        if not self._expects("training"):
            return context.current_training()
        position = self._call_arguments().index("training")
        if len(args) > position:
            return args[position]
        training = arguments.get("training")
        if training is None:
            training = context.current_training()
        arguments["training"] = training
        return training

    def _maybe_build(self, inputs: Any) -> None:
        check_inputs(self.input_spec, inputs, self.name)
        if self.built:
            return
        tensors = [t for t in nest.flatten(inputs) if hasattr(t, "dtype")]
        if self._dtype is None and tensors:
            base = tensors[0].dtype.base
            self._dtype = base.name if base.is_floating or base.is_complex else None
        shapes = nest.map_structure(lambda t: t.shape, inputs)
        with ops.init_scope():
            self.build(shapes)
        self.built = True
        if self._initial_weights is not None:
            self.set_weights(self._initial_weights)
            self._initial_weights = None

    def _regularize(self, outputs: Any) -> None:
        with ops.name_scope("ActivityRegularizer"):
            for output in nest.flatten(outputs):
                loss = self._activity_regularizer(output)
                self.add_loss(loss / ops.cast(ops.shape(output)[0], loss.dtype.base), inputs=True)

    def _set_masks(self, inputs: Any, outputs: Any, mask: Any) -> None:
        if mask is None:
            mask = nest.map_structure(lambda t: getattr(t, "_keras_mask", None), inputs)
            if not any(m is not None for m in nest.flatten(mask)):
                mask = None
        flat = [t for t in nest.flatten(outputs) if isinstance(t, Tensor)]
        if all(getattr(t, "_keras_mask", None) is not None for t in flat):
            return
        masks = self.compute_mask(inputs, mask) if self.supports_masking or _own_mask(self) else None
        if masks is None:
            return
        for output, one in zip(flat, nest.flatten(masks), strict=False):
            setattr(output, "_keras_mask", one)  # noqa: B010 - one of the Tensor's slots

    def _read(self, variables: Sequence[Any]) -> list[Any]:
        return K.batch_get_value(list(variables))

    def _write(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        K.batch_set_value(pairs)


def _own_mask(layer: Layer) -> bool:
    return type(layer).compute_mask is not Layer.compute_mask


def _as_tensor(value: Any) -> Any:
    if isinstance(value, (Tensor, ops.SparseTensor)) or value is None:
        return value
    if isinstance(value, Variable) or not hasattr(value, "dims"):
        return convert_to_tensor(value)
    return value
