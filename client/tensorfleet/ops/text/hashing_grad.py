"""The op types of `hashing` have no gradient."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import no_rule, not_differentiable

not_differentiable("StringToHashBucket", "StringToHashBucketFast", "StringToHashBucketStrong")
no_rule("Fingerprint")
