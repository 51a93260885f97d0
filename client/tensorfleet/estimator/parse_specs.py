"""What canned estimators parse of Examples: `tf.estimator.classifier_parse_example_spec` and its kin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorfleet.core import dtypes
from tensorfleet.feature_column.numeric import NumericColumn, numeric_column
from tensorfleet.feature_column.parsing import make_parse_example_spec
from tensorfleet.ops.io.features import FixedLenFeature


def classifier_parse_example_spec(
    feature_columns: Iterable[Any],
    label_key: str,
    label_dtype: Any = dtypes.int64,
    label_default: Any = None,
    weight_column: Any = None,
) -> dict[str, Any]:
    """The `features` of `tf.io.parse_example` for a classifier.

    `tf.estimator.classifier_parse_example_spec`.

    Args:
        feature_columns: of the model.
        label_key: the feature with the label.
        label_dtype: its dtype, int64 or string.
        label_default: for Examples without a label; None: they are an error.
        weight_column: the feature with the weights: a name or a numeric column.

    Raises:
        ValueError: a feature has the name of the label.
        TypeError: the weight column is something else.
    """
    label = FixedLenFeature((1,), label_dtype, label_default)
    return _spec(feature_columns, label_key, label, weight_column)


def regressor_parse_example_spec(
    feature_columns: Iterable[Any],
    label_key: str,
    label_dtype: Any = dtypes.float32,
    label_default: Any = None,
    label_dimension: int = 1,
    weight_column: Any = None,
) -> dict[str, Any]:
    """The same for a regressor (`tf.estimator.regressor_parse_example_spec`).

    Args:
        feature_columns, label_key, label_dtype, label_default, weight_column: as for classifiers.
        label_dimension: how many numbers a label has.
    """
    label = FixedLenFeature((label_dimension,), label_dtype, label_default)
    return _spec(feature_columns, label_key, label, weight_column)


def _spec(columns: Iterable[Any], label_key: str, label: Any, weight_column: Any) -> dict[str, Any]:
    spec = make_parse_example_spec(columns)
    if label_key in spec:
        raise ValueError(
            f"label should not be used as feature. label_key: {label_key}, features: {sorted(spec)}"
        )
    spec[label_key] = label
    if weight_column is None:
        return spec
    if isinstance(weight_column, str):
        weight_column = numeric_column(weight_column)
    if not isinstance(weight_column, NumericColumn):
        raise TypeError(f"weight_column must be a string or a numeric column; got {weight_column}")
    spec.update(weight_column.parse_example_spec)
    return spec
