"""The arithmetic of an LSTM cell, op by op."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


def sigmoid(xp: Any, x: Any) -> Any:
    return (1 / (1 + xp.exp(-x))).astype(x.dtype)


@dataclass
class Cell:
    """The arithmetic of an LSTM cell.

    Attributes:
        order: the places of the gates i, ci, f and o among the columns.
        forget_bias: added to the forget gate.
        clip: the greatest size of a state; no limit if it is not positive.
        weights, bias: of the inputs and the last output together.
        peepholes: the weights of the state in the gates i, f and o, or None.
    """

    xp: Any
    order: tuple[int, int, int, int]
    forget_bias: float
    clip: float
    weights: Any
    bias: Any
    peepholes: tuple[Any, Any, Any] | None

    def forward(self, x: Any, cs_prev: Any, h_prev: Any) -> tuple[Any, ...]:
        """i, cs, f, o, ci, co, h."""
        xp = self.xp
        gates = xp.concatenate([x, h_prev], 1) @ self.weights + self.bias
        i, ci, f, o = self._split(gates)
        f = f + x.dtype.type(self.forget_bias)
        if self.peepholes is not None:
            i = i + cs_prev * self.peepholes[0]
            f = f + cs_prev * self.peepholes[1]
        i, ci, f = sigmoid(xp, i), xp.tanh(ci), sigmoid(xp, f)
        cs = ci * i + cs_prev * f
        if self.clip > 0:
            cs = xp.clip(cs, x.dtype.type(-self.clip), x.dtype.type(self.clip))
        if self.peepholes is not None:
            o = o + cs * self.peepholes[2]
        o, co = sigmoid(xp, o), xp.tanh(cs)
        return i, cs, f, o, ci, co, co * o

    def backward(
        self, cs_prev: Any, made: tuple[Any, ...], cs_grad: Any, h_grad: Any
    ) -> tuple[Any, Any, tuple[Any, Any, Any]]:
        """The gradients of the last state, of the gates' sums, and of the peepholes."""
        i, cs, f, o, ci, co = made
        d_o = o * (1 - o) * h_grad * co
        d_cs = (1 - co * co) * h_grad * o + cs_grad
        if self.peepholes is not None:
            d_cs = d_cs + d_o * self.peepholes[2]
        d_ci, d_f = (1 - ci * ci) * d_cs * i, f * (1 - f) * d_cs * cs_prev
        d_i = i * (1 - i) * d_cs * ci
        d_prev = d_cs * f
        zeros = self.xp.zeros(cs_prev.shape[1], cs_prev.dtype)
        d_peepholes = (zeros, zeros, zeros)
        if self.peepholes is not None:
            d_prev = d_prev + d_i * self.peepholes[0] + d_f * self.peepholes[1]
            d_peepholes = ((d_i * cs_prev).sum(0), (d_f * cs_prev).sum(0), (d_o * cs).sum(0))
        parts: list[Any] = [None] * 4
        for place, part in zip(self.order, (d_i, d_ci, d_f, d_o), strict=True):
            parts[place] = part
        return d_prev, self.xp.concatenate(parts, 1), d_peepholes

    def _split(self, gates: Any) -> list[Any]:
        size = gates.shape[1] // 4
        return [gates[:, place * size : (place + 1) * size] for place in self.order]
