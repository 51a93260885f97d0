"""Random numbers of several parameters: binomial ones, normal ones between bounds, and shuffled indices."""

from __future__ import annotations

from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.core.dims import Dims
from tensorfleet.graph import framework
from tensorfleet.graph.apply import apply_one
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.seeds import get_seed
from tensorfleet.graph.static_value import static_dims
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.random.random_ops import shape_tensor
from tensorfleet.ops.shape_rules import with_rank_at_most

_NUMBERS = "{half, float32, float64, int32, int64}"
_INDICES = "{int32, uint32, int64, uint64}"


def _first(node: RuleNode) -> list[Dims]:
    return [static_dims(node.inputs[0])]


def _third(node: RuleNode) -> list[Dims]:
    return [static_dims(node.inputs[2])]


def _shuffled(node: RuleNode) -> list[Dims]:
    index, seed, highest = (tensor.dims for tensor in node.inputs)
    with_rank_at_most(index, 1)
    with_rank_at_most(highest, 1)
    with_rank_at_most(seed, 2)
    if seed is not None and (not seed or seed[-1] not in (None, 3)):
        raise ValueError(f"Seed must have shape [3] or [n, 3] but got {list(seed)}")
    counts = [dims[0] for dims, rank in ((index, 0), (seed, 1), (highest, 0)) if dims and len(dims) > rank]
    known = {count for count in counts if count not in (None, 1)}
    if len(known) > 1:
        raise ValueError(
            f"Index, seed and max_index have {sorted(map(str, known))} rows: they must have one number"
        )
    if any(dims is None for dims in (index, seed, highest)):
        return [None]
    if not counts:
        return [()]
    return [(known.pop() if known else None if None in counts else 1,)]


op(
    "StatelessRandomBinomial(shape: S, seed: Tseed, counts: T, probs: T) -> (output: dtype)",
    "S: {int32, int64}",
    "Tseed: {int32, int64} = int64",
    f"T: {_NUMBERS} = float64",
    f"dtype: {_NUMBERS} = int64",
    shape=_first,
)
op(
    "StatefulRandomBinomial(resource: resource, algorithm: int64, shape: S, counts: T, probs: T) -> "
    "(output: dtype)",
    "S: {int32, int64}",
    f"T: {_NUMBERS} = float64",
    f"dtype: {_NUMBERS} = int64",
    shape=_third,
    stateful=True,
)
op(
    "StatelessParameterizedTruncatedNormal(shape: S, seed: Tseed, means: dtype, stddevs: dtype, "
    "minvals: dtype, maxvals: dtype) -> (output: dtype)",
    "S: {int32, int64}",
    "Tseed: {int32, int64} = int64",
    "dtype: {half, float32, float64}",
    shape=_first,
)
op(
    "ParameterizedTruncatedNormal(shape: T, means: dtype, stdevs: dtype, minvals: dtype, maxvals: dtype) -> "
    "(output: dtype)",
    "seed: int = 0",
    "seed2: int = 0",
    "dtype: {half, bfloat16, float32, float64}",
    "T: {int32, int64}",
    shape=_first,
    stateful=True,
)
op(
    "RandomIndexShuffle(index: dtype, seed: Tseed, max_index: dtype) -> (output: dtype)",
    "rounds: int = 4",
    f"dtype: {_INDICES}",
    f"Tseed: {_INDICES}",
    shape=_shuffled,
)


def stateless_binomial(
    shape: Any,
    seed: Any,
    counts: Any,
    probs: Any,
    output_dtype: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Numbers of successes, equal for equal seeds (`tf.random.stateless_binomial`).

    Args:
        shape: the whole shape, which ends with that of `counts` and `probs`.
        counts, probs: the number of trials, and the probability of a success in each.
    """
    with framework.name_scope(name, "stateless_random_binomial", [shape, seed, counts, probs]):
        dims = shape_tensor(shape)
        probabilities = convert_to_tensor(probs, name="probs", preferred_dtype=dtypes.float32)
        trials = convert_to_tensor(counts, name="counts", preferred_dtype=probabilities.dtype.base)
        kind = dtypes.as_dtype(output_dtype)
        return apply_one("StatelessRandomBinomial", dims, seed, trials, probabilities, dtype=kind)


def stateless_parameterized_truncated_normal(
    shape: Any,
    seed: Any,
    means: Any = 0.0,
    stddevs: Any = 1.0,
    minvals: Any = -2.0,
    maxvals: Any = 2.0,
    name: str | None = None,
) -> Tensor:
    """Normal numbers in [minvals, maxvals], equal for equal seeds.

    Args:
        shape: the whole shape, which ends with that to which the parameters broadcast.
    """
    default = "stateless_parameterized_truncated_normal"
    with framework.name_scope(name, default, [shape, means, stddevs, minvals, maxvals]):
        dims = shape_tensor(shape)
        named = (("means", means), ("stddevs", stddevs), ("minvals", minvals), ("maxvals", maxvals))
        parameters = [convert_to_tensor(value, name=key) for key, value in named]
        return apply_one("StatelessParameterizedTruncatedNormal", dims, seed, *parameters)


def parameterized_truncated_normal(
    shape: Any,
    means: Any = 0.0,
    stddevs: Any = 1.0,
    minvals: Any = -2.0,
    maxvals: Any = 2.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normal numbers in [minvals, maxvals] (`random_ops.parameterized_truncated_normal`).

    Args:
        shape: [batches, …samples]; [samples] if the parameters are scalars.
        means, stddevs, minvals, maxvals: scalars, or a number for each batch.
    """
    with framework.name_scope(
        name, "parameterized_truncated_normal", [shape, means, stddevs, minvals, maxvals]
    ):
        dims = shape_tensor(shape)
        named = (("means", means), ("stddevs", stddevs), ("minvals", minvals), ("maxvals", maxvals))
        parameters = [convert_to_tensor(value, dtype=dtype, name=key) for key, value in named]
        first, second = get_seed(seed)
        return apply_one("ParameterizedTruncatedNormal", dims, *parameters, seed=first, seed2=second)


def random_index_shuffle(
    index: Any, seed: Any, max_index: Any, rounds: int = 4, name: str | None = None
) -> Tensor:
    """Where indices in [0, max_index] are in a permutation by a seed of three integers.

    Args:
        index: an integer, or a vector.
        seed: [3], or [n, 3].
        max_index: an integer, or a vector.
        rounds: of the cipher, which mixes more with more of them; even, 4 at least.
    """
    return apply_one("RandomIndexShuffle", index, seed, max_index, rounds=rounds, name=name)


_FIRST_WORD = 498247692
"""What stands before the two integers of a seed, where the op takes three."""


def index_shuffle(index: Any, seed: Any, max_index: Any) -> Tensor:
    """Where indices are in a permutation by a seed (`tf.random.experimental.index_shuffle`).

    Args:
        index: an integer in [0, max_index], or a vector.
        seed: int32 or int64 [2], or [n, 2].
        max_index: an integer, or a vector, of the dtype of `index`.
    """
    words = convert_to_tensor(seed)
    paddings = [[1, 0]] if words.shape.rank is None else [*[[0, 0]] * (words.shape.rank - 1), [1, 0]]
    whole = apply_one("PadV2", words, paddings, convert_to_tensor(_FIRST_WORD, words.dtype.base))
    return random_index_shuffle(index, whole, max_index)
