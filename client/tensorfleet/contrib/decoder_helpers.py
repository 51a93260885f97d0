"""Helpers, which choose the symbols and the inputs of decoders: `tf.contrib.seq2seq.TrainingHelper`, …"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.core import dtypes, structures
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.convert import constant, convert_to_tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import fill, zeros_like
from tensorfleet.ops.array.rearranging import transpose
from tensorfleet.ops.array.shaping import shape, size
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.data_flow.tensor_array import TensorArray
from tensorfleet.ops.math.comparison import equal, greater_equal
from tensorfleet.ops.math.extrema import argmax
from tensorfleet.ops.math.reduction import reduce_all
from tensorfleet.ops.nn.embedding import embedding_lookup
from tensorfleet.ops.random.random_ops import multinomial


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
            inputs = structures.map_structure(batch_and_time_exchanged, inputs)
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


def batch_and_time_exchanged(tensor: Any) -> Any:
    """A tensor with its first two dimensions exchanged."""
    if tensor.ndim is None or tensor.ndim < 2:
        return tensor
    return transpose(tensor, [1, 0, *range(2, tensor.ndim)])


def _unstacked(tensor: Any) -> TensorArray:
    array = TensorArray(
        tensor.dtype.base, size=shape(tensor)[0], element_shape=TensorShape(tensor.shape.as_list()[1:])
    )
    return array.unstack(tensor)
