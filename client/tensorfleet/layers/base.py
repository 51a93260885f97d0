"""`tf.layers.Layer`, which makes its variables at the first call and reuses them later."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

from tensorfleet.core import dtypes, structures
from tensorfleet.core.dtypes import DType
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.tensor import Tensor
from tensorfleet.layers.configuration import Configuration
from tensorfleet.layers.dependencies import depending
from tensorfleet.layers.input_spec import check_inputs
from tensorfleet.layers.weight_values import WeightValues
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.partitioned_variables import PartitionedVariable
from tensorfleet.ops.state.ref_variable import RefVariable
from tensorfleet.ops.state.variable_options import VariableAggregation, VariableSynchronization
from tensorfleet.ops.state.variable_scope import VariableScope, variable_scope

_NAMES = ("__layer_names",)
"""The key of the collection that counts a graph's layers by the name of their class; no string."""


def unique_layer_name(base: str) -> str:
    """`base` with a number, from 1 on, that makes it unique among the layers of the default graph."""
    held = get_default_graph().get_collection_ref(_NAMES)
    if not held:
        held.append({})
    counts: dict[str, int] = held[0]
    counts[base] = counts.get(base, 0) + 1
    return f"{base}_{counts[base]}"


def snake_case(name: str) -> str:
    """The name of a class in snake case: `Conv2DTranspose` becomes conv2d_transpose."""
    parts = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    joined = re.sub(r"([a-z])([A-Z])", r"\1_\2", parts).lower()
    return f"private{joined}" if joined.startswith("_") else joined


class Layer(Configuration, WeightValues):
    """A function with variables (`tf.layers.Layer`).

    A subclass makes its variables in `build` with `add_weight`, and computes in `call`. The variables are in
    the variable scope of the first call; later calls use the same ones.

    Args:
    trainable: whether optimizers may change the variables.
    name: the variable scope, a name or a VariableScope; by default the name of the class, made unique.
    dtype: the dtype of the variables, by default that of the first input.
    activity_regularizer: a function from an output to a loss, which is divided by the batch size.
    _scope, _reuse: the scope and its reuse, for the functions of `tf.layers`.

    Raises:
    TypeError: an unknown argument.
    """

    def __init__(
        self,
        trainable: bool = True,
        name: Any = None,
        dtype: Any = None,
        activity_regularizer: Any = None,
        _scope: Any = None,
        _reuse: Any = None,
        **kwargs: Any,
    ) -> None:
        if kwargs:
            raise TypeError("Keyword argument not understood:", next(iter(kwargs)))
        self.trainable = trainable
        self.built = False
        self.input_spec: Any = None
        self.activity_regularizer = activity_regularizer
        self._dtype: DType | None = None if dtype is None else dtypes.as_dtype(dtype)
        self._reuse = _reuse
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._losses: list[Any] = []
        self._updates: list[Any] = []
        self._conditional_losses: list[Any] = []
        self._inputs_of_updates: list[tuple[Any, list[Tensor]]] = []
        self._base_name, self._name = self._names(name)
        self._current_scope: VariableScope | None = None
        self._scope: VariableScope | None = None
        if _scope:
            with variable_scope(_scope) as scope:
                self._scope = scope

    def _names(self, name: Any) -> tuple[str, str]:
        base = snake_case(type(self).__name__)
        if isinstance(name, VariableScope):
            return name.name, unique_layer_name(base)
        return (name, name) if name else (base, unique_layer_name(base))

    @property
    def name(self) -> str:
        """The name, with which its variable scope begins."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The dtype of the variables; None before the first input, if it depends on that."""
        return None if self._dtype is None else self._dtype.name

    @property
    def scope_name(self) -> str:
        """The name of the variable scope.

        Raises:
            ValueError: the layer has not been called yet.
        """
        if self._scope is None:
            raise ValueError(
                f'No name available for layer scope because the layer "{self._name}" has not been used yet. '
                "The scope name is determined the first time the layer instance is called. You must "
                "therefore call the layer before querying `scope_name`."
            )
        return self._scope.name

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that optimizers change; none if the layer is not trainable."""
        return list(self._trainable_weights) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables that optimizers leave alone."""
        weights = self._non_trainable_weights
        return list(weights) if self.trainable else [*self._trainable_weights, *weights]

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
        """The variables that optimizers change; none if the layer is not trainable."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The variables that optimizers leave alone."""
        return self.non_trainable_weights

    @property
    def losses(self) -> list[Any]:
        """The losses of regularizers and of `add_loss`."""
        return list(self._losses)

    @property
    def updates(self) -> list[Any]:
        """The operations of `add_update`, which training must run beside those of the optimizer."""
        return list(self._updates) if self.trainable else []

    def count_params(self) -> int:
        """The number of elements of all variables.

        Raises:
            ValueError: the layer has not been built yet.
        """
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on {self._name}, but the layer isn't built. You can "
                "build it "
                "manually via: `layer.build(batch_input_shape)`."
            )
        return sum(int(v.shape.num_elements()) for v in self.weights)

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds losses to the layer and to the collection REGULARIZATION_LOSSES.

        Args:
            inputs: the tensors that they depend on; None if `get_losses_for` gives them for None.
        """
        added = [loss for loss in structures.flatten(losses) if loss is not None]
        self._losses += added
        if inputs is not None:
            self._conditional_losses += added
        _add_once(added, GraphKeys.REGULARIZATION_LOSSES)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Adds operations that training must run; a call puts them into the collection UPDATE_OPS."""
        for update in structures.flatten(updates):
            self._updates.append(update.op if isinstance(update, Tensor) else update)

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """The losses that depend on these inputs; with None, those that were added without any."""
        return depending(self.losses, set(self._conditional_losses), inputs)

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """The updates that depend on these inputs; with None, those that no call's inputs lead to."""
        marked = {
            update
            for update, inputs_of_call in self._inputs_of_updates
            if depending([update], {update}, inputs_of_call)
        }
        return depending(self.updates, marked, inputs)

    def build(self, input_shape: Any) -> None:
        """Makes the variables; subclasses with variables override it."""
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Computes the outputs; subclasses override it."""
        return inputs

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The same as calling the layer."""
        return self(inputs, *args, **kwargs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the outputs.

        Raises:
            NotImplementedError: the class does not implement this method.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement compute_output_shape.")

    def add_weight(
        self,
        name: str,
        shape: Any,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        partitioner: Any = None,
    ) -> Any:
        """A variable of the layer: made, or reused if the scope does.

        Args:
            regularizer: a function from the variable (each part of a partitioned one) to a loss, which is
                added when the variable is made.

        Raises:
            ValueError: a trainable variable with `synchronization` ON_READ.
        """
        if synchronization is VariableSynchronization.ON_READ:
            if trainable:
                raise ValueError(
                    "Synchronization value can be set to VariableSynchronization.ON_READ only for "
                    "non-trainable variables. You have specified trainable=True and "
                    "synchronization=VariableSynchronization.ON_READ."
                )
            trainable = False
        self._set_scope(None)
        before = {id(v) for v in framework.get_collection(GraphKeys.GLOBAL_VARIABLES)}
        wanted = trainable is not False and self.trainable
        with variable_scope(
            self._scope, reuse=self.built or self._reuse, auxiliary_name_scope=False
        ) as scope:
            self._current_scope = scope
            with framework.name_scope(scope.original_name_scope):
                variable = get_variable(
                    name,
                    shape,
                    dtype=dtypes.as_dtype(dtype or self._dtype or dtypes.float32),
                    initializer=initializer,
                    trainable=wanted,
                    constraint=constraint,
                    use_resource=use_resource,
                    synchronization=synchronization,
                    aggregation=aggregation,
                    partitioner=partitioner,
                )
                new = [part for part in parts_of(variable) if id(part) not in before]
                for part in new if regularizer is not None else []:
                    with framework.colocate_with(part.op), framework.name_scope(f"{name}/Regularizer"):
                        self.add_loss(regularizer(part))
        self._keep(variable, wanted)
        return variable

    add_variable = add_weight

    def _keep(self, variable: Any, trainable: bool = True) -> None:
        """Adds a variable to the layer's; a custom getter may have changed whether it is trainable."""
        for part in parts_of(variable):
            kept = (
                self._trainable_weights if trainable and _is_trainable(part) else self._non_trainable_weights
            )
            if all(part is not other for other in kept):
                kept.append(part)

    def _set_scope(self, scope: Any) -> None:
        if self._scope is not None:
            return
        if self._reuse:
            opened = variable_scope(self._base_name if scope is None else scope)
        else:
            opened = variable_scope(scope, default_name=self._base_name)
        with opened as made:
            self._scope = made

    def __call__(self, inputs: Any, *args: Any, scope: Any = None, **kwargs: Any) -> Any:
        """The outputs of `call`, in the layer's scope; the first call builds the variables.

        Raises:
            ValueError: the inputs do not fit the layer.
        """
        self._set_scope(scope)
        reuse = True if self.built else self._reuse
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as current:
            self._current_scope = current
            if "scope" in inspect.signature(self.call).parameters:
                kwargs["scope"] = current
            with framework.name_scope(current.original_name_scope):
                inputs = structures.map_structure(_as_tensor, inputs)
                self._build_for(inputs)
                known = len(self._updates)
                outputs = self.call(inputs, *args, **kwargs)
                given = [t for t in structures.flatten(inputs) if isinstance(t, Tensor)]
                self._inputs_of_updates += [(update, given) for update in self._updates[known:]]
                if self.activity_regularizer is not None:
                    self._regularize(outputs)
        _add_once(self.updates, GraphKeys.UPDATE_OPS)
        return outputs

    def _build_for(self, inputs: Any) -> None:
        check_inputs(self.input_spec, inputs, self._name)
        if self.built:
            return
        tensors = [t for t in structures.flatten(inputs) if isinstance(t, Tensor)]
        if self._dtype is None and tensors:
            self._dtype = tensors[0].dtype.base
        shapes = structures.map_structure(lambda t: t.shape, inputs)
        self.build(shapes)
        # The `build` of a subclass need not set it.
        self.built = True

    def _regularize(self, outputs: Any) -> None:
        with framework.name_scope("ActivityRegularizer"):
            for output in structures.flatten(outputs):
                loss = self.activity_regularizer(output)
                batch = cast(apply_one("Shape", output)[0], loss.dtype.base)
                self.add_loss(loss / batch, inputs=output)


def run_layer(layer: type[Layer], arguments: dict[str, Any]) -> Tensor:
    """The outputs of a new layer for "inputs", from the arguments of a function of `tf.layers`.

    "training" is an argument of the call; "reuse", with "name", determines the variable scope; all others are
    arguments of the layer.
    """
    given = dict(arguments)
    inputs = given.pop("inputs")
    at_call = {"training": given.pop("training")} if "training" in given else {}
    if "reuse" in given:
        given |= {"_scope": given["name"], "_reuse": given.pop("reuse")}
    outputs: Tensor = layer(**given)(inputs, **at_call)
    return outputs


def parts_of(variable: Any) -> list[Any]:
    """The parts of a partitioned variable; another variable is its only part."""
    return list(variable) if isinstance(variable, PartitionedVariable) else [variable]


def _is_trainable(variable: Any) -> bool:
    """Whether optimizers of the default graph change the variable by default."""
    return any(v is variable for v in framework.get_collection(GraphKeys.TRAINABLE_VARIABLES))


def _as_tensor(value: Any) -> Any:
    # Layers take values: a reference is needed only where an op asks for one.
    return convert_to_tensor(value) if isinstance(value, RefVariable) or not hasattr(value, "dims") else value


def _add_once(elements: Iterable[Any], collection: str) -> None:
    held = framework.get_collection_ref(collection)
    for element in elements:
        if all(element is not other for other in held):
            held.append(element)
