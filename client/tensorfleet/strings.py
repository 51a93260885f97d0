"""`tf.strings`: operations on text."""

import typing as _typing

from tensorfleet.ops.io.logging import string_format as format
from tensorfleet.ops.ragged.strings import (
    bytes_split as bytes_split,
    string_split_v2 as split,
    unicode_decode as unicode_decode,
    unicode_decode_with_offsets as unicode_decode_with_offsets,
    unicode_split as unicode_split,
    unicode_split_with_offsets as unicode_split_with_offsets,
)
from tensorfleet.ops.text.hashing import (
    string_to_hash_bucket as to_hash_bucket,
    string_to_hash_bucket_fast as to_hash_bucket_fast,
    string_to_hash_bucket_strong as to_hash_bucket_strong,
)
from tensorfleet.ops.text.splitting import (
    ngrams as ngrams,
    unsorted_segment_join as unsorted_segment_join,
)
from tensorfleet.ops.text.strings import (
    as_string as as_string,
    join as join,
    length as length,
    lower as lower,
    reduce_join as reduce_join,
    regex_full_match as regex_full_match,
    regex_replace as regex_replace,
    strip as strip,
    substr as substr,
    to_number as to_number,
    upper as upper,
)
from tensorfleet.ops.text.unicode import (
    unicode_encode as unicode_encode,
    unicode_transcode as unicode_transcode,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "as_string",
    "bytes_split",
    "format",
    "join",
    "length",
    "lower",
    "ngrams",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "unicode_decode",
    "unicode_decode_with_offsets",
    "unicode_encode",
    "unicode_split",
    "unicode_split_with_offsets",
    "unicode_transcode",
    "unsorted_segment_join",
    "upper",
]
