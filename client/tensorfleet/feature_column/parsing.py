"""What columns read of Examples."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorfleet.feature_column.base import FeatureColumn


def make_parse_example_spec(feature_columns: Iterable[FeatureColumn]) -> dict[str, Any]:
    """The features that columns read, as `tf.io.parse_example` takes them
    (`tf.feature_column.make_parse_example_spec`).

    Raises:
        ValueError: one is no column, or two want different things of one feature.

    Example:
        >>> tf.feature_column.make_parse_example_spec([tf.feature_column.numeric_column("price")])
        {'price': FixedLenFeature(shape=(1,), dtype=tf.float32, default_value=None)}
    """
    result: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(f"All feature_columns must be FeatureColumn instances. Given: {column}")
        for key, value in column.parse_example_spec.items():
            if key in result and value != result[key]:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. "
                    f"Given {value} and {result[key]}"
                )
            result[key] = value
    return result
