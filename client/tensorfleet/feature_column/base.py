"""What feature columns have in common: their kinds, and the features that they read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.casting import cast
from tensorfleet.ops.array.indexing import gather_nd
from tensorfleet.ops.array.selection import where
from tensorfleet.ops.array.shaping import expand_dims, rank, shape
from tensorfleet.ops.array.sparse_parts import sparse_reshape
from tensorfleet.ops.array.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.math.comparison import equal, not_equal
from tensorfleet.ops.state.get_variable import get_variable


class FeatureColumn:
    """What makes model inputs of features: the base of all columns.

    A column is immutable, and equal to another one of the same kind with the same arguments.
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name, which is that of the column's variable scope."""
        raise NotImplementedError

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The features of Examples that the column reads, as `tf.io.parse_example` takes them."""
        raise NotImplementedError

    @property
    def parents(self) -> list[Any]:
        """The columns, and the keys of features, that the column is made of."""
        raise NotImplementedError

    @property
    def _scope_name(self) -> str:
        return self.name

    @property
    def _shared_collection(self) -> str | None:
        """The collection of a table that several columns have in common."""
        return None

    def transform_feature(self, transformation_cache: FeatureCache, state_manager: ColumnVariables) -> Any:
        """The column's features, as tensors that columns made of this one may share.

        Use `transformation_cache.get`, so that each column is computed once.
        """
        raise NotImplementedError


class DenseColumn(FeatureColumn):
    """A column of numbers: [batch, *variable_shape]."""

    __slots__ = ()

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of one example's numbers."""
        raise NotImplementedError

    def get_dense_tensor(self, transformation_cache: FeatureCache, state_manager: ColumnVariables) -> Any:
        """The numbers: [batch, *variable_shape], float32."""
        raise NotImplementedError


class IdWeightPair(NamedTuple):
    """The ids of examples, and their weights; None where all weights are 1. Both are SparseTensors."""

    id_tensor: SparseTensor
    weight_tensor: SparseTensor | None


class CategoricalColumn(FeatureColumn):
    """A column of ids."""

    __slots__ = ()

    @property
    def num_buckets(self) -> int:
        """The ids are in [0, num_buckets)."""
        raise NotImplementedError

    def get_sparse_tensors(
        self, transformation_cache: FeatureCache, state_manager: ColumnVariables
    ) -> IdWeightPair:
        """The ids of each example, and their weights."""
        raise NotImplementedError


class TensorSequenceLengthPair(NamedTuple):
    """Sequences of numbers, [batch, time, *variable_shape], and their lengths, [batch]."""

    dense_tensor: Any
    sequence_length: Any


class SequenceDenseColumn(FeatureColumn):
    """A column of sequences of numbers."""

    __slots__ = ()

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of the numbers at one time."""
        raise NotImplementedError

    def get_sequence_dense_tensor(
        self, transformation_cache: FeatureCache, state_manager: ColumnVariables
    ) -> TensorSequenceLengthPair:
        """The sequences, padded to the longest, and their lengths."""
        raise NotImplementedError


class ColumnVariables:
    """Makes the variables of columns, in the variable scope in force.

    Args:
        trainable: whether optimizers may change them.
        collections: further collections that they are added to.
    """

    def __init__(self, trainable: bool = True, collections: Sequence[str] | None = None) -> None:
        self._trainable = trainable
        self._collections = list(collections or ())
        for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES):
            if key not in self._collections:
                self._collections.append(key)

    def create_variable(
        self,
        feature_column: FeatureColumn,
        name: str,
        shape: Any,
        dtype: Any = None,
        trainable: bool = True,
        use_resource: bool | None = None,
        initializer: Any = None,
    ) -> Any:
        """The variable `name` in the variable scope in force, found or made."""
        return get_variable(
            name,
            shape,
            dtype=dtypes.float32 if dtype is None else dtype,
            initializer=initializer,
            trainable=self._trainable and trainable,
            use_resource=use_resource,
            collections=self._collections,
        )


class FeatureCache:
    """Features by their keys, and what columns made of them: each is computed once, when it is first asked
    for.

    Args:
        features: tensors, SparseTensors or arrays by their keys; or by columns.
    """

    def __init__(self, features: Mapping[Any, Any]) -> None:
        self._features = dict(features)
        self._found: dict[Any, Any] = {}

    def get(self, key: Any, state_manager: ColumnVariables | None = None) -> Any:
        """The feature with that key, of rank 2 at least; or what a column makes of its features.

        Raises:
            TypeError: the key is neither a string nor a column.
            ValueError: there is no such feature, or it is a single value.
        """
        # Columns are tuples: two kinds of them with the same arguments are equal.
        place = (type(key), key)
        if place in self._found:
            return self._found[place]
        if (value := self._features.get(key)) is not None:
            value = _with_columns(key, value)
        elif isinstance(key, str):
            raise ValueError(f"Feature {key} is not in features dictionary.")
        elif not isinstance(key, FeatureColumn):
            raise TypeError(f'"key" must be either a "str" or "FeatureColumn". Provided: {key}')
        else:
            value = key.transform_feature(self, state_manager or ColumnVariables())
            if value is None:
                raise ValueError(f"Column {key.name} is not supported.")
        self._found[place] = value
        return value


def _with_columns(key: Any, value: Any) -> Any:
    """A feature with a dimension for its values beside that of the batch."""
    tensor = convert_to_tensor_or_sparse_tensor(value)
    ndim = tensor.get_shape().ndims
    if ndim is None:
        # Its rank is known when a step runs.
        if isinstance(tensor, SparseTensor):
            ranks = shape(tensor.dense_shape)[0]
        else:
            ranks = rank(tensor)
        return cond(equal(1, ranks), lambda: _expanded(tensor), lambda: tensor)
    if ndim == 0:
        raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {tensor}")
    return _expanded(tensor) if ndim == 1 else tensor


def _expanded(tensor: Any) -> Any:
    if isinstance(tensor, SparseTensor):
        sizes: Any = tensor.dense_shape
        return sparse_reshape(tensor, [sizes[0], 1])
    return expand_dims(tensor, -1)


def to_sparse(tensor: Any, nothing: Any = None) -> SparseTensor:
    """A feature as a SparseTensor, without the elements that stand for nothing.

    Args:
        nothing: stands for nothing; by default "" or -1, by the dtype.
    """
    value = convert_to_tensor_or_sparse_tensor(tensor)
    if isinstance(value, SparseTensor):
        return value
    assert isinstance(value, Tensor)
    if nothing is None:
        nothing = "" if value.dtype.base is dtypes.string else cast(-1, value.dtype)
    indices = where(not_equal(value, nothing))
    return SparseTensor(indices, gather_nd(value, indices), shape(value, out_type=dtypes.int64))


def check_key(key: Any) -> None:
    """Raises ValueError: the key of a feature is no string."""
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key}.")


def normalized(feature_columns: Any) -> list[FeatureColumn]:
    """The columns of a layer, in the order of their names.

    Raises:
        ValueError: there are none, one is no column, or two have one name.
    """
    if isinstance(feature_columns, FeatureColumn):
        feature_columns = [feature_columns]
    if isinstance(feature_columns, Iterator):
        feature_columns = list(feature_columns)
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(
                f"Items of feature_columns must be a FeatureColumn. Given (type {type(column)}): {column}."
            )
    if not feature_columns:
        raise ValueError("feature_columns must not be empty.")
    by_name: dict[str, FeatureColumn] = {}
    for column in feature_columns:
        if column.name in by_name:
            raise ValueError(
                f"Duplicate feature column name found for columns: {column} and {by_name[column.name]}. "
                "This usually means that these columns refer to same base feature. Either one must be "
                "discarded or a duplicated but renamed item must be inserted in features dict."
            )
        by_name[column.name] = column
    return [by_name[name] for name in sorted(by_name)]


def check_batch_sizes(tensors: Sequence[Any], columns: Sequence[FeatureColumn]) -> None:
    """Raises ValueError: the static batch sizes of what columns gave differ."""
    known: tuple[int, FeatureColumn] | None = None
    for tensor, column in zip(tensors, columns, strict=True):
        size = None if tensor.dims is None else tensor.dims[0]
        if size is None:
            continue
        if known is not None and known[0] != size:
            raise ValueError(
                "Batch size (first dimension) of each feature must be same. Batch size of columns "
                f"({known[1].name}, {column.name}): ({known[0]}, {size})"
            )
        known = known or (size, column)
