"""Gradients of `random_ops`: only samples of the gamma distribution have one."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import gradient, no_rule, not_differentiable
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.gradient_common import size_of

not_differentiable("RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt")
not_differentiable("RandomShuffle", "Multinomial", "StatelessMultinomial", "StatelessRandomGetAlg")
not_differentiable("StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg")
for _version in ("", "V2"):
    not_differentiable(f"StatelessRandomUniformFullInt{_version}")
    not_differentiable(f"StatelessRandomUniform{_version}", f"StatelessRandomNormal{_version}")
    not_differentiable(f"StatelessRandomUniformInt{_version}", f"StatelessTruncatedNormal{_version}")
no_rule("RandomPoissonV2")
no_rule("RandomGammaGrad")


@gradient("RandomGamma")
def _random_gamma(op: Operation, grad: Tensor) -> list[Tensor | None]:
    # The dimensions of samples come first, so alpha broadcasts to them without a reshape.
    shape, alpha = op.inputs
    slopes = apply_one("RandomGammaGrad", alpha, op.outputs[0])
    return [None, apply_one("Sum", grad * slopes, apply_one("Range", 0, size_of(shape), 1))]
