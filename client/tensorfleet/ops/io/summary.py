"""Summaries: tensors as messages for TensorBoard (`tf.summary`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tensorfleet.core import dtypes, logging
from tensorfleet.graph.convert import convert_to_tensor
from tensorfleet.graph.framework import add_to_collections, get_collection, name_scope
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.op_def import op
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.common import ORDERED, apply_one
from tensorfleet.ops.shape_rules import scalar as _scalar_shape

if TYPE_CHECKING:
    from tensorfleet.proto.summary_pb2 import SummaryDescription, SummaryMetadata

_WRITING = "_SUMMARY_V2"
"""The collection of the summary ops that write by themselves."""

op("ScalarSummary(tags: string, values: T) -> (summary: string)", f"T: {{{ORDERED}}}", shape=_scalar_shape)
op(
    "HistogramSummary(tag: string, values: T) -> (summary: string)",
    f"T: {{{ORDERED}}} = float32",
    shape=_scalar_shape,
)
op(
    "ImageSummary(tag: string, tensor: T) -> (summary: string)",
    "max_images: int >= 1 = 3",
    "T: {uint8, float32, float16, float64} = float32",
    "bad_color: tensor = uint8[255, 0, 0, 255]",
    shape=_scalar_shape,
)
op(
    "AudioSummaryV2(tag: string, tensor: float32, sample_rate: float32) -> (summary: string)",
    "max_outputs: int >= 1 = 3",
    shape=_scalar_shape,
)
op("MergeSummary(inputs: N * string) -> (summary: string)", "N: int >= 1", shape=_scalar_shape)
op(
    "TensorSummaryV2(tag: string, tensor: T, serialized_summary_metadata: string) -> (summary: string)",
    "T: type",
    shape=_scalar_shape,
)


def scalar(name: str, tensor: Any, collections: Any = None, family: str | None = None) -> Tensor:
    """A summary of one number (`tf.summary.scalar`).

    Args:
        name: the node's name, made unique; it is also the tag in TensorBoard.
        tensor: a real number, of rank 0.
        collections: the collections to add the summary to, by default SUMMARIES.
        family: a prefix of the tag, under which TensorBoard groups it.
    """
    with summary_scope(name, family, [tensor]) as (tag, scope):
        return _collected(apply_one("ScalarSummary", tag, tensor, name=scope), collections)


def histogram(name: str, values: Any, collections: Any = None, family: str | None = None) -> Tensor:
    """A summary of the distribution of the elements of a real tensor (`tf.summary.histogram`).

    Raises:
        InvalidArgumentError: in a run, where a value is NaN or infinite.
    """
    with summary_scope(name, family, [values], "HistogramSummary") as (tag, scope):
        return _collected(apply_one("HistogramSummary", tag, values, name=scope), collections)


def image(
    name: str, tensor: Any, max_outputs: int = 3, collections: Any = None, family: str | None = None
) -> Tensor:
    """A summary of images (`tf.summary.image`).

    Args:
        tensor: of shape [batch, height, width, channels], with 1 channel (grey), 3 (RGB) or 4 (RGBA). uint8
            is shown as it is. Floats are scaled so that the largest one of an image becomes 255, or to -127
            … 127 around 128 if some are negative; pixels with NaN or infinity are red.
        max_outputs: the greatest number of images to show.
    """
    with summary_scope(name, family, [tensor]) as (tag, scope):
        made = apply_one("ImageSummary", tag, tensor, max_images=max_outputs, name=scope)
        return _collected(made, collections)


def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Any = None,
    family: str | None = None,
) -> Tensor:
    """A summary of sound (`tf.summary.audio`).

    Args:
        tensor: float32 of shape [batch, frames, channels] or [batch, frames], from -1 to 1.
        sample_rate: frames per second.
        max_outputs: the greatest number of clips to keep.
    """
    with summary_scope(name, family, [tensor]) as (tag, scope):
        rate = convert_to_tensor(sample_rate, dtypes.float32, "sample_rate")
        made = apply_one("AudioSummaryV2", tag, tensor, rate, max_outputs=max_outputs, name=scope)
        return _collected(made, collections)


def text(name: str, tensor: Tensor, collections: Any = None) -> Tensor:
    """A summary of a string tensor of any shape, shown as Markdown (`tf.summary.text`).

    Raises:
        ValueError: the tensor's dtype is not string.
    """
    from tensorfleet.proto.summary_pb2 import SummaryMetadata

    if tensor.dtype.base is not dtypes.string:
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype}")
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
    return tensor_summary(name, tensor, summary_metadata=metadata, collections=collections)


def tensor_summary(
    name: str,
    tensor: Any,
    summary_description: str | None = None,
    collections: Any = None,
    summary_metadata: SummaryMetadata | None = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor:
    """A summary of a tensor of any type, for plugins of TensorBoard (`tf.summary.tensor_summary`).

    Args:
        summary_description: a longer description, in Markdown.
        summary_metadata: a SummaryMetadata, which names the plugin.
        display_name: the name to show instead of the tag.
    """
    from tensorfleet.proto.summary_pb2 import SummaryMetadata

    metadata = SummaryMetadata()
    if summary_metadata is not None:
        metadata.CopyFrom(summary_metadata)
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name
    with summary_scope(name, family, [tensor]) as (tag, scope):
        made = apply_one("TensorSummaryV2", tag, tensor, metadata.SerializeToString(), name=scope)
        return _collected(made, collections)


def get_summary_description(node_def: Any) -> SummaryDescription:
    """The SummaryDescription that a node of a TensorSummary carries (`tf.summary.get_summary_description`).

    Raises:
        ValueError: a node of another op.
    """
    from google.protobuf import json_format

    from tensorfleet.proto.summary_pb2 import SummaryDescription

    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    return json_format.Parse(node_def.attr["description"].s.decode(), SummaryDescription())


def initialize(graph: Any = None, session: Any = None) -> None:
    """Starts the default writer of TensorFlow 2's summaries, of which a graph here has none.

    Raises:
        RuntimeError: always, as in TensorFlow without a default writer: write with `tf.summary.FileWriter`.
    """
    raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")


def all_v2_summary_ops() -> list[Any]:
    """The summary ops of the default graph that write by themselves (`tf.summary.all_v2_summary_ops`).

    These are in the collection `_SUMMARY_V2`; the ops of `tf.summary` that are fetched are not among them.
    """
    return get_collection(_WRITING)


def merge(inputs: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """All values of several summaries as one (`tf.summary.merge`).

    Raises:
        InvalidArgumentError: in a run, if two values have the same tag.
    """
    name = _clean(name)
    with name_scope(name, "Merge", inputs):
        made = apply_one("MergeSummary", inputs, name=name)
        add_to_collections(collections or [], made)
        return made


def merge_all(key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Any:
    """All summaries of a collection as one; None if it has none (`tf.summary.merge_all`)."""
    summaries = get_collection(key, scope)
    return merge(summaries, name=name) if summaries else None


def _collected(summary: Tensor, collections: Any) -> Tensor:
    add_to_collections([GraphKeys.SUMMARIES] if collections is None else collections, summary)
    return summary


def _clean(name: str | None) -> str | None:
    """The name with characters replaced that name scopes cannot have."""
    if name is None:
        return None
    clean = re.sub(r"[^-/\w\.]", "_", name).lstrip("/")
    if clean != name:
        logging.info("Summary name %s is illegal; using %s instead.", name, clean)
    return clean


@contextmanager
def summary_scope(
    name: str, family: str | None, values: list[Any], default_name: str | None = None
) -> Iterator[tuple[str, str]]:
    """A context manager with the tag and the name scope of a summary."""
    clean, family = _clean(name), _clean(family)
    with name_scope(clean if family is None else f"{family}/{clean}", default_name, values) as scope:
        tag = scope.rstrip("/")
        yield (tag if family is None else f"{family}/{tag}"), scope
