"""Hashes of strings: `tf.string_to_hash_bucket_fast`, …, `tf.fingerprint`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.core.dims import Dims
from tensorfleet.core.dispatch import takes_composites
from tensorfleet.graph.apply import apply_one
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.shape_rules import unchanged

_BUCKETS = "num_buckets: int >= 1"


def _fingerprint_shape(op: RuleNode) -> list[Dims]:
    dims = op.inputs[0].dims
    return [(None if dims is None else dims[0], 8)]


op("StringToHashBucket(string_tensor: string) -> (output: int64)", _BUCKETS, shape=unchanged)
op("StringToHashBucketFast(input: string) -> (output: int64)", _BUCKETS, shape=unchanged)
op("StringToHashBucketStrong(input: string) -> (output: int64)", _BUCKETS, "key: list(int)", shape=unchanged)
op("Fingerprint(data: T, method: string) -> (fingerprint: uint8)", "T: type", shape=_fingerprint_shape)


@takes_composites
def string_to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """The bucket of each string by FarmHash, in [0, num_buckets) (`tf.string_to_hash_bucket_fast`).

    Strings can be made to fall into one bucket on purpose; `string_to_hash_bucket_strong` prevents that.

    Example:
        >>> tf.Session().run(tf.string_to_hash_bucket_fast(["Hello", "TensorFlow"], 3))
        array([0, 2])
    """
    return apply_one("StringToHashBucketFast", input, num_buckets=num_buckets, name=name)


@takes_composites
def string_to_hash_bucket_strong(
    input: Any, num_buckets: int, key: Sequence[int], name: str | None = None
) -> Tensor:
    """The bucket of each string by SipHash with a secret key of two integers
    (`tf.string_to_hash_bucket_strong`)."""
    return apply_one("StringToHashBucketStrong", input, num_buckets=num_buckets, key=list(key), name=name)


@takes_composites
def string_to_hash_bucket(
    string_tensor: Any = None, num_buckets: int | None = None, name: str | None = None, input: Any = None
) -> Tensor:
    """The bucket of each string by MurmurHash, the hash of early versions (`tf.string_to_hash_bucket`).

    `input` is another name of `string_tensor`.
    """
    text = input if string_tensor is None else string_tensor
    return apply_one("StringToHashBucket", text, num_buckets=num_buckets, name=name)


def fingerprint(data: Any, method: str = "farmhash64", name: str | None = None) -> Tensor:
    """The FarmHash of each row of `data` as eight bytes, uint8 [rows, 8] (`tf.fingerprint`)."""
    return apply_one("Fingerprint", data, method, name=name)
