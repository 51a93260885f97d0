"""GGT, full-matrix adaptive regularization by a window of gradients, arXiv:1806.02958."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import eye, zeros
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.shaping import expand_dims, reshape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.control_flow.control import group
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.linalg.linalg import svd
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_min
from tensorfleet.ops.state.variables import Variable
from tensorfleet.train.optimizer import Optimizer, number


class GGTOptimizer(Optimizer):
    """GGT: the step is the moment, divided by the square root of G·Gᵀ, where the columns of G are a window of
    moments (`tf.contrib.opt.GGTOptimizer`, arXiv:1806.02958).

    All variables together are one vector, whose moments of the window it keeps: [window, elements].

    Args:
        learning_rate: the step size.
        beta1: the decay of the moment.
        window: the number of moments.
        eps: the least singular value's square root above which the part of the moment outside of G's span is
            taken, too.
        svd_eps: added to the diagonal of Gᵀ·G.
        sigma_eps: added to the square roots of the singular values before their inversion.

    Raises:
        NotImplementedError: a sparse gradient.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        use_locking: bool = False,
        name: str = "GGT",
        window: int = 10,
        eps: float = 1e-4,
        svd_eps: float = 1e-6,
        sigma_eps: float = 1e-2,
    ) -> None:
        super().__init__(use_locking, name)
        self._lr, self._beta1, self._window = learning_rate, beta1, window
        self._eps, self._svd_eps, self._sigma_eps = eps, svd_eps, sigma_eps
        self._state: dict[Any, dict[str, Any]] = {}
        self._pieces: dict[str, Any] = {}

    def _create_slots(self, var_list: list[Any]) -> None:
        dtype = var_list[0].dtype.base
        # In the order of names, the same in every process that builds the graph.
        self._places: dict[str, tuple[int, int]] = {}
        size = 0
        for var in sorted(var_list, key=lambda var: var.name):
            number_of_elements: int = var.shape.num_elements()
            self._places[var.name] = size, size + number_of_elements
            size += number_of_elements
        graph = framework.get_default_graph()
        if graph not in self._state:
            initial = {
                "global_step": zeros([], dtype),
                "grad_buffer": zeros([self._window, size], dtype),
                "moment1": zeros([size], dtype),
                "flat_grad": zeros([size], dtype),
            }
            with framework.colocate_with(var_list[0].op):
                made = {name: Variable(value, name=name, trainable=False) for name, value in initial.items()}
            self._state[graph] = made

    def variables(self) -> list[Any]:
        own = self._state.get(framework.get_default_graph(), {}).values()
        return sorted([*super().variables(), *own], key=lambda var: var.name)

    def _prepare(self) -> None:
        self._variables: list[Any] = []

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        self._variables.append(var)
        begin, end = self._places[var.name]
        flat: Any = self._state[framework.get_default_graph()]["flat_grad"][begin:end]
        return flat.assign(reshape(grad, [-1])).op

    _resource_apply_dense = _apply_dense

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        raise NotImplementedError("Sparse gradient updates are not supported.")

    def _resource_apply_sparse(self, grad: Tensor, var: Any, indices: Tensor) -> Any:
        raise NotImplementedError("Sparse gradient updates are not supported.")

    def _finish(self, update_ops: list[Any], name_scope: str) -> Any:
        with framework.control_dependencies(update_ops):
            step = self._step()
            updates = [
                var.assign_sub(reshape(step[slice(*self._places[var.name])], var.shape), use_locking=True)
                for var in self._variables
            ]
        return group(*updates, name=name_scope)

    def _step(self) -> Any:
        """The change of all variables as one vector, once their gradients lie in `flat_grad`."""
        state = self._state[framework.get_default_graph()]
        dtype = state["moment1"].dtype.base

        def of_type(value: Any, name: str) -> Any:
            return cast(number(value, name), dtype)

        beta1, rate = of_type(self._beta1, "beta1"), of_type(self._lr, "lr")
        count = convert_to_tensor(state["global_step"].assign_add(1.0))
        new = beta1 * state["moment1"].read_value() + (1.0 - beta1) * state["flat_grad"].read_value()
        moment = convert_to_tensor(state["moment1"].assign(new))
        place = apply_one("FloorMod", cast(count - 1.0, dtypes.int32), self._window)
        row: Any = state["grad_buffer"][place]
        with framework.control_dependencies([row.assign(moment)]):
            buffer = state["grad_buffer"].read_value()
        filled = apply_one("Minimum", count, of_type(self._window, "window"))
        columns = transpose(buffer / apply_one("Sqrt", filled))
        damping = cast(eye(self._window), dtype) * of_type(self._svd_eps, "svd_eps")
        sigma, vectors, _ = svd(matmul(columns, columns, transpose_a=True) + damping)
        roots = apply_one("Sqrt", sigma)
        moment = expand_dims(moment, -1)
        seen = matmul(vectors, matmul(columns, moment, transpose_a=True), transpose_a=True)

        def spanned(factors: Any) -> Any:
            return matmul(columns, matmul(vectors, expand_dims(factors, -1) * seen))

        head = spanned(
            1.0 / apply_one("Pow", roots + of_type(self._sigma_eps, "sigma_eps"), of_type(3, "cube"))
        )
        least = reduce_min(roots)
        rest = moment - spanned(1.0 / sigma)
        step = cond(
            apply_one("Greater", least, of_type(self._eps, "eps")), lambda: head + rest / least, lambda: head
        )
        return rate * reshape(step, [-1])
