"""Attention over a memory: `tf.contrib.seq2seq.AttentionWrapper` and its mechanisms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tensorfleet.core import dtypes
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.layers.core import Dense
from tensorfleet.ops.array.constants import ones_like, zeros
from tensorfleet.ops.array.indexing import one_hot
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.selection import sequence_mask, where
from tensorfleet.ops.array.shaping import expand_dims, shape, squeeze
from tensorfleet.ops.data_flow.tensor_array import TensorArray
from tensorfleet.ops.math.elementwise import rsqrt, square, tanh
from tensorfleet.ops.math.extrema import argmax
from tensorfleet.ops.math.matmul import matmul
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.nn.activation import softmax
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.initializers import constant_initializer, zeros_initializer
from tensorfleet.ops.state.variable_scope import variable_scope
from tensorfleet.rnn.cell import RNNCell


class AttentionMechanism:
    """The base class of attention mechanisms, which compare queries with a memory
    (`tf.contrib.seq2seq.AttentionMechanism`).

    Attributes:
        memory: `[batch, length, size]`, zeros past the sequences' ends.
        keys: the memory after the memory layer, for the comparison with queries.
    """

    memory: Any
    keys: Any

    def _prepare(
        self,
        memory: Any,
        num_units: int,
        memory_sequence_length: Any,
        score_mask_value: Any,
        probability_fn: Callable[..., Any] | None,
        dtype: Any,
    ) -> None:
        memory = convert_to_tensor(memory, name="memory")
        self._dtype = dtypes.as_dtype(dtype or dtypes.float32)
        self._lengths = None
        if memory_sequence_length is not None:
            self._lengths = convert_to_tensor(memory_sequence_length, name="memory_sequence_length")
            mask = sequence_mask(self._lengths, maxlen=shape(memory)[1], dtype=memory.dtype.base)
            dims = memory.dims
            memory = memory * expand_dims(mask, -1)
            memory.set_shape(dims)
        self.memory = memory
        self._mask_value = float("-inf") if score_mask_value is None else score_mask_value
        self._probabilities = probability_fn or softmax
        layer = Dense(num_units, use_bias=False, name="memory_layer", dtype=self._dtype)
        self.keys = layer(memory)
        self.memory_layer = layer

    @property
    def values(self) -> Any:
        """The values that the attention averages: the memory."""
        return self.memory

    @property
    def batch_size(self) -> Any:
        """The size of the memory's batch."""
        known = self.memory.shape.as_list()[0]
        return shape(self.memory)[0] if known is None else known

    @property
    def alignments_size(self) -> Any:
        """The length of the memory."""
        known = self.memory.shape.as_list()[1]
        return shape(self.memory)[1] if known is None else known

    @property
    def state_size(self) -> Any:
        """The size of the state, the alignments."""
        return self.alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        """The alignments before the first step: zeros."""
        return zeros([batch_size, self.alignments_size], dtype)

    initial_state = initial_alignments

    def _aligned(self, score: Any, state: Any) -> Any:
        return self._normalized(score)

    def _normalized(self, score: Any, *state: Any) -> Any:
        if self._lengths is not None:
            mask = sequence_mask(self._lengths, maxlen=shape(score)[1])
            score = where(mask, score, ones_like(score) * self._mask_value)
        return self._probabilities(score, *state)

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        raise NotImplementedError


class BahdanauAttention(AttentionMechanism):
    """Additive attention with the scores v · tanh(keys + query)
    (`tf.contrib.seq2seq.BahdanauAttention`; arXiv:1409.0473).

    Args:
        num_units: the size of keys and transformed queries.
        memory: `[batch, length, size]`.
        memory_sequence_length: int `[batch]`; None for the whole memory.
        normalize: whether to learn the norm of `v` separately, and to add a bias.
        probability_fn: the function from scores to alignments, by default softmax.
    """

    _scope_name = "bahdanau_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        probability_fn: Any = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Any = None,
        name: str = "BahdanauAttention",
    ) -> None:
        self._units, self._normalize = num_units, normalize
        self._prepare(memory, num_units, memory_sequence_length, score_mask_value, probability_fn, dtype)
        self.query_layer = Dense(num_units, use_bias=False, name="query_layer", dtype=self._dtype)

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """The alignments `[batch, length]` for a query `[batch, size]`, twice."""
        with variable_scope(None, self._scope_name, [query]):
            compared = expand_dims(self.query_layer(query), 1)
            v = get_variable("attention_v", [self._units], dtype=self._dtype)
            inner = self.keys + compared
            if self._normalize:
                initial = constant_initializer((1.0 / self._units) ** 0.5)
                g = get_variable("attention_g", [], dtype=self._dtype, initializer=initial)
                b = get_variable(
                    "attention_b", [self._units], dtype=self._dtype, initializer=zeros_initializer()
                )
                v = g * v * rsqrt(reduce_sum(square(v)))
                inner = inner + b
            alignments = self._aligned(reduce_sum(v * tanh(inner), [2]), state)
        return alignments, alignments


class LuongAttention(AttentionMechanism):
    """Multiplicative attention with the scores keys · query
    (`tf.contrib.seq2seq.LuongAttention`; arXiv:1508.04025).

    Args:
        num_units: the size of the query.
        scale: whether to multiply scores by a variable.

    The other arguments are those of `BahdanauAttention`.
    """

    _scope_name = "luong_attention"

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        probability_fn: Any = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Any = None,
        name: str = "LuongAttention",
    ) -> None:
        self._units, self._scale = num_units, scale
        self._prepare(memory, num_units, memory_sequence_length, score_mask_value, probability_fn, dtype)

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        """The alignments `[batch, length]` for a query `[batch, num_units]`, twice."""
        depth, units = query.shape.as_list()[-1], self.keys.shape.as_list()[-1]
        if depth != units:
            raise ValueError(
                f"Incompatible or unknown inner dimensions between query and keys. Query ({query}) has "
                f"units: {depth}. Keys ({self.keys}) have units: {units}. Perhaps you need to set num_units "
                f"to the keys' dimension ({units})?"
            )
        with variable_scope(None, self._scope_name, [query]):
            score = squeeze(matmul(expand_dims(query, 1), self.keys, transpose_b=True), [1])
            if self._scale:
                initial = constant_initializer(1.0)
                score = get_variable("attention_g", [], dtype=query.dtype.base, initializer=initial) * score
            alignments = self._aligned(score, state)
        return alignments, alignments


class AttentionWrapperState(NamedTuple):
    """The state of an AttentionWrapper (`tf.contrib.seq2seq.AttentionWrapperState`).

    With several mechanisms, `alignments`, `alignment_history` and `attention_state` are tuples.
    """

    cell_state: Any
    attention: Any
    time: Any
    alignments: Any
    alignment_history: Any
    attention_state: Any

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """A copy of the state with some parts replaced, such as `cell_state`."""
        return self._replace(**kwargs)


class AttentionWrapper(RNNCell):
    """A cell that attends to a memory, or to several (`tf.contrib.seq2seq.AttentionWrapper`).

    Args:
        attention_mechanism: one mechanism or a list of them.
        attention_layer_size: the size of the layer that combines output and context, or a list of one for
            each mechanism; None if the attention is the context.
        alignment_history: whether the state keeps the alignments of all steps, in a TensorArray.
        cell_input_fn: the function from the inputs and the attention to the cell's inputs, by default their
            concatenation.
        output_attention: whether the output is the attention, instead of the cell's output.
        initial_cell_state: the cell's state in `zero_state`, instead of zeros.
        attention_layer: a layer, instead of one of `attention_layer_size`, or a list of them.
    """

    def __init__(
        self,
        cell: Any,
        attention_mechanism: Any,
        attention_layer_size: Any = None,
        alignment_history: bool = False,
        cell_input_fn: Callable[[Any, Any], Any] | None = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: str | None = None,
        attention_layer: Any = None,
    ) -> None:
        super().__init__(name=name)
        self._is_multiple = isinstance(attention_mechanism, (list, tuple))
        self._mechanisms = list(attention_mechanism) if self._is_multiple else [attention_mechanism]
        if attention_layer_size is not None and attention_layer is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        count = len(self._mechanisms)
        given = attention_layer if attention_layer is not None else attention_layer_size
        listed = list(given) if isinstance(given, (list, tuple)) else [given] * (1 if count == 1 else 0)
        if given is None:
            self._layers: list[Any] | None = None
        elif len(listed) != count:
            raise ValueError(f"There must be an attention layer for each of {count} mechanisms: {given}")
        elif attention_layer is not None:
            self._layers = listed
        else:
            self._layers = [Dense(size, name="attention_layer", use_bias=False) for size in listed]
        if self._layers is not None:
            self._attention_size = sum(layer.units for layer in self._layers)
        else:
            self._attention_size = sum(m.values.shape.as_list()[-1] for m in self._mechanisms)
        self._cell, self._keeps_history, self._outputs_attention = cell, alignment_history, output_attention
        self._input_fn = cell_input_fn or (lambda inputs, attention: concat([inputs, attention], -1))
        self._initial = initial_cell_state

    def _each(self, values: Any) -> Any:
        listed = tuple(values)
        return listed if self._is_multiple else listed[0]

    def _listed(self, value: Any) -> list[Any]:
        return list(value) if self._is_multiple else [value]

    @property
    def output_size(self) -> Any:
        return self._attention_size if self._outputs_attention else self._cell.output_size

    @property
    def state_size(self) -> Any:
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=(),
            attention=self._attention_size,
            alignments=self._each(m.alignments_size for m in self._mechanisms),
            attention_state=self._each(m.state_size for m in self._mechanisms),
            alignment_history=self._each(() for _ in self._mechanisms),
        )

    def zero_state(self, batch_size: Any, dtype: Any) -> AttentionWrapperState:
        """The state before the first step: zeros, or the initial state of the cell if one was given."""
        state = self._initial if self._initial is not None else self._cell.zero_state(batch_size, dtype)
        alignments = [m.initial_alignments(batch_size, dtype) for m in self._mechanisms]
        history = [
            TensorArray(dtype, size=0, dynamic_size=True, element_shape=None) if self._keeps_history else ()
            for _ in self._mechanisms
        ]
        return AttentionWrapperState(
            cell_state=state,
            time=constant(0),
            attention=zeros([batch_size, self._attention_size], dtype),
            alignments=self._each(alignments),
            attention_state=self._each(m.initial_state(batch_size, dtype) for m in self._mechanisms),
            alignment_history=self._each(history),
        )

    def call(self, inputs: Any, state: AttentionWrapperState) -> tuple[Any, AttentionWrapperState]:
        """The attention or the cell's output, `[batch, size]`, and the next state."""
        output, cell_state = self._cell(self._input_fn(inputs, state.attention), state.cell_state)
        attentions, alignments, states, histories = [], [], [], []
        kept = zip(
            self._mechanisms,
            self._listed(state.attention_state),
            self._listed(state.alignment_history),
            strict=True,
        )
        for number, (mechanism, old, history) in enumerate(kept):
            aligned, new = mechanism(output, state=old)
            context = squeeze(matmul(expand_dims(aligned, 1), mechanism.values), [1])
            if self._layers is not None:
                context = self._layers[number](concat([output, context], 1))
            attentions.append(context)
            alignments.append(aligned)
            states.append(new)
            histories.append(history.write(state.time, aligned) if self._keeps_history else ())
        attention = concat(attentions, 1) if len(attentions) > 1 else attentions[0]
        following = AttentionWrapperState(
            cell_state=cell_state,
            time=state.time + 1,
            attention=attention,
            alignments=self._each(alignments),
            attention_state=self._each(states),
            alignment_history=self._each(histories),
        )
        return (attention if self._outputs_attention else output), following


def hardmax(logits: Any, name: str | None = None) -> Any:
    """1 at the maximum of each row, 0 elsewhere (`tf.contrib.seq2seq.hardmax`)."""
    logits = convert_to_tensor(logits)
    return one_hot(
        argmax(logits, -1), logits.shape.as_list()[-1] or shape(logits)[-1], dtype=logits.dtype.base
    )
