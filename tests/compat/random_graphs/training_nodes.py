"""Generators: optimizers' updates of variables, and the gradients of functions of elements."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.graph import op_def
from tests.compat.random_graphs.draws import Call, Draw
from tests.compat.random_graphs.table import generator

_RULES = [
    "AdaMax",
    "Adadelta",
    "Adagrad",
    "AdagradDA",
    "AdagradV2",
    "Adam",
    "AddSign",
    "CenteredRMSProp",
    "Ftrl",
    "FtrlV2",
    "GradientDescent",
    "Momentum",
    "PowerSign",
    "ProximalAdagrad",
    "ProximalGradientDescent",
    "RMSProp",
]
_SPARSE_RULES = [
    "Adadelta",
    "Adagrad",
    "AdagradDA",
    "AdagradV2",
    "CenteredRMSProp",
    "Ftrl",
    "FtrlV2",
    "Momentum",
    "ProximalAdagrad",
    "ProximalGradientDescent",
    "RMSProp",
]
_RESOURCE_ONLY = [
    "ResourceApplyAdamWithAmsgrad", "ResourceApplyKerasMomentum", "ResourceSparseApplyKerasMomentum",
]  # fmt: skip
UPDATES = [
    *(f"{prefix}Apply{rule}" for prefix in ("", "Resource") for rule in _RULES),
    *(f"{prefix}SparseApply{rule}" for prefix in ("", "Resource") for rule in _SPARSE_RULES),
    *_RESOURCE_ONLY,
]


@generator(*UPDATES, loose=2e-5, alone=True)
def update(d: Draw) -> Call:
    """A variable and its slots, all positive; rates between 0 and 1; each row is updated at most once."""
    definition = op_def.lookup(d.op)
    assert definition is not None
    dtype = d.type("T", (dtypes.float32, dtypes.float64))
    sparse = "Sparse" in d.op
    shape = d.shape(low=1, least=1) if sparse else d.shape(least=1)
    rows = d.rng.permutation(shape[0])[: d.int(0, shape[0])] if sparse else None
    inputs: list[Any] = []
    for arg in definition.inputs:
        if arg.is_ref or arg.dtype is dtypes.resource:
            kind = "ref" if arg.is_ref else "resource"
            inputs.append(d.tensor(shape, dtype, "positive", kind=kind))
        elif arg.name in ("grad", "delta"):
            part = shape if rows is None else (len(rows), *shape[1:])
            inputs.append(d.tensor(part, dtype, "small", kind="fixed"))
        elif arg.name == "indices":
            inputs.append(d.like(rows, d.type("Tindices")))
        elif arg.name == "global_step":
            inputs.append(d.like(d.int(1, 5), dtypes.int64))
        else:
            rate = d.rng.uniform(0.1, 0.9)
            inputs.append(d.like(-rate if arg.name == "lr_power" else rate, dtype))
    return d.node(*inputs)


@generator(
    "EluGrad", "InvGrad", "LeakyReluGrad", "ReciprocalGrad", "Relu6Grad", "ReluGrad", "RsqrtGrad", "SeluGrad",
    "SigmoidGrad", "SoftplusGrad", "SoftsignGrad", "SqrtGrad", "TanhGrad", loose=1e-5,
)  # fmt: skip
def gradient(d: Draw) -> Call:
    shape = d.shape()
    return d.node(d.tensor(shape, values="positive"), d.tensor(shape, values="small"))


@generator("Polygamma", "RandomGammaGrad", "Zeta", loose=1e-3)
def special(d: Draw) -> Call:
    shape, dtype = d.shape(), d.type()
    if d.op == "Polygamma":
        return d.node(
            d.like(d.rng.integers(0, 4, shape), dtype), d.tensor(shape, values="positive", kind="fixed")
        )
    second = d.rng.uniform(0.5, 3, shape)
    return d.node(d.like(d.rng.uniform(1.5, 4, shape), dtype), d.like(second, dtype))


@generator("ShardedFilename")
def sharded_filename(d: Draw) -> Call:
    numbers = d.like(d.int(0, 9), dtypes.int32), d.like(d.int(10, 99), dtypes.int32)
    return d.node(d.tensor((), dtypes.string, kind="fixed"), *numbers)


@generator("BiasAddGrad", loose=1e-5)
def bias_add_gradient(d: Draw) -> Call:
    return d.node(
        d.tensor(d.shape(low=2, high=4, least=1), values="small"), data_format=d.choice(["NHWC", "NCHW"])
    )
