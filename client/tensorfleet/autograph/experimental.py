"""`tf.autograph.experimental`: what a conversion would be told."""

import typing as _typing

from tensorfleet.api.autograph import Feature as Feature, do_not_convert as do_not_convert

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
