"""`tf.contrib.learn.utils.input_fn_utils`: what a model is served with."""

from tensorfleet.contrib.serving_inputs import (
    InputFnOps as InputFnOps,
    build_default_serving_input_fn as build_default_serving_input_fn,
    build_parsing_serving_input_fn as build_parsing_serving_input_fn,
)

__all__ = ["InputFnOps", "build_default_serving_input_fn", "build_parsing_serving_input_fn"]
