"""Candidate samplers, which draw a few of many classes for a loss.

Jean, Cho, Memisevic and Bengio, "On using very large target vocabulary for neural machine translation", 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tensorfleet.core.dims import Dims
from tensorfleet.graph.apply import apply_op
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.seeds import get_seed
from tensorfleet.graph.tensor import Tensor

_OUTPUTS = "(sampled_candidates: int64, true_expected_count: float32, sampled_expected_count: float32)"
_COMMON = ("num_true: int >= 1", "num_sampled: int >= 1", "unique: bool")
_SEEDS = ("seed: int = 0", "seed2: int = 0")


def _sampled_shape(op: RuleNode) -> list[Dims]:
    num_true, sampled = op.attrs["num_true"], op.attrs["num_sampled"]
    dims = op.inputs[0].dims
    if dims is not None and len(dims) != 2:
        raise ValueError(f"Shape must be rank 2 but is rank {len(dims)}")
    return [(sampled,), (None if dims is None else dims[0], num_true), (sampled,)]


def _hits_shape(op: RuleNode) -> list[Dims]:
    true, sampled = (tensor.dims for tensor in op.inputs)
    if true is not None and (len(true) != 2 or true[1] not in (None, op.attrs["num_true"])):
        raise ValueError(
            f"true_classes must be a matrix of {op.attrs['num_true']} columns, got shape {list(true)}"
        )
    if sampled is not None and len(sampled) != 1:
        raise ValueError(f"Shape must be rank 1 but is rank {len(sampled)}")
    return [(None,), (None,), (None,)]


for _name in ("Uniform", "LogUniform", "LearnedUnigram", "ThreadUnsafeUnigram"):
    op(
        f"{_name}CandidateSampler(true_classes: int64) -> {_OUTPUTS}",
        *_COMMON,
        "range_max: int >= 1",
        *_SEEDS,
        shape=_sampled_shape,
        stateful=True,
    )
op(
    f"FixedUnigramCandidateSampler(true_classes: int64) -> {_OUTPUTS}",
    *_COMMON,
    "range_max: int >= 1",
    'vocab_file: string = ""',
    "distortion: float = 1.0",
    "num_reserved_ids: int = 0",
    "num_shards: int >= 1 = 1",
    "shard: int >= 0 = 0",
    "unigrams: list(float) = []",
    *_SEEDS,
    shape=_sampled_shape,
    stateful=True,
)
op(
    f"AllCandidateSampler(true_classes: int64) -> {_OUTPUTS}",
    *_COMMON,
    *_SEEDS,
    shape=_sampled_shape,
    stateful=True,
)
op(
    "ComputeAccidentalHits(true_classes: int64, sampled_candidates: int64)"
    " -> (indices: int32, ids: int64, weights: float32)",
    "num_true: int",
    *_SEEDS,
    shape=_hits_shape,
)


class Sampled(NamedTuple):
    """What a sampler gives.

    Attributes:
        sampled_candidates: the classes drawn, int64 [num_sampled].
        true_expected_count: how often each true class is expected in a sample of this size, float32 [batch,
            num_true].
        sampled_expected_count: the same of each drawn class, float32 [num_sampled].
    """

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


class AccidentalHits(NamedTuple):
    """The drawn classes that are also true ones, each array of shape [hits].

    Attributes:
        indices: the rows of the batch, int32.
        ids: the indices among the drawn classes, int64.
        weights: the least float32, which makes a probability zero when it is added to the logit.
    """

    indices: Tensor
    ids: Tensor
    weights: Tensor


_Common = tuple[Any, int, int, bool, int | None, str | None]
"""The arguments of all samplers: true_classes, num_true, num_sampled, unique, seed, name."""


def _sample(op_type: str, common: _Common, **attrs: Any) -> Sampled:
    true_classes, num_true, num_sampled, unique, seed, name = common
    seed1, seed2 = get_seed(seed)
    attrs |= {"num_true": num_true, "num_sampled": num_sampled, "unique": unique}
    sampled, true, expected = apply_op(
        op_type, true_classes, name=name, seed=seed1 or 0, seed2=seed2 or 0, **attrs
    )
    return Sampled(sampled, true, expected)


def uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Sampled:
    """Draws each class of [0, range_max) with the same probability (`tf.nn.uniform_candidate_sampler`).

    Args:
        true_classes: int64 [batch, num_true], whose expected counts are computed.
        unique: no class is drawn twice; `range_max` must then be `num_sampled` or more.

    Returns:
        The drawn classes and the expected counts: see `Sampled`.
    """
    common = (true_classes, num_true, num_sampled, unique, seed, name)
    return _sample("UniformCandidateSampler", common, range_max=range_max)


def log_uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Sampled:
    """Draws class k with probability log((k + 2) / (k + 1)) / log(range_max + 1), Zipf's law
    (`tf.nn.log_uniform_candidate_sampler`).

    This fits classes that are numbered by decreasing frequency, such as words of a vocabulary. Arguments and
    results are those of `uniform_candidate_sampler`.
    """
    common = (true_classes, num_true, num_sampled, unique, seed, name)
    return _sample("LogUniformCandidateSampler", common, range_max=range_max)


def learned_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Sampled:
    """Draws classes in proportion to the number of times they were true in earlier steps, plus one
    (`tf.nn.learned_unigram_candidate_sampler`).

    The node's task keeps the counts, and they are lost with it. Arguments and results are those of
    `uniform_candidate_sampler`.
    """
    common = (true_classes, num_true, num_sampled, unique, seed, name)
    return _sample("LearnedUnigramCandidateSampler", common, range_max=range_max)


def fixed_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
    name: str | None = None,
) -> Sampled:
    """Draws classes by given frequencies (`tf.nn.fixed_unigram_candidate_sampler`).

    Args:
        vocab_file: a file on the task's machine, whose lines end with a comma and a frequency. Either this or
            `unigrams` is given.
        distortion: the power to which frequencies are raised; 0 makes all classes equally likely.
        num_reserved_ids: the class of the first frequency; classes below it are never drawn.
        num_shards, shard: draw only classes that equal `shard` modulo `num_shards`.
        unigrams: the frequencies, in the order of the classes.

    The other arguments, and the results, are those of `uniform_candidate_sampler`.
    """
    common = (true_classes, num_true, num_sampled, unique, seed, name)
    return _sample(
        "FixedUnigramCandidateSampler",
        common,
        range_max=range_max,
        vocab_file=vocab_file,
        distortion=distortion,
        num_reserved_ids=num_reserved_ids,
        num_shards=num_shards,
        shard=shard,
        unigrams=list(unigrams),
    )


def all_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Sampled:
    """All classes of [0, num_sampled), to compare a sampled loss with the exact one
    (`tf.nn.all_candidate_sampler`)."""
    common = (true_classes, num_true, num_sampled, unique, seed, name)
    return _sample("AllCandidateSampler", common)


def compute_accidental_hits(
    true_classes: Any,
    sampled_candidates: Any,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> AccidentalHits:
    """The drawn classes that are also true ones (`tf.nn.compute_accidental_hits`).

    Returns:
        One element for each pair of a row and a drawn class: see `AccidentalHits`.
    """
    seed1, seed2 = get_seed(seed)
    indices, ids, weights = apply_op(
        "ComputeAccidentalHits",
        true_classes,
        sampled_candidates,
        name=name,
        num_true=num_true,
        seed=seed1 or 0,
        seed2=seed2 or 0,
    )
    return AccidentalHits(indices, ids, weights)
