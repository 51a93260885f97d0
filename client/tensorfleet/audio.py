"""`tf.audio`: WAV files."""

import typing as _typing

from tensorfleet.ops.io.audio import decode_wav as decode_wav, encode_wav as encode_wav

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
