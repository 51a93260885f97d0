"""`tf.io`: files and the records in them, and graphs in files."""

import typing as _typing

from tensorfleet.export.graph_io import write_graph as write_graph
from tensorfleet.io import gfile as gfile
from tensorfleet.ops.array.sparse_tensor import (
    deserialize_many_sparse as deserialize_many_sparse,
    serialize_many_sparse as serialize_many_sparse,
    serialize_sparse as serialize_sparse,
)
from tensorfleet.ops.data_flow.queue_base import QueueBase as QueueBase
from tensorfleet.ops.data_flow.queues import (
    PaddingFIFOQueue as PaddingFIFOQueue,
    PriorityQueue as PriorityQueue,
    RandomShuffleQueue as RandomShuffleQueue,
)
from tensorfleet.ops.image.codec import (
    decode_and_crop_jpeg as decode_and_crop_jpeg,
    decode_bmp as decode_bmp,
    decode_gif as decode_gif,
    decode_image as decode_image,
    decode_jpeg as decode_jpeg,
    decode_png as decode_png,
    encode_jpeg as encode_jpeg,
    encode_png as encode_png,
    extract_jpeg_shape as extract_jpeg_shape,
    is_jpeg as is_jpeg,
)
from tensorfleet.ops.io.decoding import (
    decode_compressed as decode_compressed,
    decode_csv as decode_csv,
    decode_json_example as decode_json_example,
    parse_tensor as parse_tensor,
    serialize_tensor as serialize_tensor,
)
from tensorfleet.ops.io.features import (
    FixedLenFeature as FixedLenFeature,
    FixedLenSequenceFeature as FixedLenSequenceFeature,
    SparseFeature as SparseFeature,
    VarLenFeature as VarLenFeature,
)
from tensorfleet.ops.io.parsing import (
    parse_example as parse_example,
    parse_sequence_example as parse_sequence_example,
    parse_single_example as parse_single_example,
    parse_single_sequence_example as parse_single_sequence_example,
)
from tensorfleet.ops.io.protos import (
    decode_proto as decode_proto,
    encode_proto as encode_proto,
)
from tensorfleet.ops.io.readers import (
    matching_files as matching_files,
    read_file as read_file,
    write_file as write_file,
)
from tensorfleet.ops.ragged.features import RaggedFeature as RaggedFeature
from tensorfleet.ops.text.strings import (
    decode_base64 as decode_base64,
    decode_raw as decode_raw,
    encode_base64 as encode_base64,
)
from tensorfleet.records.options import (
    TFRecordCompressionType as TFRecordCompressionType,
    TFRecordOptions as TFRecordOptions,
)
from tensorfleet.records.tfrecord import (
    TFRecordWriter as TFRecordWriter,
    tf_record_iterator as tf_record_iterator,
)
from tensorfleet.train.input_producers import (
    match_filenames_once as match_filenames_once,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__, modules=("gfile",))
