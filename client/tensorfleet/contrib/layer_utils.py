"""`tf.contrib.layers.utils`: collections of outputs, sizes."""

import typing as _typing

from tensorfleet.contrib.output_collections import (
    append_tensor_alias as append_tensor_alias,
    channel_dimension as channel_dimension,
    collect_named_outputs as collect_named_outputs,
    constant_value as constant_value,
    convert_collection_to_dict as convert_collection_to_dict,
    first_dimension as first_dimension,
    gather_tensors_aliases as gather_tensors_aliases,
    get_variable_collections as get_variable_collections,
    last_dimension as last_dimension,
    n_positive_integers as n_positive_integers,
    smart_cond as smart_cond,
    two_element_tuple as two_element_tuple,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
