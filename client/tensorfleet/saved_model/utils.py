"""`tf.saved_model.utils`: the descriptions of tensors in signatures."""

import typing as _typing

from tensorfleet.saved_model.tensor_infos import (
    build_tensor_info as build_tensor_info,
    get_tensor_from_tensor_info as get_tensor_from_tensor_info,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
