"""Unrolled sequence models: `tf.contrib.legacy_seq2seq`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tensorfleet.contrib.more_cells import EmbeddingWrapper, OutputProjectionWrapper, linear
from tensorfleet.core.nest import pack_sequence_as
from tensorfleet.core.structures import flatten, is_nested
from tensorfleet.ops.array.constants import zeros
from tensorfleet.ops.array.identity import stop_gradient
from tensorfleet.ops.array.joining import concat, stack
from tensorfleet.ops.array.shaping import reshape, shape
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.math.elementwise import tanh
from tensorfleet.ops.math.extrema import argmax
from tensorfleet.ops.math.reduction import reduce_sum
from tensorfleet.ops.nn.activation import softmax
from tensorfleet.ops.nn.conv import conv2d
from tensorfleet.ops.nn.embedding import embedding_lookup
from tensorfleet.ops.nn.layers import xw_plus_b
from tensorfleet.ops.state.get_variable import get_variable
from tensorfleet.ops.state.variable_scope import get_variable_scope, variable_scope
from tensorfleet.rnn.cell import RNNCell
from tensorfleet.rnn.static import static_rnn


def rnn_decoder(
    decoder_inputs: Sequence[Any], initial_state: Any, cell: Any, loop_function: Any = None, scope: Any = None
) -> tuple[list[Any], Any]:
    """An RNN over a list of inputs (`tf.contrib.legacy_seq2seq.rnn_decoder`).

    Args:
        loop_function: a function from the last output and its number to the next input, which replaces the
            given one.

    Returns:
        The outputs, and the last state.
    """
    with variable_scope(scope or "rnn_decoder"):
        state, outputs, last = initial_state, [], None
        for number, given in enumerate(decoder_inputs):
            if loop_function is not None and last is not None:
                with variable_scope("loop_function", reuse=True):
                    given = loop_function(last, number)
            if number > 0:
                get_variable_scope().reuse_variables()
            output, state = cell(given, state)
            outputs.append(output)
            last = output
        return outputs, state


def basic_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """An encoder, and a decoder that starts from its last state (`basic_rnn_seq2seq`)."""
    import copy

    from tensorfleet.core.dtypes import float32

    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype or float32)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    loop_function: Any = None,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """`basic_rnn_seq2seq` whose encoder and decoder share variables (`tied_rnn_seq2seq`)."""
    from tensorfleet.core.dtypes import float32

    with variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype or float32, scope=scope)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function, scope=scope)


def _extract_argmax_and_embed(
    embedding: Any, output_projection: Any = None, update_embedding: bool = True
) -> Callable[[Any, Any], Any]:
    def loop_function(last: Any, _: Any) -> Any:
        if output_projection is not None:
            last = xw_plus_b(last, output_projection[0], output_projection[1])
        rows = embedding_lookup(embedding, argmax(last, 1))
        return rows if update_embedding else stop_gradient(rows)

    return loop_function


def embedding_rnn_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """`rnn_decoder` of symbols, int32 `[batch]` each (`embedding_rnn_decoder`).

    Args:
        output_projection: weights and biases from outputs to logits; None if outputs are logits.
        feed_previous: whether each input but the first is the most probable symbol of the last output.
    """
    with variable_scope(scope or "embedding_rnn_decoder"):
        table = get_variable("embedding", [num_symbols, embedding_size])
        loop = (
            _extract_argmax_and_embed(table, output_projection, update_embedding_for_previous)
            if feed_previous
            else None
        )
        rows = [embedding_lookup(table, symbols) for symbols in decoder_inputs]
        return rnn_decoder(rows, initial_state, cell, loop_function=loop)


def embedding_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """`basic_rnn_seq2seq` of symbols (`embedding_rnn_seq2seq`); `feed_previous` is a bool, or a tensor."""
    import copy

    with variable_scope(scope or "embedding_rnn_seq2seq") as current:
        dtype = dtype or current.dtype
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        _, state = static_rnn(encoder, encoder_inputs, dtype=dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
        decode = partial(
            embedding_rnn_decoder,
            decoder_inputs,
            state,
            cell,
            num_decoder_symbols,
            embedding_size,
            output_projection=output_projection,
        )
        return _decoded(decode, feed_previous, state, len(decoder_inputs))


def _decoded(
    decode: Callable[..., tuple[list[Any], Any]], feed_previous: Any, state: Any, count: int
) -> tuple[list[Any], Any]:
    """What a decoder of `count` inputs gives; a tensor decides in each step whether its outputs are fed back.

    Args:
        decode: the decoder, a function of `feed_previous` and `update_embedding_for_previous`.
        state: a state with the structure of the decoder's last one.
    """
    if isinstance(feed_previous, bool):
        return decode(feed_previous=feed_previous)

    def branch(feeds: bool) -> list[Any]:
        # The first branch makes the variables of both. The embedding learns nothing from what is fed back, as
        # in TensorFlow.
        with variable_scope(get_variable_scope(), reuse=None if feeds else True):
            outputs, last = decode(feed_previous=feeds, update_embedding_for_previous=False)
        return [*outputs, *flatten(last)]

    found = cond(feed_previous, lambda: branch(True), lambda: branch(False))
    return found[:count], pack_sequence_as(state, found[count:])


def embedding_tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_decoder_symbols: int | None = None,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """`tied_rnn_seq2seq` of symbols, with one embedding for both sides (`embedding_tied_rnn_seq2seq`).

    Args:
        num_decoder_symbols: the number of the first symbols that the decoder gives, by default all.
        feed_previous: a bool, or a tensor.
    """
    with variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as current:
        table = get_variable("embedding", [num_symbols, embedding_size], dtype=current.dtype)
        encoded = [embedding_lookup(table, symbols) for symbols in encoder_inputs]
        decoded = [embedding_lookup(table, symbols) for symbols in decoder_inputs]
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols or num_symbols)

        def decode(feed_previous: bool, update_embedding_for_previous: bool = True) -> tuple[list[Any], Any]:
            loop = _extract_argmax_and_embed(table, output_projection, update_embedding_for_previous)
            return tied_rnn_seq2seq(
                encoded, decoded, cell, loop_function=loop if feed_previous else None, dtype=current.dtype
            )

        state = cell.zero_state(shape(encoder_inputs[0])[0], current.dtype)
        return _decoded(decode, feed_previous, state, len(decoder_inputs))


def one2many_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs_dict: Mapping[str, Sequence[Any]],
    enc_cell: Any,
    dec_cells_dict: Mapping[str, Any],
    num_encoder_symbols: int,
    num_decoder_symbols_dict: Mapping[str, int],
    embedding_size: int,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """An encoder of symbols, and several decoders that start from its last state (`one2many_rnn_seq2seq`;
    arXiv:1511.06114).

    Args:
        decoder_inputs_dict: the inputs of each decoder, by its name.
        dec_cells_dict, num_decoder_symbols_dict: the cell and the number of symbols of each decoder.
        feed_previous: a bool, or a tensor.

    Returns:
        The outputs of the decoders, and their last states, by name.

    Raises:
        TypeError: a cell is none.
        ValueError: cells and inputs have other names.
    """
    if not isinstance(enc_cell, RNNCell):
        raise TypeError(f"enc_cell is not an RNNCell: {type(enc_cell)}")
    if set(dec_cells_dict) != set(decoder_inputs_dict):
        raise ValueError("keys of dec_cells_dict != keys of decodre_inputs_dict")
    for cell in dec_cells_dict.values():
        if not isinstance(cell, RNNCell):
            raise TypeError(f"dec_cell is not an RNNCell: {type(cell)}")
    outputs, states = {}, {}
    with variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as current:
        encoder = EmbeddingWrapper(enc_cell, num_encoder_symbols, embedding_size)
        _, state = static_rnn(encoder, encoder_inputs, dtype=current.dtype)
        for name, inputs in decoder_inputs_dict.items():
            count = num_decoder_symbols_dict[name]
            with variable_scope(f"one2many_decoder_{name}"):
                decode = partial(
                    embedding_rnn_decoder,
                    inputs,
                    state,
                    OutputProjectionWrapper(dec_cells_dict[name], count),
                    count,
                    embedding_size,
                )
                outputs[name], states[name] = _decoded(decode, feed_previous, state, len(inputs))
    return outputs, states


def attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: Any = None,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """`rnn_decoder` with attention to other states (`tf.contrib.legacy_seq2seq.attention_decoder`).

    Args:
        attention_states: `[batch, length, size]`, of known length and size.
        output_size: the size of outputs, by default the cell's.
        num_heads: the number of attention heads.
        initial_state_attention: whether the first attention is computed from the initial state, instead of 0.

    Raises:
        ValueError: there are no inputs or heads, or a size is not known.
    """
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    length, size = attention_states.shape.as_list()[1:]
    if size is None:
        raise ValueError(f"Shape[2] of attention_states must be known: {attention_states.shape}")
    length = shape(attention_states)[1] if length is None else length
    output_size = cell.output_size if output_size is None else output_size
    with variable_scope(scope or "attention_decoder", dtype=dtype) as current:
        dtype = current.dtype
        batch = shape(decoder_inputs[0])[0]
        hidden = reshape(attention_states, [-1, length, 1, size])
        features, weights = [], []
        for head in range(num_heads):
            kernel = get_variable(f"AttnW_{head}", [1, 1, size, size], dtype=dtype)
            features.append(conv2d(hidden, kernel, [1, 1, 1, 1], "SAME"))
            weights.append(get_variable(f"AttnV_{head}", [size], dtype=dtype))

        def attend(query: Any) -> list[Any]:
            if is_nested(query):
                query = concat(flatten(query), 1)
            found = []
            for head in range(num_heads):
                with variable_scope(f"Attention_{head}"):
                    compared = reshape(linear(query, size, True), [-1, 1, 1, size])
                    scores = softmax(reduce_sum(weights[head] * tanh(features[head] + compared), [2, 3]))
                    summed = reduce_sum(reshape(scores, [-1, length, 1, 1]) * hidden, [1, 2])
                    found.append(reshape(summed, [-1, size]))
            return found

        attentions = [zeros(stack([batch, size]), dtype) for _ in range(num_heads)]
        for attention in attentions:
            attention.set_shape([None, size])
        if initial_state_attention:
            attentions = attend(initial_state)
        outputs, last, state = [], None, initial_state
        for number, given in enumerate(decoder_inputs):
            if number > 0:
                get_variable_scope().reuse_variables()
            if loop_function is not None and last is not None:
                with variable_scope("loop_function", reuse=True):
                    given = loop_function(last, number)
            width = given.shape.as_list()[1]
            if width is None:
                raise ValueError(f"Could not infer input size from input: {given.name}")
            joined = linear([given, *attentions], width, True)
            cell_output, state = cell(joined, state)
            if number == 0 and initial_state_attention:
                with variable_scope(get_variable_scope(), reuse=True):
                    attentions = attend(state)
            else:
                attentions = attend(state)
            with variable_scope("AttnOutputProjection"):
                output = linear([cell_output, *attentions], output_size, True)
            last = output
            outputs.append(output)
        return outputs, state


def embedding_attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_size: int | None = None,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """`attention_decoder` of symbols (`embedding_attention_decoder`)."""
    with variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        table = get_variable("embedding", [num_symbols, embedding_size])
        loop = (
            _extract_argmax_and_embed(table, output_projection, update_embedding_for_previous)
            if feed_previous
            else None
        )
        return attention_decoder(
            [embedding_lookup(table, symbols) for symbols in decoder_inputs],
            initial_state,
            attention_states,
            cell,
            output_size=output_size,
            num_heads=num_heads,
            loop_function=loop,
            initial_state_attention=initial_state_attention,
        )


def embedding_attention_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """An encoder and a decoder of symbols, with attention to the encoder's outputs
    (`embedding_attention_seq2seq`)."""
    import copy

    with variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as current:
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        outputs, state = static_rnn(encoder, encoder_inputs, dtype=current.dtype)
        states = concat([reshape(output, [-1, 1, cell.output_size]) for output in outputs], 1)
        size = None
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
            size = num_decoder_symbols
        decode = partial(
            embedding_attention_decoder,
            decoder_inputs,
            state,
            states,
            cell,
            num_decoder_symbols,
            embedding_size,
            num_heads=num_heads,
            output_size=size,
            output_projection=output_projection,
            initial_state_attention=initial_state_attention,
        )
        return _decoded(decode, feed_previous, state, len(decoder_inputs))
