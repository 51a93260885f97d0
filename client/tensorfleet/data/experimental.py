"""`tf.data.experimental`: transformations in the form that `Dataset.apply` takes, and whole pipelines."""

import typing as _typing

from tensorfleet.data.dataset import AUTOTUNE as AUTOTUNE
from tensorfleet.data.files import CsvDataset as CsvDataset, SqlDataset as SqlDataset
from tensorfleet.data.iterator import (
    enable_debug_mode as enable_debug_mode,
    get_next_as_optional as get_next_as_optional,
)
from tensorfleet.data.nested import (
    Optional as Optional,
)
from tensorfleet.data.options import (
    AutoShardPolicy as AutoShardPolicy,
    AutotuneAlgorithm as AutotuneAlgorithm,
    AutotuneOptions as AutotuneOptions,
    DistributeOptions as DistributeOptions,
    ExternalStatePolicy as ExternalStatePolicy,
    OptimizationOptions as OptimizationOptions,
    ServiceOptions as ServiceOptions,
    ThreadingOptions as ThreadingOptions,
)
from tensorfleet.data.reading import (
    make_batched_features_dataset as make_batched_features_dataset,
    make_csv_dataset as make_csv_dataset,
    parse_example_dataset as parse_example_dataset,
)
from tensorfleet.data.sampling import (
    INFINITE_CARDINALITY as INFINITE_CARDINALITY,
    SHARD_HINT as SHARD_HINT,
    UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY,
    choose_from_datasets as choose_from_datasets,
    rejection_resample as rejection_resample,
    sample_from_datasets as sample_from_datasets,
)
from tensorfleet.data.saving import make_saveable_from_iterator as make_saveable_from_iterator
from tensorfleet.data.specs import (
    DatasetStructure as DatasetStructure,
    OptionalStructure as OptionalStructure,
    RaggedTensorStructure as RaggedTensorStructure,
    SparseTensorStructure as SparseTensorStructure,
    Structure as Structure,
    TensorArrayStructure as TensorArrayStructure,
    TensorStructure as TensorStructure,
    from_variant as from_variant,
    get_structure as get_structure,
    to_variant as to_variant,
)
from tensorfleet.data.tables import (
    DatasetInitializer as DatasetInitializer,
    index_table_from_dataset as index_table_from_dataset,
    table_from_dataset as table_from_dataset,
)
from tensorfleet.data.transformations import (
    Counter as Counter,
    RandomDataset as RandomDataset,
    Reducer as Reducer,
    assert_cardinality as assert_cardinality,
    bucket_by_sequence_length as bucket_by_sequence_length,
    cardinality as cardinality,
    copy_to_device as copy_to_device,
    dense_to_ragged_batch as dense_to_ragged_batch,
    dense_to_sparse_batch as dense_to_sparse_batch,
    enumerate_dataset as enumerate_dataset,
    from_list as from_list,
    get_single_element as get_single_element,
    group_by_reducer as group_by_reducer,
    group_by_window as group_by_window,
    ignore_errors as ignore_errors,
    map_and_batch as map_and_batch,
    map_and_batch_with_legacy_function as map_and_batch_with_legacy_function,
    pad_to_cardinality as pad_to_cardinality,
    parallel_interleave as parallel_interleave,
    prefetch_to_device as prefetch_to_device,
    scan as scan,
    shuffle_and_repeat as shuffle_and_repeat,
    take_while as take_while,
    unbatch as unbatch,
    unique as unique,
)
from tensorfleet.data.writing import TFRecordWriter as TFRecordWriter

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
