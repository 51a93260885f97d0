"""`tf.keras.metrics`: values of a model over many batches."""

import typing as _typing

from tensorfleet.keras.engine.metric import (
    Metric as Metric,
)
from tensorfleet.keras.loss_functions import (
    binary_crossentropy as binary_crossentropy,
    categorical_crossentropy as categorical_crossentropy,
    cosine_proximity as cosine_proximity,
    hinge as hinge,
    kullback_leibler_divergence as kullback_leibler_divergence,
    mean_absolute_error as mean_absolute_error,
    mean_absolute_percentage_error as mean_absolute_percentage_error,
    mean_squared_error as mean_squared_error,
    mean_squared_logarithmic_error as mean_squared_logarithmic_error,
    poisson as poisson,
    sparse_categorical_crossentropy as sparse_categorical_crossentropy,
    squared_hinge as squared_hinge,
)
from tensorfleet.keras.metric_kinds.functions import (
    binary_accuracy as binary_accuracy,
    categorical_accuracy as categorical_accuracy,
    sparse_categorical_accuracy as sparse_categorical_accuracy,
    sparse_top_k_categorical_accuracy as sparse_top_k_categorical_accuracy,
    top_k_categorical_accuracy as top_k_categorical_accuracy,
)
from tensorfleet.keras.metric_kinds.means import (
    Accuracy as Accuracy,
    BinaryAccuracy as BinaryAccuracy,
    BinaryCrossentropy as BinaryCrossentropy,
    CategoricalAccuracy as CategoricalAccuracy,
    CategoricalCrossentropy as CategoricalCrossentropy,
    CategoricalHinge as CategoricalHinge,
    CosineSimilarity as CosineSimilarity,
    Hinge as Hinge,
    KLDivergence as KLDivergence,
    LogCoshError as LogCoshError,
    Mean as Mean,
    MeanAbsoluteError as MeanAbsoluteError,
    MeanAbsolutePercentageError as MeanAbsolutePercentageError,
    MeanMetricWrapper as MeanMetricWrapper,
    MeanRelativeError as MeanRelativeError,
    MeanSquaredError as MeanSquaredError,
    MeanSquaredLogarithmicError as MeanSquaredLogarithmicError,
    MeanTensor as MeanTensor,
    Poisson as Poisson,
    RootMeanSquaredError as RootMeanSquaredError,
    SparseCategoricalAccuracy as SparseCategoricalAccuracy,
    SparseCategoricalCrossentropy as SparseCategoricalCrossentropy,
    SparseTopKCategoricalAccuracy as SparseTopKCategoricalAccuracy,
    SquaredHinge as SquaredHinge,
    Sum as Sum,
    TopKCategoricalAccuracy as TopKCategoricalAccuracy,
)
from tensorfleet.keras.metric_kinds.names import (
    deserialize as deserialize,
    get as get,
    serialize as serialize,
)
from tensorfleet.keras.metric_kinds.thresholds import (
    AUC as AUC,
    FalseNegatives as FalseNegatives,
    FalsePositives as FalsePositives,
    MeanIoU as MeanIoU,
    Precision as Precision,
    Recall as Recall,
    SensitivityAtSpecificity as SensitivityAtSpecificity,
    SpecificityAtSensitivity as SpecificityAtSensitivity,
    TrueNegatives as TrueNegatives,
    TruePositives as TruePositives,
)

KLD = kld = kullback_leibler_divergence
MAE = mae = mean_absolute_error
MAPE = mape = mean_absolute_percentage_error
MSE = mse = mean_squared_error
MSLE = msle = mean_squared_logarithmic_error
cosine = cosine_proximity

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)
