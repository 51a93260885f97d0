"""Decoders and the helpers that choose their inputs: `tf.contrib.seq2seq.BasicDecoder`, `dynamic_decode`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tensorfleet.core import dtypes, structures
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import fill, zeros_like
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.array.shaping import shape, size
from tensorfleet.ops.control_flow.control_flow import cond, while_loop
from tensorfleet.ops.data_flow.tensor_array import TensorArray
from tensorfleet.ops.math.comparison import equal, greater_equal, logical_and, logical_not, logical_or
from tensorfleet.ops.math.extrema import argmax
from tensorfleet.ops.math.reduction import reduce_all
from tensorfleet.ops.nn.embedding import embedding_lookup
from tensorfleet.ops.random.random_ops import multinomial
from tensorfleet.ops.state.variable_scope import variable_scope
from tensorfleet.rnn.lengths import select, share_reads
from tensorfleet.rnn.state import zeros_of


class BasicDecoderOutput(NamedTuple):
    """The output of a BasicDecoder: the outputs of the cell or layer, and the chosen symbols."""

    rnn_output: Any
    sample_id: Any


class Helper:
    """Chooses the symbols and the next inputs of a decoder (`tf.contrib.seq2seq.Helper`)."""

    @property
    def batch_size(self) -> Any:
        """The number of sequences."""
        raise NotImplementedError

    @property
    def sample_ids_shape(self) -> TensorShape:
        """The shape of a symbol."""
        return TensorShape([])

    @property
    def sample_ids_dtype(self) -> Any:
        """The dtype of symbols."""
        return dtypes.int32

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """(finished, inputs): whether each sequence is finished from the start, and the first inputs."""
        raise NotImplementedError

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """The symbols of a step."""
        raise NotImplementedError

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """(finished, next inputs, next state): whether each sequence is finished after this step, …"""
        raise NotImplementedError


class CustomHelper(Helper):
    """A helper made from three functions (`tf.contrib.seq2seq.CustomHelper`)."""

    def __init__(
        self,
        initialize_fn: Callable[..., Any],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any],
        sample_ids_shape: Any = None,
        sample_ids_dtype: Any = None,
    ) -> None:
        self._initialize, self._sample, self._next = initialize_fn, sample_fn, next_inputs_fn
        self._shape, self._dtype = TensorShape(sample_ids_shape or []), sample_ids_dtype or dtypes.int32
        self._batch: Any = None

    @property
    def batch_size(self) -> Any:
        if self._batch is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch

    @property
    def sample_ids_shape(self) -> TensorShape:
        return self._shape

    @property
    def sample_ids_dtype(self) -> Any:
        return self._dtype

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        finished, inputs = self._initialize()
        if self._batch is None:
            self._batch = size(finished)
        return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return self._sample(time=time, outputs=outputs, state=state)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        result: tuple[Any, Any, Any] = self._next(
            time=time, outputs=outputs, state=state, sample_ids=sample_ids
        )
        return result


class TrainingHelper(Helper):
    """A helper whose inputs are given, as in training (`tf.contrib.seq2seq.TrainingHelper`).

    Args:
        inputs: `[batch, time, …]`, or a structure of them.
        sequence_length: int32 `[batch]`.
        time_major: whether the inputs are `[time, batch, …]`.
    """

    def __init__(
        self, inputs: Any, sequence_length: Any, time_major: bool = False, name: str | None = None
    ) -> None:
        inputs = structures.map_structure(convert_to_tensor, inputs)
        if not time_major:
            inputs = structures.map_structure(_turned, inputs)
        self._sequence_length = convert_to_tensor(sequence_length)
        if self._sequence_length.ndim != 1:
            raise ValueError(
                f"Expected sequence_length to be a vector, but received shape: {self._sequence_length.shape}"
            )
        self._inputs = structures.map_structure(_unstacked, inputs)
        self._zeros = structures.map_structure(lambda x: zeros_like(x[0, :]), inputs)
        self._batch = size(self._sequence_length)

    @property
    def batch_size(self) -> Any:
        return self._batch

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        finished = equal(self._sequence_length, 0)
        return finished, self._inputs_at(constant(0), reduce_all(finished))

    def _inputs_at(self, time: Any, all_finished: Any) -> Any:
        def chosen(array: Any, nothing: Any) -> Any:
            return cond(all_finished, lambda: nothing, lambda: array.read(time))

        flat = structures.flatten(self._zeros)
        arrays = [self._inputs] if isinstance(self._inputs, TensorArray) else structures.flatten(self._inputs)
        return structures.pack(self._zeros, [chosen(a, z) for a, z in zip(arrays, flat, strict=True)])

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return cast(argmax(outputs, -1), dtypes.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        following = time + 1
        finished = greater_equal(following, self._sequence_length)
        return finished, self._inputs_at(following, reduce_all(finished)), state


class GreedyEmbeddingHelper(Helper):
    """A helper whose next input is the embedding of the most probable symbol
    (`tf.contrib.seq2seq.GreedyEmbeddingHelper`).

    Args:
        embedding: the table of embeddings, or a function from symbols to inputs.
        start_tokens: the first symbols, int32 `[batch]`.
        end_token: the symbol that ends a sequence, int32 of rank 0.
    """

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        self._embedding = (
            embedding if callable(embedding) else lambda symbols: embedding_lookup(embedding, symbols)
        )
        self._start = convert_to_tensor(start_tokens, dtype=dtypes.int32, name="start_tokens")
        self._end = convert_to_tensor(end_token, dtype=dtypes.int32, name="end_token")
        if self._start.ndim != 1:
            raise ValueError("start_tokens must be a vector")
        if self._end.ndim != 0:
            raise ValueError("end_token must be a scalar")
        self._batch = size(self._start)

    @property
    def batch_size(self) -> Any:
        return self._batch

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        return fill([self._batch], False), self._embedding(self._start)

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return cast(argmax(outputs, -1), dtypes.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        return equal(sample_ids, self._end), self._embedding(sample_ids), state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """A helper that draws symbols by the logits (`tf.contrib.seq2seq.SampleEmbeddingHelper`)."""

    def __init__(
        self,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        softmax_temperature: Any = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._temperature, self._seed = softmax_temperature, seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        logits = outputs if self._temperature is None else outputs / self._temperature
        return multinomial(logits, 1, seed=self._seed, output_dtype=dtypes.int32)[:, 0]


class Decoder:
    """The interface of decoders, which `dynamic_decode` runs (`tf.contrib.seq2seq.Decoder`)."""

    @property
    def batch_size(self) -> Any:
        """The number of sequences."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """The sizes of an output."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """The dtypes of an output."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Whether the `finished` of a step includes the sequences that were finished before."""
        return False

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """(finished, inputs, state) before the first step: whether each sequence is already finished, …"""
        raise NotImplementedError

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        """(outputs, next state, next inputs, finished) of a step."""
        raise NotImplementedError

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """The outputs and the state after the last step."""
        raise NotImplementedError


class BasicDecoder(Decoder):
    """A decoder of a cell, a helper and an output layer (`tf.contrib.seq2seq.BasicDecoder`).

    Args:
        cell: an RNN cell.
        helper: the helper, which chooses symbols and inputs.
        initial_state: the cell's initial state.
        output_layer: a layer on the cell's outputs, such as a `tf.layers.Dense`, or None.
    """

    def __init__(self, cell: Any, helper: Helper, initial_state: Any, output_layer: Any = None) -> None:
        self._cell, self._helper, self._state, self._layer = cell, helper, initial_state, output_layer

    @property
    def batch_size(self) -> Any:
        return self._helper.batch_size

    @property
    def output_size(self) -> Any:
        units = self._cell.output_size
        if self._layer is not None:
            units = self._layer.units if hasattr(self._layer, "units") else None
            if units is None:
                made = self._layer.compute_output_shape(TensorShape([None, self._cell.output_size]))
                units = TensorShape(made).as_list()[-1]
        return BasicDecoderOutput(units, self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> Any:
        dtype = structures.flatten(self._state)[0].dtype.base
        return BasicDecoderOutput(dtype, self._helper.sample_ids_dtype)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        return (*self._helper.initialize(), self._state)

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        outputs, state = self._cell(inputs, state)
        if self._layer is not None:
            outputs = self._layer(outputs)
        symbols = self._helper.sample(time=time, outputs=outputs, state=state)
        finished, following, state = self._helper.next_inputs(
            time=time, outputs=outputs, state=state, sample_ids=symbols
        )
        return BasicDecoderOutput(outputs, symbols), state, following, finished


def dynamic_decode(
    decoder: Any,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: Any = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Runs a decoder until all sequences are finished (`tf.contrib.seq2seq.dynamic_decode`).

    Args:
        output_time_major: whether outputs are `[time, batch, …]`, instead of `[batch, time, …]`.
        impute_finished: whether a finished sequence keeps its state and gets outputs of zeros.
        maximum_iterations: the greatest number of steps; None for no limit.

    Returns:
        The outputs, the last state, and the lengths of the sequences, int32 `[batch]`.

    Raises:
        TypeError: `decoder` is not a Decoder.
    """
    if not hasattr(decoder, "step") or not hasattr(decoder, "initialize"):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with variable_scope(scope, "decoder") as opened:
        share_reads(opened)
        finished, inputs, state = decoder.initialize()
        batch = decoder.batch_size
        # All steps have the shapes of the first one.
        kinds = decoder.output_dtype
        flat_kinds = structures.flatten(kinds)
        sizes = [TensorShape(s) if isinstance(s, (int, TensorShape, list)) else s for s in _sizes(decoder)]
        nothing = structures.pack(
            kinds, [zeros_of(s, batch, d) for s, d in zip(sizes, flat_kinds, strict=True)]
        )
        arrays = [TensorArray(d, size=0, dynamic_size=True, element_shape=None) for d in flat_kinds]
        if maximum_iterations is not None:
            maximum_iterations = convert_to_tensor(maximum_iterations, dtype=dtypes.int32)
            finished = logical_or(finished, greater_equal(constant(0), maximum_iterations))
        lengths = zeros_like(finished, dtype=dtypes.int32)

        def goes_on(time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: Any) -> Any:
            return logical_not(reduce_all(finished))

        def body(time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: Any) -> Any:
            outputs, new_state, following, over = decoder.step(time, inputs, state)
            if not decoder.tracks_own_finished:
                over = logical_or(over, finished)
            if maximum_iterations is not None:
                over = logical_or(over, greater_equal(time + 1, maximum_iterations))
            structures.assert_same_structure(state, new_state)
            structures.assert_same_structure(nothing, outputs)
            counted = where(logical_and(logical_not(finished), over), fill(shape(lengths), time + 1), lengths)
            if impute_finished:
                outputs = structures.map_structure(
                    lambda new, zero: select(finished, zero, new), outputs, nothing
                )
                new_state = structures.map_structure(
                    lambda new, old: select(finished, old, new), new_state, state
                )
            for tensor, old in zip(structures.flatten(new_state), structures.flatten(state), strict=True):
                if isinstance(tensor, Tensor) and isinstance(old, Tensor):
                    tensor.set_shape(old.dims)
            emitted = structures.flatten(outputs)
            arrays = [a.write(time, value) for a, value in zip(arrays, emitted, strict=True)]
            return time + 1, arrays, new_state, following, over, counted

        _, arrays, state, _, _, lengths = while_loop(
            goes_on,
            body,
            (constant(0), arrays, state, inputs, finished, lengths),
            parallel_iterations=parallel_iterations,
            swap_memory=swap_memory,
        )
        stacked = [array.stack() for array in arrays]
        for tensor, zero in zip(stacked, structures.flatten(nothing), strict=True):
            tensor.set_shape([None, *(zero.dims or ())])
        outputs = structures.pack(kinds, stacked)
        if hasattr(decoder, "finalize"):
            try:
                outputs, state = decoder.finalize(outputs, state, lengths)
            except NotImplementedError:  # `finalize` is optional
                pass
        if not output_time_major:
            outputs = structures.map_structure(_turned, outputs)
        return outputs, state, lengths


def _sizes(decoder: Any) -> list[Any]:
    sizes: list[Any] = []
    for part in structures.flatten(decoder.output_size):
        sizes.append(TensorShape([part]) if isinstance(part, int) else part)
    return sizes


def _turned(tensor: Any) -> Any:
    """A tensor with its first two dimensions exchanged."""
    if tensor.ndim is None or tensor.ndim < 2:
        return tensor
    return transpose(tensor, [1, 0, *range(2, tensor.ndim)])


def _unstacked(tensor: Any) -> TensorArray:
    array = TensorArray(
        tensor.dtype.base, size=shape(tensor)[0], element_shape=TensorShape(tensor.shape.as_list()[1:])
    )
    return array.unstack(tensor)


def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Each element of the batch repeated `multiplier` times (`tf.contrib.seq2seq.tile_batch`)."""
    from tensorfleet.ops.array.padding import tile
    from tensorfleet.ops.array.shaping import expand_dims, reshape

    def tiled(tensor: Any) -> Any:
        tensor = convert_to_tensor(tensor)
        dims = tensor.shape.as_list()
        repeated = tile(expand_dims(tensor, 1), [1, multiplier, *([1] * (len(dims) - 1))])
        made = reshape(repeated, concat([[-1], shape(tensor)[1:]], 0))
        made.set_shape([None if dims[0] is None else dims[0] * multiplier, *dims[1:]])
        return made

    return structures.map_structure(tiled, t)
