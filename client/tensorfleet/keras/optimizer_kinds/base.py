"""What Keras's optimizers share: hyperparameters in variables, slots, clipping, the steps of an update."""

from __future__ import annotations

from typing import Any

from tensorfleet.autodiff.gradients import gradients
from tensorfleet.core import dtypes
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.keras import backend as K, initializer_classes as initializers, ops
from tensorfleet.keras.backend.state import track_variable
from tensorfleet.keras.nest import flatten
from tensorfleet.keras.optimizer_kinds.schedules import LearningRateSchedule, serialize as serialize_schedule
from tensorfleet.ops.state.resource_variables import ResourceVariable
from tensorfleet.ops.state.variables import Variable
from tensorfleet.train.object_graph import Tracked


class Optimizer(Tracked):
    """The base class of Keras's optimizers (`tf.keras.optimizers.Optimizer`).

    A subclass sets its hyperparameters by `_set_hyper`, makes slots in `_create_slots`, and implements
    `_resource_apply_dense` and `_resource_apply_sparse`. Hyperparameters are attributes; once there is a
    graph
    they are variables in it, which `tf.keras.backend.set_value` changes.

    Args:
        clipnorm: the greatest norm of each gradient.
        clipvalue: the greatest absolute value of its elements.
        lr: an older name of learning_rate.
        decay: by how much of itself the learning rate becomes less in each step.

    Raises:
        TypeError: an unknown argument.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        for argument in kwargs:
            if argument not in ("clipnorm", "clipvalue", "lr", "decay"):
                raise TypeError(f"Unexpected keyword argument passed to optimizer: {argument}")
            if kwargs[argument] is not None and kwargs[argument] < 0:
                raise ValueError(f"Expected {argument} >= 0, received: {kwargs[argument]}")
        self._name = name
        self._hyper: dict[str, Any] = {}
        self._slots: dict[int, dict[str, Any]] = {}
        self._primaries: list[Any] = []
        self._slot_names: list[str] = []
        self._weights: list[Any] = []
        self._iterations: Any = None
        self._graph: Any = None
        self._initial_decay = kwargs.pop("decay", 0.0) or 0.0
        self.clipnorm, self.clipvalue = kwargs.get("clipnorm"), kwargs.get("clipvalue")

    # Hyperparameters

    def _set_hyper(self, name: str, value: Any) -> None:
        known = self._hyper.get(name)
        if isinstance(known, Variable) and not isinstance(value, (Variable, LearningRateSchedule)):
            K.set_value(known, value)
        else:
            self._hyper[name] = value

    def _get_hyper(self, name: str, dtype: Any = None) -> Any:
        self._create_hypers()
        value = self._hyper[name]
        if isinstance(value, LearningRateSchedule):
            return value
        if callable(value) and not isinstance(value, Variable):
            value = value()
        return value if dtype is None else ops.cast(value, dtype)

    def __getattr__(self, name: str) -> Any:
        hyper = self.__dict__.get("_hyper", {})
        name = "learning_rate" if name == "lr" else name
        if name in hyper:
            return self._get_hyper(name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        hyper = self.__dict__.get("_hyper", {})
        if (wanted := "learning_rate" if name == "lr" else name) in hyper:
            self._set_hyper(wanted, value)
        else:
            super().__setattr__(name, value)

    def _create_hypers(self) -> None:
        graph = get_default_graph()
        if self._graph is graph:
            return
        if self._graph is not None:
            raise ValueError(
                "The optimizer has variables in another graph. Make a new one for this graph, "
                "for instance by "
                "type(optimizer).from_config(optimizer.get_config())."
            )
        self._graph = graph
        _ = self.iterations
        for name, value in sorted(self._hyper.items()):
            if (
                isinstance(value, (Variable, LearningRateSchedule))
                or hasattr(value, "graph")
                or callable(value)
            ):
                continue
            self._hyper[name] = self._variable(name, value, dtypes.float32, keep=False)

    def _variable(self, name: str, value: Any, dtype: Any, keep: bool = True) -> Any:
        with ops.init_scope():
            made = Variable(value, trainable=False, name=name, dtype=dtype, use_resource=True)
        track_variable(made)
        if keep:
            self._weights.append(made)
        return made

    def _serialize_hyperparameter(self, name: str) -> Any:
        value = self._hyper[name]
        if isinstance(value, LearningRateSchedule):
            return serialize_schedule(value)
        if isinstance(value, Variable):
            return float(K.get_value(value))
        return value() if callable(value) else value

    @property
    def iterations(self) -> Any:
        """The number of updates, a variable."""
        if self._iterations is None:
            self._iterations = self._variable("iter", 0, dtypes.int64, keep=False)
            self._weights.insert(0, self._iterations)
        return self._iterations

    @iterations.setter
    def iterations(self, variable: Any) -> None:
        if self._iterations is not None:
            raise RuntimeError(
                "Cannot set `iterations` to a new Variable after the Optimizer weights have been created"
            )
        self._iterations = variable
        self._weights.insert(0, variable)

    # Slots

    def add_slot(self, var: Any, slot_name: str, initializer: Any = "zeros") -> Any:
        """The slot of a variable, made if it is not there: a variable of its shape."""
        if id(var) not in self._slots:
            self._primaries.append(var)
        slots = self._slots.setdefault(id(var), {})
        if slot_name not in slots:
            if slot_name not in self._slot_names:
                self._slot_names.append(slot_name)
            make = initializers.get(initializer)
            with ops.colocate_with(var.op):
                slots[slot_name] = self._variable(
                    f"{var.op.name}/{slot_name}",
                    lambda: make(var.shape.as_list(), dtype=var.dtype.base) if callable(make) else make,
                    var.dtype.base,
                )
        return slots[slot_name]

    def get_slot(self, var: Any, slot_name: str) -> Any:
        """The slot of a variable."""
        return self._slots[id(var)][slot_name]

    def get_slot_names(self) -> list[str]:
        """The names of all slots."""
        return list(self._slot_names)

    def add_weight(
        self, name: str, shape: Any, dtype: Any = None, initializer: Any = "zeros", trainable: Any = None
    ) -> Any:
        """A variable of the optimizer."""
        make = initializers.get(initializer)
        wanted = dtypes.as_dtype(dtype or dtypes.float32)
        return self._variable(name, lambda: make(list(shape), dtype=wanted), wanted)

    def _create_slots(self, var_list: list[Any]) -> None:
        pass

    # Updates

    def get_gradients(self, loss: Any, params: Any) -> list[Any]:
        """The gradients of a loss by variables, clipped.

        Raises:
            ValueError: a variable has none.
        """
        params = list(flatten(params))
        found = gradients(loss, params)
        for gradient, param in zip(found, params, strict=True):
            if gradient is None:
                raise ValueError(
                    f"Variable {param} has `None` for gradient. Please make sure that all of your ops have a "
                    "gradient defined (i.e. are differentiable). Common ops without gradient: "
                    "K.argmax, K.round, "
                    "K.eval."
                )
        return self._clipped(found)

    def _clipped(self, found: list[Any]) -> list[Any]:
        if self.clipnorm is not None:
            found = [ops.clip_by_norm(g, self.clipnorm) for g in found]
        if self.clipvalue is not None:
            found = [ops.clip_by_value(g, -self.clipvalue, self.clipvalue) for g in found]
        return found

    def get_updates(self, loss: Any, params: Any) -> list[Any]:
        """The operations that make the loss less by one step."""
        params = list(params)
        found = self.get_gradients(loss, params)
        return [self.apply_gradients(zip(found, params, strict=True))]

    def minimize(self, loss: Any, var_list: Any, grad_loss: Any = None, name: str | None = None) -> Any:
        """The operation that makes a loss less by one step: a tensor, or a function that makes it."""
        return self.apply_gradients(
            self._compute_gradients(loss, var_list=var_list, grad_loss=grad_loss), name=name
        )

    def _compute_gradients(self, loss: Any, var_list: Any, grad_loss: Any = None) -> list[tuple[Any, Any]]:
        """(gradient, variable) for each variable; optimizers of programs may override it."""
        variables = list(flatten(var_list() if callable(var_list) else var_list))
        value = loss() if callable(loss) else loss
        found = gradients(value, variables, grad_ys=grad_loss)
        clipped = iter(self._clipped([g for g in found if g is not None]))
        return [(None if g is None else next(clipped), v) for g, v in zip(found, variables, strict=True)]

    def apply_gradients(self, grads_and_vars: Any, name: str | None = None) -> Any:
        """The operation that changes variables by their gradients.

        Raises:
            ValueError: there are no gradients.
            NotImplementedError: a variable that is no resource variable.
        """
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        if not pairs:
            raise ValueError("No gradients provided for any variable.")
        for _, variable in pairs:
            if not isinstance(variable, ResourceVariable):
                raise NotImplementedError(
                    f"Trying to update {variable}: Keras's optimizers change resource variables. "
                    f"Make it with "
                    "use_resource=True, or use an optimizer of tf.train."
                )
        with ops.init_scope(), ops.name_scope(self._name):
            _ = self.iterations
            self._create_hypers()
            self._create_slots([v for _, v in pairs])
        with ops.name_scope(name or self._name):
            self._prepare([v for _, v in pairs])
            updates = []
            for gradient, variable in pairs:
                with ops.name_scope("update"), ops.colocate_with(variable.op):
                    updates.append(self._update(gradient, variable))
            with ops.control_dependencies(updates):
                return ops.assign_add(self.iterations, ops.cast(1, self.iterations.dtype.base)).op

    def _prepare(self, var_list: list[Any]) -> None:
        """Computes what all updates have in common, once."""
        self._rate = self._decayed_lr(dtypes.float32) if "learning_rate" in self._hyper else None

    def _update(self, gradient: Any, variable: Any) -> Any:
        if isinstance(gradient, ops.IndexedSlices):
            values, indices = _summed(gradient)
            update = self._resource_apply_sparse(values, variable, indices)
        else:
            update = self._resource_apply_dense(gradient, variable)
        if variable.constraint is None:
            return update
        with ops.control_dependencies([update]):
            return ops.assign(variable, variable.constraint(variable.read_value())).op

    def _resource_apply_dense(self, grad: Any, var: Any) -> Any:
        raise NotImplementedError

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
        raise NotImplementedError

    def _decayed_lr(self, var_dtype: Any) -> Any:
        """The learning rate of this step."""
        rate = self._get_hyper("learning_rate")
        if isinstance(rate, LearningRateSchedule):
            rate = rate(self.iterations)
        rate = ops.cast(rate, var_dtype)
        if self._initial_decay:
            decay = ops.cast(self._get_hyper("decay"), var_dtype)
            rate = rate / (1.0 + decay * ops.cast(self.iterations, var_dtype))
        return rate

    def _scatter_add(self, var: Any, indices: Any, values: Any) -> Any:
        return ops.apply_none("ResourceScatterAdd", var.handle, indices, values)

    # State

    @property
    def weights(self) -> list[Any]:
        """The number of updates and the slots, variables."""
        return list(self._weights)

    def variables(self) -> list[Any]:
        """The same as `weights`."""
        return list(self._weights)

    def get_weights(self) -> list[Any]:
        """The values of `weights`."""
        return K.batch_get_value(self.weights)

    def set_weights(self, weights: Any) -> None:
        """Sets the values of `weights`.

        Raises:
            ValueError: not as many as there are, or another shape.
        """
        if len(weights) != len(self._weights):
            raise ValueError(
                f"You called `set_weights(weights)` on optimizer {self._name} with a  weight list of length "
                f"{len(weights)}, but the optimizer was expecting {len(self._weights)} weights."
            )
        K.batch_set_value(list(zip(self._weights, weights, strict=True)))

    def _checkpoint_children(self) -> dict[str, Any]:
        own = {name: value for name, value in self._hyper.items() if isinstance(value, Variable)}
        return own if self._iterations is None else {"iter": self._iterations, **own}

    def _checkpoint_slots(self) -> list[tuple[Any, str, Any]]:
        return [
            (variable, name, slot)
            for variable, slots in zip(self._primaries, self._slots.values(), strict=True)
            for name, slot in slots.items()
        ]

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        config: dict[str, Any] = {"name": self._name}
        if self.clipnorm is not None:
            config["clipnorm"] = self.clipnorm
        if self.clipvalue is not None:
            config["clipvalue"] = self.clipvalue
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """An optimizer with the arguments of `get_config`."""
        config = dict(config)
        if "lr" in config:
            config["learning_rate"] = config.pop("lr")
        rate = config.get("learning_rate")
        if isinstance(rate, dict):
            from tensorfleet.keras.optimizer_kinds.schedules import deserialize

            config["learning_rate"] = deserialize(rate, custom_objects)
        return cls(**config)


def _summed(gradient: Any) -> tuple[Any, Any]:
    """The rows of a gradient, those of one index added up."""
    unique, positions = ops.unique(gradient.indices)
    return ops.unsorted_segment_sum(gradient.values, positions, ops.shape(unique)[0]), unique
