"""`tf.strings`: operations on text."""

import typing as _typing

from tensorfleet.ops.text.hashing import (
    string_to_hash_bucket as to_hash_bucket,
    string_to_hash_bucket_fast as to_hash_bucket_fast,
    string_to_hash_bucket_strong as to_hash_bucket_strong,
)
from tensorfleet.ops.text.regex_match import regex_full_match as regex_full_match
from tensorfleet.ops.text.strings import (
    as_string as as_string,
    join as join,
    length as length,
    lower as lower,
    reduce_join as reduce_join,
    regex_replace as regex_replace,
    strip as strip,
    substr as substr,
    to_number as to_number,
    upper as upper,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "as_string",
    "join",
    "length",
    "lower",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "strip",
    "substr",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "upper",
]
