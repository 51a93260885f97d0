"""Helpers that mix given inputs with the decoder's own outputs, arXiv:1506.03099, and the general helper of
inference: `tf.contrib.seq2seq.ScheduledEmbeddingTrainingHelper`, …"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorfleet.contrib.decoder_helpers import Helper, TrainingHelper, batch_and_time_exchanged
from tensorfleet.core import dtypes, structures
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.constants import fill
from tensorfleet.ops.array.joining import concat
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.common import apply_one
from tensorfleet.ops.math.comparison import greater_equal
from tensorfleet.ops.nn.embedding import embedding_lookup
from tensorfleet.ops.random.random_ops import multinomial, random_uniform


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """A training helper whose next input is now and then the embedding of a symbol drawn by the logits
    (`tf.contrib.seq2seq.ScheduledEmbeddingTrainingHelper`).

    Args:
        inputs: `[batch, time, depth]`.
        sequence_length: int32 `[batch]`.
        embedding: the table of embeddings, or a function from symbols to inputs.
        sampling_probability: the probability of a drawn symbol, of rank 0, or for each sequence of the batch.
        time_major: whether the inputs are `[time, batch, depth]`.
        seed, scheduling_seed: of the symbols, and of where they are used.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        embedding: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: str | None = None,
    ) -> None:
        self._embedding = (
            embedding if callable(embedding) else lambda symbols: embedding_lookup(embedding, symbols)
        )
        self._probability = _probability(sampling_probability)
        self._seed, self._scheduling_seed = seed, scheduling_seed
        super().__init__(inputs, sequence_length, time_major=time_major, name=name)

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Symbols, -1 where the given input is used."""
        drawn = multinomial(outputs, 1, seed=self._seed, output_dtype=dtypes.int32)[:, 0]
        chosen = _happens(self._probability, self.batch_size, self._scheduling_seed)
        return where(chosen, drawn, fill([self.batch_size], -1))

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        finished, given, state = super().next_inputs(time, outputs, state, sample_ids, name)
        embedded = self._embedding(apply_one("Maximum", sample_ids, 0))
        return finished, where(greater_equal(sample_ids, 0), embedded, given), state


class ScheduledOutputTrainingHelper(TrainingHelper):
    """A training helper whose next input is now and then the decoder's output
    (`tf.contrib.seq2seq.ScheduledOutputTrainingHelper`).

    Args:
        inputs: `[batch, time, depth]`.
        sequence_length: int32 `[batch]`.
        sampling_probability: the probability of an output, of rank 0, or for each sequence of the batch.
        time_major: whether the inputs are `[time, batch, depth]`.
        seed: of where outputs are used.
        next_inputs_fn: makes the next input of an output; by default the output is the input.
        auxiliary_inputs: `[batch, time, more]`, put behind each input, given or not.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        next_inputs_fn: Callable[..., Any] | None = None,
        auxiliary_inputs: Any = None,
        name: str | None = None,
    ) -> None:
        self._probability = _probability(sampling_probability)
        self._seed, self._next_inputs_fn = seed, next_inputs_fn
        self._auxiliary: Any = None
        if auxiliary_inputs is not None:
            more = convert_to_tensor(auxiliary_inputs)
            self._auxiliary = more if time_major else batch_and_time_exchanged(more)
            inputs = structures.map_structure(lambda x: concat([x, more], -1), inputs)
        super().__init__(inputs, sequence_length, time_major=time_major, name=name)

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """1 where the output is the next input, else 0."""
        return cast(_happens(self._probability, self.batch_size, self._seed), dtypes.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        finished, given, state = super().next_inputs(time, outputs, state, sample_ids, name)
        made = outputs if self._next_inputs_fn is None else self._next_inputs_fn(outputs)
        if self._auxiliary is not None:
            # After the last step there is no next one; what is taken then is not used.
            following = apply_one("Minimum", time + 1, shape(self._auxiliary)[0] - 1)
            made = structures.map_structure(lambda x: concat([x, self._auxiliary[following]], -1), made)
        chosen = cast(sample_ids, dtypes.bool)
        return finished, structures.map_structure(lambda a, b: where(chosen, a, b), made, given), state


class InferenceHelper(Helper):
    """A helper whose next inputs are its symbols (`tf.contrib.seq2seq.InferenceHelper`).

    Args:
        sample_fn: the symbols of outputs.
        sample_shape, sample_dtype: of a symbol.
        start_inputs: the first inputs, `[batch, …]`.
        end_fn: whether each sequence ends with its symbol.
        next_inputs_fn: the next inputs of symbols; by default the symbols.
    """

    def __init__(
        self,
        sample_fn: Callable[..., Any],
        sample_shape: Any,
        sample_dtype: Any,
        start_inputs: Any,
        end_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any] | None = None,
    ) -> None:
        self._sample_fn, self._end_fn, self._next_inputs_fn = sample_fn, end_fn, next_inputs_fn
        self._sample_shape, self._sample_dtype = TensorShape(sample_shape), sample_dtype
        self._start_inputs = convert_to_tensor(start_inputs, name="start_inputs")
        self._batch = shape(self._start_inputs)[0]

    @property
    def batch_size(self) -> Any:
        return self._batch

    @property
    def sample_ids_shape(self) -> TensorShape:
        return self._sample_shape

    @property
    def sample_ids_dtype(self) -> Any:
        return self._sample_dtype

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        return fill([self._batch], False), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return self._sample_fn(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        inputs = sample_ids if self._next_inputs_fn is None else self._next_inputs_fn(sample_ids)
        return self._end_fn(sample_ids), inputs, state


def _probability(value: Any) -> Any:
    probability = convert_to_tensor(value, name="sampling_probability")
    if probability.ndim not in (0, 1):
        raise ValueError(
            f"sampling_probability must be either a scalar or a vector. saw shape: {probability.get_shape()}"
        )
    return probability


def _happens(probability: Any, batch_size: Any, seed: int | None) -> Any:
    return random_uniform([batch_size], dtype=probability.dtype.base, seed=seed) < probability
