"""`tf.strings`: operations on text."""

import typing as _typing

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
