"""`slim.tfexample_decoder`: decoders of Examples and SequenceExamples; `slim.dataset.Dataset`."""

from __future__ import annotations

from typing import Any

from tensorfleet.contrib.slim_data.reading import parallel_read
from tensorfleet.ops.array.shaping import reshape
from tensorfleet.ops.io.features import FixedLenFeature
from tensorfleet.ops.io.parsing import parse_single_example, parse_single_sequence_example


class DataDecoder:
    """The base class of decoders of records (`slim.data_decoder.DataDecoder`)."""

    def decode(self, data: Any, items: Any) -> list[Any]:
        """Tensors for items of the data; implemented by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} does not implement decode.")

    def list_items(self) -> list[str]:
        """The names of all items; implemented by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} does not implement list_items.")


def _items(handlers: dict[str, Any], features: dict[str, Any], items: Any) -> list[Any]:
    made = []
    for item in items or handlers:
        handler = handlers[item]
        made.append(handler.tensors_to_item({key: features[key] for key in handler.keys}))
    return made


def _with_shapes(features: dict[str, Any], specs: dict[str, Any]) -> dict[str, Any]:
    return {
        key: reshape(value, specs[key].shape) if isinstance(specs[key], FixedLenFeature) else value
        for key, value in features.items()
    }


class TFExampleDecoder(DataDecoder):
    """Decodes serialized Examples (`slim.tfexample_decoder.TFExampleDecoder`).

    Args:
        keys_to_features: the specification of each feature, as `tf.FixedLenFeature`.
        items_to_handlers: an ItemHandler for each item.
    """

    def __init__(self, keys_to_features: dict[str, Any], items_to_handlers: dict[str, Any]) -> None:
        self._features, self._handlers = keys_to_features, items_to_handlers

    def list_items(self) -> list[str]:
        """The names of all items."""
        return list(self._handlers)

    def decode(self, serialized_example: Any, items: Any = None) -> list[Any]:  # type: ignore[override]
        """The tensors of the items of an Example, by default of all."""
        found = parse_single_example(serialized_example, self._features)
        return _items(self._handlers, _with_shapes(found, self._features), items)


class TFSequenceExampleDecoder(DataDecoder):
    """Decodes serialized SequenceExamples (`slim.tfexample_decoder.TFSequenceExampleDecoder`).

    Raises:
        ValueError: a name is that of a context feature and of a sequence.
    """

    def __init__(
        self,
        keys_to_context_features: dict[str, Any],
        keys_to_sequence_features: dict[str, Any],
        items_to_handlers: dict[str, Any],
    ) -> None:
        if keys_to_context_features.keys() & keys_to_sequence_features.keys():
            raise ValueError(
                f"Context and sequence keys are not unique: {list(keys_to_context_features)}, "
                f"{list(keys_to_sequence_features)}"
            )
        self._context, self._sequence = keys_to_context_features, keys_to_sequence_features
        self._handlers = items_to_handlers

    def list_items(self) -> list[str]:
        """The names of all items."""
        return list(self._handlers)

    def decode(self, serialized_example: Any, items: Any = None) -> list[Any]:  # type: ignore[override]
        """The tensors of the items of a SequenceExample, by default of all."""
        context, lists = parse_single_sequence_example(serialized_example, self._context, self._sequence)
        return _items(self._handlers, {**lists, **_with_shapes(context, self._context)}, items)


class Dataset:
    """What a data set is: its files, their reader and decoder, and how many there are
    (`slim.dataset.Dataset`).

    Args:
        data_sources: files, or patterns of their names.
        reader: a class such as `tf.TFRecordReader`.
        decoder: a DataDecoder.
        num_samples: how many records there are.
        items_to_descriptions: a text for each item.
        **kwargs: further attributes, such as `num_classes` and `labels_to_names`.
    """

    def __init__(
        self,
        data_sources: Any,
        reader: Any,
        decoder: DataDecoder,
        num_samples: int,
        items_to_descriptions: dict[str, str],
        **kwargs: Any,
    ) -> None:
        self.__dict__.update(kwargs)
        self.data_sources, self.reader, self.decoder = data_sources, reader, decoder
        self.num_samples, self.items_to_descriptions = num_samples, items_to_descriptions


class DataProvider:
    """The base class of what provides the tensors of items (`slim.data_provider.DataProvider`)."""

    def __init__(self, items_to_tensors: dict[str, Any], num_samples: Any) -> None:
        self._tensors, self._samples = items_to_tensors, num_samples

    def get(self, items: Any) -> list[Any]:
        """The tensors of these items.

        Raises:
            ValueError: an item is not there.
        """
        for item in items:
            if item not in self._tensors:
                raise ValueError(f"Items must be a subset of {self.list_items()}; {item!r} is not there.")
        return [self._tensors[item] for item in items]

    def list_items(self) -> list[str]:
        """The names of all items."""
        return list(self._tensors)

    def num_samples(self) -> Any:
        """How many records there are."""
        return self._samples


class DatasetDataProvider(DataProvider):
    """The items of a Dataset, read by queues (`slim.dataset_data_provider.DatasetDataProvider`).

    Args:
        dataset: a `slim.dataset.Dataset`.
        num_readers: how many readers there are.
        num_epochs: how often each file is read; None for ever.
        common_queue_capacity, common_queue_min: of the queue with the records.
        record_key: the item that is the record's key.
    """

    def __init__(
        self,
        dataset: Dataset,
        num_readers: int = 1,
        reader_kwargs: dict[str, Any] | None = None,
        shuffle: bool = True,
        num_epochs: int | None = None,
        common_queue_capacity: int = 256,
        common_queue_min: int = 128,
        record_key: str = "record_key",
        seed: int | None = None,
        scope: str | None = None,
    ) -> None:
        key, data = parallel_read(
            dataset.data_sources,
            reader_class=dataset.reader,
            num_epochs=num_epochs,
            num_readers=num_readers,
            reader_kwargs=reader_kwargs,
            shuffle=shuffle,
            capacity=common_queue_capacity,
            min_after_dequeue=common_queue_min,
            seed=seed,
            scope=scope,
        )
        items = dataset.decoder.list_items()
        tensors = dict(zip(items, dataset.decoder.decode(data, items), strict=True))
        if record_key in tensors:
            raise ValueError(
                "The item name used for `record_key` cannot also be used for a dataset item: " + record_key
            )
        super().__init__({**tensors, record_key: key}, dataset.num_samples)
