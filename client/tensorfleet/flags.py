"""`tf.flags`: the flags of the command line."""

import typing as _typing

from tensorfleet.api.flags import (
    FLAGS as FLAGS,
    DEFINE_bool as DEFINE_bool,
    DEFINE_boolean as DEFINE_boolean,
    DEFINE_enum as DEFINE_enum,
    DEFINE_float as DEFINE_float,
    DEFINE_integer as DEFINE_integer,
    DEFINE_list as DEFINE_list,
    DEFINE_string as DEFINE_string,
    FlagValues as FlagValues,
    mark_flag_as_required as mark_flag_as_required,
    mark_flags_as_required as mark_flags_as_required,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
