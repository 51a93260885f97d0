"""The ops of optimizers: each changes a variable and its slots in place, by one gradient.

Every rule has up to four forms: `Apply…` on references, `ResourceApply…` on handles, and for gradients that
only name some rows `SparseApply…` and `ResourceSparseApply…`. They differ in how they name the variables, and
in the input `indices` behind `grad`; so they are made from one table.
"""

from __future__ import annotations

from tensorfleet.core import dims as dims_module
from tensorfleet.core.dims import Dims
from tensorfleet.graph.handles import handle_dims
from tensorfleet.graph.op_def import ShapeRule, op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.ops.shape_rules import with_rank

_LOCKING = "use_locking: bool = false"
_NESTEROV = "use_nesterov: bool = false"
_UPDATE_SLOTS = "update_slots: bool = true"
_BY_RATE = "multiply_linear_by_lr: bool = false"

# Name: the variables, the other inputs, attributes.
_RULES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "AdaMax": ("var m v", "beta1_power lr beta1 beta2 epsilon grad", ()),
    "Adadelta": ("var accum accum_update", "lr rho epsilon grad", ()),
    "Adagrad": ("var accum", "lr grad", (_UPDATE_SLOTS,)),
    "AdagradDA": (
        "var gradient_accumulator gradient_squared_accumulator",
        "grad lr l1 l2 global_step",
        (),
    ),
    "AdagradV2": ("var accum", "lr epsilon grad", (_UPDATE_SLOTS,)),
    "Adam": ("var m v", "beta1_power beta2_power lr beta1 beta2 epsilon grad", (_NESTEROV,)),
    "AdamWithAmsgrad": ("var m v vhat", "beta1_power beta2_power lr beta1 beta2 epsilon grad", ()),
    "AddSign": ("var m", "lr alpha sign_decay beta grad", ()),
    "CenteredRMSProp": ("var mg ms mom", "lr rho momentum epsilon grad", ()),
    "Ftrl": ("var accum linear", "grad lr l1 l2 lr_power", (_BY_RATE,)),
    "FtrlV2": ("var accum linear", "grad lr l1 l2 l2_shrinkage lr_power", (_BY_RATE,)),
    "GradientDescent": ("var", "alpha delta", ()),
    "KerasMomentum": ("var accum", "lr grad momentum", (_NESTEROV,)),
    "Momentum": ("var accum", "lr grad momentum", (_NESTEROV,)),
    "PowerSign": ("var m", "lr logbase sign_decay beta grad", ()),
    "ProximalAdagrad": ("var accum", "lr l1 l2 grad", ()),
    "ProximalGradientDescent": ("var", "alpha l1 l2 delta", ()),
    "RMSProp": ("var ms mom", "lr rho momentum epsilon grad", ()),
}

_RESOURCE_ONLY = frozenset(("AdamWithAmsgrad", "KerasMomentum"))
_DENSE_ONLY = frozenset(("AdaMax", "Adam", "AdamWithAmsgrad", "AddSign", "GradientDescent", "PowerSign"))


def _shape_rule(names: list[str], count: int, is_resource: bool) -> ShapeRule:
    gradient = next(i for i, name in enumerate(names) if name in ("grad", "delta"))
    is_sparse = "indices" in names
    scalars = [i for i, name in enumerate(names) if i >= count and i != gradient and name != "indices"]

    def rule(op: RuleNode) -> list[Dims]:
        inputs = op.inputs
        shape: Dims = None
        for tensor in inputs[:count]:
            shape = dims_module.merge(shape, handle_dims(tensor) if is_resource else tensor.dims)
        for i in scalars:
            with_rank(inputs[i].dims, 0)
        update = inputs[gradient].dims
        if is_sparse:
            rows = with_rank(inputs[names.index("indices")].dims, 1)
            if update is not None and shape is not None:
                dims_module.merge(update, (*rows, *shape[1:]))
        else:
            shape = dims_module.merge(shape, update)
        return [] if is_resource else [shape]

    return rule


def _define(rule: str, is_resource: bool, is_sparse: bool) -> None:
    variables, others, attrs = _RULES[rule]
    if is_sparse:
        others = others.replace("delta", "grad").replace("grad", "grad indices")
    states, names = variables.split(), others.split()
    types = {"global_step": "int64", "indices": "Tindices"}
    arguments = [f"{name}: {'resource' if is_resource else 'Ref(T)'}" for name in states]
    arguments += [f"{name}: {types.get(name, 'T')}" for name in names]
    op_type = f"{'Resource' * is_resource}{'Sparse' * is_sparse}Apply{rule}"
    op(
        f"{op_type}({', '.join(arguments)}) -> ({'' if is_resource else 'out: Ref(T)'})",
        "T: {number}",
        *(("Tindices: {int32, int64}",) if is_sparse else ()),
        _LOCKING,
        *attrs,
        shape=_shape_rule([*states, *names], len(states), is_resource),
        stateful=is_resource,
    )


for _name in _RULES:
    for _resource in (False, True):
        if _resource or _name not in _RESOURCE_ONLY:
            _define(_name, _resource, False)
            if _name not in _DENSE_ONLY:
                _define(_name, _resource, True)
