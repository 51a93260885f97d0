"""`tf.user_ops`: the place of ops that users add to TensorFlow; one example is there."""

import typing as _typing

from tensorfleet.ops.text.factorial import my_fact as my_fact

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
