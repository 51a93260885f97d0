"""`slim.model_analyzer`: how many elements a model has."""

import typing as _typing

from tensorfleet.contrib.model_analysis import (
    analyze_ops as analyze_ops,
    analyze_vars as analyze_vars,
    tensor_description as tensor_description,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
