"""`tf.initializers`: first values of variables."""

import typing as _typing

from tensorfleet.ops.state.initializers import (
    constant_initializer as constant,
    glorot_normal_initializer as glorot_normal,
    glorot_uniform_initializer as glorot_uniform,
    he_normal as he_normal,
    he_uniform as he_uniform,
    identity_initializer as identity,
    lecun_normal as lecun_normal,
    lecun_uniform as lecun_uniform,
    ones_initializer as ones,
    orthogonal_initializer as orthogonal,
    random_normal_initializer as random_normal,
    random_uniform_initializer as random_uniform,
    truncated_normal_initializer as truncated_normal,
    uniform_unit_scaling_initializer as uniform_unit_scaling,
    variance_scaling_initializer as variance_scaling,
    zeros_initializer as zeros,
)
from tensorfleet.ops.state.variable_collections import (
    global_variables_initializer as global_variables,
    local_variables_initializer as local_variables,
    tables_initializer as tables_initializer,
    variables_initializer as variables,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = [
    "constant",
    "global_variables",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "lecun_normal",
    "lecun_uniform",
    "local_variables",
    "ones",
    "orthogonal",
    "random_normal",
    "random_uniform",
    "tables_initializer",
    "truncated_normal",
    "uniform_unit_scaling",
    "variables",
    "variance_scaling",
    "zeros",
]
