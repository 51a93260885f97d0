"""`slim.nets.inception`: Inception networks."""

import typing as _typing

from tensorfleet.contrib.slim_networks.inception import (
    inception_v1 as inception_v1,
    inception_v1_arg_scope as inception_v1_arg_scope,
    inception_v1_base as inception_v1_base,
    inception_v2 as inception_v2,
    inception_v2_arg_scope as inception_v2_arg_scope,
    inception_v2_base as inception_v2_base,
    inception_v3 as inception_v3,
    inception_v3_arg_scope as inception_v3_arg_scope,
    inception_v3_base as inception_v3_base,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "inception_v1",
    "inception_v1_arg_scope",
    "inception_v1_base",
    "inception_v2",
    "inception_v2_arg_scope",
    "inception_v2_base",
    "inception_v3",
    "inception_v3_arg_scope",
    "inception_v3_base",
]
