"""`tf.data`: datasets, the transformations of datasets, and iterators over them."""

import typing as _typing

from tensorfleet.data import experimental as experimental
from tensorfleet.data.dataset import (
    AUTOTUNE as AUTOTUNE,
    Dataset as Dataset,
    get_output_classes as get_output_classes,
    get_output_shapes as get_output_shapes,
    get_output_types as get_output_types,
)
from tensorfleet.data.files import (
    FixedLengthRecordDataset as FixedLengthRecordDataset,
    TextLineDataset as TextLineDataset,
    TFRecordDataset as TFRecordDataset,
)
from tensorfleet.data.iterator import (
    Iterator as Iterator,
    NumpyIterator as NumpyIterator,
    make_initializable_iterator as make_initializable_iterator,
    make_one_shot_iterator as make_one_shot_iterator,
)
from tensorfleet.data.nested import DatasetSpec as DatasetSpec
from tensorfleet.data.options import Options as Options, ThreadingOptions as ThreadingOptions
from tensorfleet.data.sampling import (
    INFINITE_CARDINALITY as INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__, modules=("experimental",))
