"""`tensorflow.compat.v2`: functions of version 2 that take their arguments otherwise than those of `tf`.

In a graph both versions do the same; here each function of version 2 is that of version 1 with other names,
order or defaults of its arguments. The other names of `tensorflow.compat.v2` are those of `tf`: `paths.py`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import tensorfleet as tf

# By the path below `tensorflow.compat.v2`: the parameters in the order of version 2, those that are called
# otherwise in version 1 as `name=name_there`, and values that version 2 always has there as `+name=value`.
# Defaults are those of version 1; `name:value` is another one, and `name!` has none in version 2.
SIGNATURES: dict[str, str] = {
    **{
        f"{place}{name}": "input axis output_type name"
        for place in ("", "math.")
        for name in ("argmax", "argmin")
    },
    "batch_to_space": "input block_shape! crops name",
    "boolean_mask": "tensor mask axis name",
    "convert_to_tensor": "value dtype dtype_hint name",
    "gather": "params indices validate_indices axis batch_dims name",
    "gather_nd": "params indices batch_dims name",
    "gradients": "ys xs grad_ys name gate_gradients aggregation_method stop_gradients unconnected_gradients",
    "hessians": "ys xs gate_gradients aggregation_method name",
    "ones_like": "input=tensor dtype name",
    "ones": "shape dtype name",
    "pad": "tensor paddings mode constant_values name",
    **{
        f"{place}reduce_{name}": "input_tensor axis keepdims:False name"
        for place in ("", "math.")
        for name in ("all", "any", "logsumexp", "max", "mean", "min", "prod", "sum")
    },
    "shape": "input out_type:int32 name",
    "size": "input out_type:int32 name",
    "space_to_batch": "input block_shape! paddings! name",
    "transpose": "a perm conjugate name",
    "tuple": "tensors control_inputs name",
    "while_loop": (
        "cond body loop_vars shape_invariants parallel_iterations back_prop swap_memory "
        "maximum_iterations name +return_same_structure=True"
    ),
    "zeros": "shape dtype name",
    "zeros_like": "input=tensor dtype name",
    **{
        f"{place}assert_{relation}": "x y message summarize name"
        for place in ("", "debugging.")
        for relation in ("equal", "greater", "less")
    },
    **{
        f"debugging.assert_{relation}": "x y message summarize name"
        for relation in ("greater_equal", "less_equal")
    },
    **{
        f"debugging.assert_{sign}": "x message summarize name"
        for sign in ("negative", "non_negative", "non_positive", "positive")
    },
    "assert_rank": "x rank message name",
    "debugging.assert_near": "x y rtol atol message summarize name",
    "debugging.assert_none_equal": "x y summarize message name",
    "debugging.assert_rank": "x rank message name",
    "debugging.assert_rank_at_least": "x rank message name",
    "debugging.assert_rank_in": "x ranks message name",
    "debugging.assert_scalar": "tensor message name",
    "image.crop_and_resize": "image boxes box_indices=box_ind! crop_size! method extrapolation_value name",
    "io.decode_csv": "records record_defaults field_delim use_quote_delim na_value select_cols name",
    "io.parse_example": "serialized features example_names name",
    "io.parse_single_example": "serialized features example_names name",
    "math.confusion_matrix": "labels predictions num_classes weights dtype name",
    "math.count_nonzero": "input=input_tensor! axis keepdims dtype name",
    **{f"{place}.in_top_k": "targets predictions k name" for place in ("math", "nn")},
    "nn.avg_pool": "input=value ksize strides padding data_format name",
    "nn.conv1d": "input=value! filters! stride! padding! data_format dilations name",
    "nn.conv2d": "input filters=filter! strides! padding! data_format dilations name",
    "nn.conv2d_transpose": (
        "input=value! filters=filter! output_shape! strides! padding data_format dilations name"
    ),
    "nn.conv3d": "input filters=filter! strides! padding! data_format dilations name",
    "nn.convolution": "input filters=filter! strides padding:VALID data_format dilations=dilation_rate name",
    "nn.crelu": "features axis name",
    "nn.depth_to_space": "input block_size data_format name",
    "nn.depthwise_conv2d": "input filter strides padding data_format dilations=rate name",
    "nn.dropout": "x rate! noise_shape seed name",
    "nn.embedding_lookup": "params ids max_norm name +partition_strategy=div",
    "nn.embedding_lookup_sparse": "params sp_ids sp_weights combiner max_norm name +partition_strategy=div",
    "nn.max_pool": "input=value ksize strides padding data_format name",
    "nn.moments": "x axes shift keepdims:False name",
    "nn.nce_loss": (
        "weights biases labels inputs num_sampled num_classes num_true sampled_values remove_accidental_hits "
        "name +partition_strategy=div"
    ),
    "nn.safe_embedding_lookup_sparse": (
        "embedding_weights sparse_ids sparse_weights combiner default_id max_norm name "
        "+partition_strategy=div"
    ),
    "nn.sampled_softmax_loss": (
        "weights biases labels inputs num_sampled num_classes num_true sampled_values remove_accidental_hits "
        "seed name +partition_strategy=div"
    ),
    "nn.separable_conv2d": (
        "input depthwise_filter pointwise_filter strides padding data_format dilations=rate name"
    ),
    "nn.sigmoid_cross_entropy_with_logits": "labels logits name",
    "nn.softmax_cross_entropy_with_logits": "labels logits axis:-1 name",
    "nn.space_to_batch": "input block_shape! paddings! name",
    "nn.space_to_depth": "input block_size data_format name",
    "nn.sparse_softmax_cross_entropy_with_logits": "labels! logits! name",
    "nn.sufficient_statistics": "x axes shift keepdims:False name",
    "nn.weighted_cross_entropy_with_logits": "labels! logits! pos_weight! name",
    "nn.weighted_moments": "x axes frequency_weights keepdims:False name",
    "random.poisson": "shape lam dtype seed name",
    "strings.length": "input unit name",
    "strings.reduce_join": "inputs axis keepdims:False separator name",
    "strings.substr": "input pos len unit name",
    "strings.to_hash_bucket": "input=string_tensor! num_buckets! name",
    "strings.to_number": "input=string_tensor! out_type name",
}

ABSENT = frozenset(("image.draw_bounding_boxes", "image.resize", "nn.ctc_loss", "strings.split"))
"""Functions that compute something else in version 2."""

# Where version 1 calls the function otherwise.
_FUNCTIONS = {"nn.softmax_cross_entropy_with_logits": "nn.softmax_cross_entropy_with_logits_v2"}
_VALUES: dict[str, Any] = {"True": True, "False": False, "-1": -1, "int32": tf.int32}


class _VariableType(type):
    """Makes resource variables; all variables are instances."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        names = (
            *(
                "initial_value",
                "trainable",
                "validate_shape",
                "caching_device",
                "name",
                "variable_def",
                "dtype",
            ),
            *("import_scope", "constraint", "synchronization", "aggregation", "shape"),
        )
        return tf.Variable(use_resource=True, **dict(zip(names, args, strict=False)), **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, tf.Variable)


class Variable(metaclass=_VariableType):
    """`tf.Variable` of version 2: a resource variable."""


def function_of(path: str) -> Callable[..., Any]:
    """The function of version 1 that does what the one with that path in version 2 does."""
    value: Any = tf
    for part in _FUNCTIONS.get(path, path).split("."):
        value = getattr(value, part)
    function: Callable[..., Any] = value
    return function


def _parameters(path: str) -> tuple[list[inspect.Parameter], dict[str, str], dict[str, Any]]:
    """The parameters in version 2, their names in version 1, and the defaults that version 2 alone has."""
    known = inspect.signature(function_of(path)).parameters
    made: list[inspect.Parameter] = []
    there: dict[str, str] = {}
    own: dict[str, Any] = {}
    for word in SIGNATURES[path].split():
        if word.startswith("+"):
            continue
        both, _, value = word.removesuffix("!").partition(":")
        name, _, name_there = both.partition("=")
        there[name] = name_there or name
        default = inspect.Parameter.empty if word.endswith("!") else known[there[name]].default
        if value:
            default = own[name] = _VALUES.get(value, value)
        made.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default))
    return made, there, own


@functools.cache
def adapted(path: str) -> Callable[..., Any]:
    """The function of version 2 with that path."""
    function = function_of(path)
    pairs = (word[1:].split("=") for word in SIGNATURES[path].split() if word.startswith("+"))
    fixed = {name: _VALUES.get(value, value) for name, value in pairs}
    parameters, there, own = _parameters(path)
    signature = inspect.Signature(parameters)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = own | signature.bind(*args, **kwargs).arguments
        return function(**{there[name]: value for name, value in given.items()}, **fixed)

    # Libraries compare the arguments with those of functions of their own: they are not those of `function`.
    del call.__wrapped__
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call
