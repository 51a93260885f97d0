"""Attention that moves forward alone: `tf.contrib.seq2seq.monotonic_attention` and its mechanisms
(Raffel et al., arXiv:1704.00784)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tensorfleet.contrib.attention import AttentionMechanism, BahdanauAttention, LuongAttention
from tensorfleet.core import dtypes
from tensorfleet.graph import framework
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import ones, zeros
from tensorfleet.ops.array.indexing import one_hot
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.functional.map_fn import scan
from tensorfleet.ops.math.clip import clip_by_value
from tensorfleet.ops.math.elementwise import exp, log, sigmoid
from tensorfleet.ops.math.scan import cumprod, cumsum
from tensorfleet.ops.random.random_ops import random_normal
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import constant_initializer


def safe_cumprod(x: Any, *args: Any, **kwargs: Any) -> Any:
    """Running products of elements in [0, 1], as sums of logarithms that keep gradients finite
    (`tf.contrib.seq2seq.safe_cumprod`).

    Args:
        x: floats; they are clipped to the smallest positive number of their dtype and 1.

    The other arguments are those of `tf.cumsum`.
    """
    with framework.name_scope(None, "SafeCumprod", [x]):
        x = convert_to_tensor(x, name="x")
        tiny = np.finfo(x.dtype.base.as_numpy_dtype).tiny
        return exp(cumsum(log(clip_by_value(x, tiny, 1)), *args, **kwargs))


def monotonic_attention(p_choose_i: Any, previous_attention: Any, mode: str) -> Any:
    """The alignments of one step, from the probabilities to stop at each element of the memory, read from the
    place of the last step on (`tf.contrib.seq2seq.monotonic_attention`).

    Args:
        p_choose_i: `[batch, length]`, within [0, 1].
        previous_attention: `[batch, length]`, the alignments of the last step; before the first one, 1 for
            the first element and 0 for others.
        mode: "recursive" for exact sums along the memory, "parallel" for running sums and products, which
            lose precision where probabilities are near 0 or 1, or "hard" for probabilities that are 0 or 1.

    Returns:
        `[batch, length]`.

    Raises:
        ValueError: another mode.
    """
    chosen = convert_to_tensor(p_choose_i, name="p_choose_i")
    previous = convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        return chosen * _reached(chosen, previous)
    if mode == "parallel":
        passed = safe_cumprod(1 - chosen, axis=1, exclusive=True)
        return chosen * passed * cumsum(previous / clip_by_value(passed, 1e-10, 1.0), axis=1)
    if mode == "hard":
        # What is before the last place cannot be chosen; of the rest, only the first element.
        chosen = chosen * cumsum(previous, axis=1)
        return chosen * cumprod(1 - chosen, axis=1, exclusive=True)
    raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")


def _reached(chosen: Any, previous: Any) -> Any:
    """The probabilities that the reader comes to each element: it was there, or it passed the one before."""
    batch = chosen.shape.as_list()[0] or shape(chosen)[0]
    passed = concat([ones([batch, 1], chosen.dtype.base), 1 - chosen[:, :-1]], 1)
    found = scan(
        lambda last, given: reshape(given[0] * last + given[1], [batch]),
        [transpose(passed), transpose(previous)],
        zeros([batch], chosen.dtype.base),
    )
    return transpose(found)


def _alignments_of(score: Any, previous: Any, sigmoid_noise: float, mode: str, seed: int | None) -> Any:
    if sigmoid_noise > 0:
        noise = random_normal(shape(score), dtype=score.dtype.base, seed=seed)
        score = score + sigmoid_noise * noise
    # Only a score above 0 stops the reader surely.
    chosen = cast(score > 0, score.dtype.base) if mode == "hard" else sigmoid(score)
    return monotonic_attention(chosen, previous, mode)


class _Monotonic(AttentionMechanism):
    """The part of a mechanism that reads on from the last step's place."""

    _bias: float

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        """The alignments before the first step: 1 for the memory's first element, 0 for others."""
        places = zeros([batch_size], dtypes.int32)
        return one_hot(places, self.alignments_size, dtype=dtypes.as_dtype(dtype))

    initial_state = initial_alignments

    def _aligned(self, score: Any, state: Any) -> Any:
        initial = constant_initializer(self._bias)
        bias = get_variable("attention_score_bias", [], dtype=score.dtype.base, initializer=initial)
        return self._normalized(score + bias, state)


class BahdanauMonotonicAttention(_Monotonic, BahdanauAttention):
    """`BahdanauAttention` that moves forward alone (`tf.contrib.seq2seq.BahdanauMonotonicAttention`).

    Args:
        num_units: the size of keys and transformed queries.
        memory: `[batch, length, size]`.
        memory_sequence_length: int `[batch]`; None for the whole memory.
        normalize: whether to learn the norm of `v` separately, and to add a bias.
        sigmoid_noise: the standard deviation of noise that is added to scores, which makes learned alignments
            nearly hard; 0 after training.
        sigmoid_noise_seed: the noise's seed.
        score_bias_init: the initial value of a bias of scores; below 0 for long memories.
        mode: that of `monotonic_attention`.
    """

    _scope_name = "bahdanau_monotonic_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "BahdanauMonotonicAttention",
    ) -> None:
        self._bias = score_bias_init
        super().__init__(
            num_units,
            memory,
            memory_sequence_length,
            normalize,
            partial(_alignments_of, sigmoid_noise=sigmoid_noise, mode=mode, seed=sigmoid_noise_seed),
            score_mask_value,
            dtype,
            name=name,
        )


class LuongMonotonicAttention(_Monotonic, LuongAttention):
    """`LuongAttention` that moves forward alone (`tf.contrib.seq2seq.LuongMonotonicAttention`).

    Args:
        num_units: the size of the query.
        scale: whether to multiply scores by a variable.

    The other arguments are those of `BahdanauMonotonicAttention`.
    """

    _scope_name = "luong_monotonic_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "LuongMonotonicAttention",
    ) -> None:
        self._bias = score_bias_init
        super().__init__(
            num_units,
            memory,
            memory_sequence_length,
            scale,
            partial(_alignments_of, sigmoid_noise=sigmoid_noise, mode=mode, seed=sigmoid_noise_seed),
            score_mask_value,
            dtype,
            name=name,
        )
