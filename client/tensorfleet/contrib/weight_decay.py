"""Optimizers with decoupled weight decay (Loshchilov and Hutter, arXiv:1711.05101): `tf.contrib.opt`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.indexed_slices import IndexedSlices
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.state.variable_ops import scatter_add
from tensorfleet.train.adam import AdamOptimizer
from tensorfleet.train.optimizer import Optimizer, as_type_of, number
from tensorfleet.train.optimizers import MomentumOptimizer

if TYPE_CHECKING:
    _Base = Optimizer
else:
    _Base = object


class DecoupledWeightDecayExtension(_Base):
    """Makes an optimizer subtract `weight_decay` · variable before each update
    (`tf.contrib.opt.DecoupledWeightDecayExtension`).

    It comes before the optimizer in the bases of a class. The decay is not multiplied by the learning rate:
    programs with a learning rate schedule should give the weight decay the same schedule. A sparse gradient
    decays only its rows.

    Args:
        weight_decay: a number, or a tensor of rank 0.
        args, kwargs: the optimizer's arguments.
    """

    def __init__(self, weight_decay: Any, *args: Any, **kwargs: Any) -> None:
        self._decay_var_list: set[int] | None = None
        self._weight_decay = weight_decay
        super().__init__(*args, **kwargs)

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
        decay_var_list: Any = None,
    ) -> Any:
        """`Optimizer.minimize` with weight decay.

        Args:
            decay_var_list: the variables to decay, by default all that are updated.
        """
        self._set_decayed(decay_var_list)
        return super().minimize(
            loss,
            global_step=global_step,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            name=name,
            grad_loss=grad_loss,
        )

    def apply_gradients(
        self,
        grads_and_vars: Iterable[Any],
        global_step: Any = None,
        name: str | None = None,
        decay_var_list: Any = None,
    ) -> Any:
        """`Optimizer.apply_gradients` with weight decay; `decay_var_list` as in `minimize`."""
        if decay_var_list is not None:
            self._set_decayed(decay_var_list)
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _set_decayed(self, variables: Any) -> None:
        self._decay_var_list = {id(v) for v in variables} if variables else None

    def _prepare(self) -> None:
        self._decay_tensor = number(self._weight_decay, "weight_decay")
        super()._prepare()

    def _decays(self, var: Any) -> bool:
        return self._decay_var_list is None or id(var) in self._decay_var_list

    def _decayed(self, var: Any, grad: Tensor) -> list[Any]:
        """The operation that decays a variable, after the gradient was computed and before the update."""
        if not self._decays(var):
            return []
        with framework.control_dependencies([grad]):
            value = var.read_value()
            return [var.assign_sub(as_type_of(self._decay_tensor, var) * value, self._use_locking)]

    def _decayed_rows(self, var: Any, grad: Tensor, indices: Tensor) -> list[Any]:
        if not self._decays(var):
            return []
        with framework.control_dependencies([grad]):
            rows = -as_type_of(self._decay_tensor, var) * gather(var.read_value(), indices)
            if hasattr(var, "handle"):
                return [apply_op("ResourceScatterAdd", var.handle, indices, rows)]
            return [scatter_add(var, indices, rows, use_locking=self._use_locking)]

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        with framework.control_dependencies(self._decayed(var, grad)):
            return super()._apply_dense(grad, var)

    def _resource_apply_dense(self, grad: Tensor, var: Any) -> Any:
        with framework.control_dependencies(self._decayed(var, grad)):
            return super()._resource_apply_dense(grad, var)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        with framework.control_dependencies(self._decayed_rows(var, grad.values, grad.indices)):
            return super()._apply_sparse(grad, var)

    def _resource_apply_sparse(self, grad: Tensor, var: Any, indices: Tensor) -> Any:
        with framework.control_dependencies(self._decayed_rows(var, grad, indices)):
            return super()._resource_apply_sparse(grad, var, indices)


def extend_with_decoupled_weight_decay(base_optimizer: type[Any]) -> type[Any]:
    """An optimizer class with weight decay (`tf.contrib.opt.extend_with_decoupled_weight_decay`).

    Returns:
        A class whose arguments are `weight_decay` and those of `base_optimizer`.
    """

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):  # type: ignore[misc]
        """The base optimizer with weight decay; see DecoupledWeightDecayExtension."""

        def __init__(self, weight_decay: Any, *args: Any, **kwargs: Any) -> None:
            super().__init__(weight_decay, *args, **kwargs)

    return OptimizerWithDecoupledWeightDecay


class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """Momentum with weight decay (`tf.contrib.opt.MomentumWOptimizer`), the paper's SGDW."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            momentum=momentum,
            use_locking=use_locking,
            name=name,
            use_nesterov=use_nesterov,
        )


class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """Adam with weight decay (`tf.contrib.opt.AdamWOptimizer`), the paper's AdamW."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            use_locking=use_locking,
            name=name,
        )
