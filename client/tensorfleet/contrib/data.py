"""`tf.contrib.data`: the older place of what is now `tf.data.experimental`, and what went into Dataset."""

import typing as _typing

from tensorfleet.contrib.dataset_functions import (
    assert_element_shape as assert_element_shape,
    batch_and_drop_remainder as batch_and_drop_remainder,
    padded_batch_and_drop_remainder as padded_batch_and_drop_remainder,
    read_batch_features as read_batch_features,
    reduce_dataset as reduce_dataset,
    sliding_window_batch as sliding_window_batch,
    sloppy_interleave as sloppy_interleave,
)
from tensorfleet.data.dataset import AUTOTUNE as AUTOTUNE, Dataset as Dataset
from tensorfleet.data.experimental import (
    Counter as Counter,
    CsvDataset as CsvDataset,
    Optional as Optional,
    RandomDataset as RandomDataset,
    Reducer as Reducer,
    SqlDataset as SqlDataset,
    TFRecordWriter as TFRecordWriter,
    bucket_by_sequence_length as bucket_by_sequence_length,
    choose_from_datasets as choose_from_datasets,
    copy_to_device as copy_to_device,
    dense_to_sparse_batch as dense_to_sparse_batch,
    enumerate_dataset as enumerate_dataset,
    get_next_as_optional as get_next_as_optional,
    get_single_element as get_single_element,
    group_by_reducer as group_by_reducer,
    group_by_window as group_by_window,
    ignore_errors as ignore_errors,
    make_batched_features_dataset as make_batched_features_dataset,
    make_csv_dataset as make_csv_dataset,
    make_saveable_from_iterator as make_saveable_from_iterator,
    map_and_batch as map_and_batch,
    parallel_interleave as parallel_interleave,
    parse_example_dataset as parse_example_dataset,
    prefetch_to_device as prefetch_to_device,
    rejection_resample as rejection_resample,
    sample_from_datasets as sample_from_datasets,
    scan as scan,
    shuffle_and_repeat as shuffle_and_repeat,
    unbatch as unbatch,
    unique as unique,
)
from tensorfleet.data.files import (
    FixedLengthRecordDataset as FixedLengthRecordDataset,
    TextLineDataset as TextLineDataset,
    TFRecordDataset as TFRecordDataset,
)
from tensorfleet.data.iterator import Iterator as Iterator

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
