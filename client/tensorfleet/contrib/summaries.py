"""Summaries of tensors and variables: `tf.contrib.layers.summarize_tensor`, …"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorfleet.graph import framework
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.io.summary import histogram, scalar
from tensorfleet.ops.nn.layers import zero_fraction


def summarize_tensor(tensor: Any, tag: str | None = None) -> Any:
    """A scalar summary of a single number, else a histogram (`tf.contrib.layers.summarize_tensor`)."""
    name = tag or tensor.op.name
    return scalar(name, tensor) if tensor.shape.ndims == 0 else histogram(name, tensor)


def summarize_activation(op: Any) -> Any:
    """A histogram; for the outputs of a relu also the fraction of zeros."""
    if op.op.type in ("Relu", "Softplus", "Relu6"):
        scalar(f"{op.op.name}/zeros", zero_fraction(op))
    return histogram(f"{op.op.name}/activation", op)


def summarize_tensors(tensors: Iterable[Any], summarizer: Any = summarize_tensor) -> list[Any]:
    """A summary of each tensor."""
    return [summarizer(tensor) for tensor in tensors]


def summarize_collection(
    collection: Any, name_filter: str | None = None, summarizer: Any = summarize_tensor
) -> list[Any]:
    """A summary of each tensor of a collection whose name matches the filter at its start."""
    return summarize_tensors(framework.get_collection(collection, name_filter), summarizer)


def summarize_variables(name_filter: str | None = None, summarizer: Any = summarize_tensor) -> list[Any]:
    """A summary of each global variable."""
    return summarize_collection(GraphKeys.GLOBAL_VARIABLES, name_filter, summarizer)


def summarize_weights(name_filter: str | None = None, summarizer: Any = summarize_tensor) -> list[Any]:
    """A summary of each item of the collection WEIGHTS."""
    return summarize_collection(GraphKeys.WEIGHTS, name_filter, summarizer)


def summarize_biases(name_filter: str | None = None, summarizer: Any = summarize_tensor) -> list[Any]:
    """A summary of each item of the collection BIASES."""
    return summarize_collection(GraphKeys.BIASES, name_filter, summarizer)


def summarize_activations(
    name_filter: str | None = None, summarizer: Any = summarize_activation
) -> list[Any]:
    """A summary of each item of the collection ACTIVATIONS."""
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)
