"""`tf.saved_model.main_op`: operations that initialize a loaded graph."""

import typing as _typing

from tensorfleet.saved_model.initializing import (
    main_op as main_op,
    main_op_with_restore as main_op_with_restore,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
