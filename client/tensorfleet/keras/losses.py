"""`tf.keras.losses`: what training makes less."""

import typing as _typing

from tensorfleet.keras.loss_classes import (
    BinaryCrossentropy as BinaryCrossentropy,
    CategoricalCrossentropy as CategoricalCrossentropy,
    CategoricalHinge as CategoricalHinge,
    CosineSimilarity as CosineSimilarity,
    Hinge as Hinge,
    Huber as Huber,
    KLDivergence as KLDivergence,
    LogCosh as LogCosh,
    Loss as Loss,
    MeanAbsoluteError as MeanAbsoluteError,
    MeanAbsolutePercentageError as MeanAbsolutePercentageError,
    MeanSquaredError as MeanSquaredError,
    MeanSquaredLogarithmicError as MeanSquaredLogarithmicError,
    Poisson as Poisson,
    Reduction as Reduction,
    SparseCategoricalCrossentropy as SparseCategoricalCrossentropy,
    SquaredHinge as SquaredHinge,
    deserialize as deserialize,
    get as get,
    serialize as serialize,
)
from tensorfleet.keras.loss_functions import (
    binary_crossentropy as binary_crossentropy,
    categorical_crossentropy as categorical_crossentropy,
    categorical_hinge as categorical_hinge,
    cosine_proximity as cosine_proximity,
    cosine_similarity as cosine_similarity,
    hinge as hinge,
    huber_loss as huber_loss,
    kullback_leibler_divergence as kullback_leibler_divergence,
    logcosh as logcosh,
    mean_absolute_error as mean_absolute_error,
    mean_absolute_percentage_error as mean_absolute_percentage_error,
    mean_squared_error as mean_squared_error,
    mean_squared_logarithmic_error as mean_squared_logarithmic_error,
    poisson as poisson,
    sparse_categorical_crossentropy as sparse_categorical_crossentropy,
    squared_hinge as squared_hinge,
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
