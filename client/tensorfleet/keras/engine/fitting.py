"""The loops of `fit`, `evaluate` and `predict`."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorfleet.core import errors
from tensorfleet.data.dataset import Dataset
from tensorfleet.data.iterator import Iterator as DatasetIterator
from tensorfleet.graph.tensor import Tensor
from tensorfleet.keras import backend as K, ops
from tensorfleet.keras.callback_kinds.base import CallbackList, History, ProgbarLogger
from tensorfleet.keras.engine import feeding
from tensorfleet.keras.nest import flatten, pack
from tensorfleet.keras.progress import Progbar
from tensorfleet.keras.sequences import Sequence


class Source:
    """Where batches come from.

    Attributes:
        samples: the number of examples of an epoch, if it is counted in examples.
        steps: the number of batches of an epoch, None if it is not known.
        batch_size: the number of examples of a batch, if an epoch is counted in them.
    """

    batch_size: int | None = None
    samples: int | None = None
    steps: int | None = None

    def epoch(self) -> Iterator[tuple[list[Any], int]]:
        """The batches of an epoch: what is fed, and the number of examples."""
        raise NotImplementedError

    def end_epoch(self) -> None:
        """Called after each epoch."""

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives back what the next source can use."""

    def restart(self) -> None:
        """Begins the data anew, if they can be: each validation takes the same batches."""


class ArraySource(Source):
    """Batches of arrays."""

    def __init__(
        self, values: list[Any], count: int, batch_size: int, shuffle: Any, steps: int | None
    ) -> None:
        self._values, self._count, self._size, self._shuffle = values, count, batch_size, shuffle
        self._limit = steps
        if steps is None:
            self.samples, self.batch_size = count, batch_size
            self.steps = -(-count // batch_size)
        else:
            self.steps = steps

    def epoch(self) -> Iterator[tuple[list[Any], int]]:
        if self._limit is None:
            yield from feeding.batches(self._values, self._count, self._size, self._shuffle)
            return
        size = max(1, -(-self._count // self._limit))
        done = 0
        while done < self._limit:
            for batch in feeding.batches(self._values, self._count, size, self._shuffle):
                if done == self._limit:
                    return
                done += 1
                yield batch


class FedSource(Source):
    """Steps for which nothing is fed: a model on tensors."""

    def __init__(self, count: int, steps: int) -> None:
        self._count, self.steps = count, steps

    def epoch(self) -> Iterator[tuple[list[Any], int]]:
        for _ in range(self.steps or 0):
            yield [None] * self._count, 1


class SequenceSource(Source):
    """Batches of a `Sequence`."""

    def __init__(self, sequence: Any, convert: Any, shuffle: Any, steps: int | None) -> None:
        self._sequence, self._convert, self._shuffle = sequence, convert, shuffle
        self.steps = len(sequence) if steps is None else steps

    def epoch(self) -> Iterator[tuple[list[Any], int]]:
        order = np.arange(len(self._sequence))
        if self._shuffle:
            np.random.shuffle(order)
        for step in range(self.steps or 0):
            yield self._convert(self._sequence[int(order[step % len(order)])])

    def end_epoch(self) -> None:
        if hasattr(self._sequence, "on_epoch_end"):
            self._sequence.on_epoch_end()


class GeneratorSource(Source):
    """Batches of a generator, which goes on from one epoch to the next."""

    def __init__(self, generator: Any, convert: Any, steps: int | None) -> None:
        self._iterator, self._convert, self.steps = iter(generator), convert, steps

    def epoch(self) -> Iterator[tuple[list[Any], int]]:
        done = 0
        while self.steps is None or done < self.steps:
            try:
                batch = next(self._iterator)
            except StopIteration:
                return
            done += 1
            yield self._convert(batch)


class DatasetSource(Source):
    """Batches of a dataset, by steps of the session."""

    def __init__(self, dataset: Any, convert: Any, steps: int | None, graph: Any) -> None:
        self._convert, self.steps = convert, steps
        self._restarts = isinstance(dataset, Dataset)
        self._graph = graph
        self._initializer: Any = None
        if self._restarts:
            self._initializer, self._next = self._taken(dataset)
        else:
            with graph.as_default(), ops.init_scope():
                self._next = dataset.get_next()
        self._is_begun = False

    def _taken(self, dataset: Any) -> tuple[Any, Any]:
        """The initializer and the next element of an iterator that no other source uses.

        The dataset keeps it for the next source, or each call of `fit` would leave another one, with what
        it has read ahead, in the graph and in the session's task.
        """
        free: list[tuple[Any, Any, Any]] = vars(dataset).setdefault("_keras_iterators", [])
        try:
            found = free.pop()
        except IndexError:
            found = None, None, None
        if found[0] is not self._graph:
            with self._graph.as_default(), ops.init_scope():
                iterator = dataset.make_initializable_iterator()
                found = self._graph, iterator.initializer, iterator.get_next()
        self._give_back = weakref.finalize(self, free.append, found)
        self._give_back.atexit = False
        return found[1:]

    def close(self) -> None:
        if self._restarts:
            self._give_back()

    def restart(self) -> None:
        self._is_begun = False

    def epoch(self) -> Iterator[tuple[list[Any], int]]:
        # With a number of steps the dataset goes on from epoch to epoch; else each is a pass over it.
        with self._graph.as_default():
            session = K.get_session()
            if self._restarts and (self.steps is None or not self._is_begun):
                session.run(self._initializer)
            self._is_begun = True
            done = 0
            while self.steps is None or done < self.steps:
                try:
                    batch = session.run(self._next)
                except errors.OutOfRangeError:
                    return
                done += 1
                yield self._convert(batch)


class TensorBatches:
    """Inputs, targets and weights of examples that are tensors: each step computes other batches."""

    def __init__(self, parts: tuple[Any, Any, Any]) -> None:
        self.parts = parts

    @staticmethod
    def of(x: Any, y: Any = None, weights: Any = None) -> TensorBatches | None:
        """The batches, if there is a tensor among them."""
        leaves = flatten([x, y, weights])
        return TensorBatches((x, y, weights)) if any(isinstance(leaf, Tensor) for leaf in leaves) else None

    def fetched(self) -> tuple[Any, Any, Any]:
        """The values of one batch; what is no tensor stays as it is."""
        leaves = flatten(list(self.parts))
        tensors = {i: leaf for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)}
        graph = next(iter(tensors.values())).graph
        with graph.as_default():
            values = K.get_session().run(tensors)
        x, y, weights = pack(list(self.parts), [values.get(i, leaf) for i, leaf in enumerate(leaves)])
        return x, y, weights


class TensorSource(Source):
    """Batches of tensors, by steps of the session."""

    def __init__(self, batches: TensorBatches, convert: Any, steps: int | None) -> None:
        if steps is None:
            raise ValueError(
                "If your data is in the form of symbolic tensors, you should specify the number of steps: "
                "`steps_per_epoch` of fit, `steps` of evaluate and predict."
            )
        self._batches, self._convert, self.steps = batches, convert, steps
        self._next = batches.parts

    def epoch(self) -> Iterator[tuple[list[Any], int]]:
        for _ in range(self.steps or 0):
            try:
                batch = self._batches.fetched()
            except errors.OutOfRangeError:
                return
            yield self._convert(batch)


def is_batched_source(x: Any) -> bool:
    """Whether `x` gives batches itself: a dataset, a generator or a Sequence."""
    return (
        isinstance(x, (Dataset, DatasetIterator, Sequence, TensorBatches))
        or inspect.isgenerator(x)
        or (hasattr(x, "__next__") and not hasattr(x, "shape"))
    )


def source_of(x: Any, convert: Any, shuffle: Any, steps: int | None, graph: Any) -> Source:
    """The batches that a dataset, generator or Sequence gives.

    Raises:
        ValueError: a generator without a number of steps.
    """
    if isinstance(x, (Dataset, DatasetIterator)):
        return DatasetSource(x, convert, steps, graph)
    if isinstance(x, TensorBatches):
        return TensorSource(x, convert, steps)
    if isinstance(x, Sequence):
        return SequenceSource(x, convert, shuffle, steps)
    return GeneratorSource(x, convert, steps)


class Totals:
    """The means of losses over batches; the other values are those of the last batch."""

    def __init__(self, by_samples: bool) -> None:
        self._by_samples = by_samples
        self._loss, self._count = 0.0, 0
        self._last: list[Any] = []

    def add(self, results: list[Any], size: int) -> None:
        """Adds the results of a batch."""
        weight = size if self._by_samples else 1
        self._loss += float(results[0]) * weight
        self._count += weight
        self._last = results

    def results(self) -> list[Any]:
        """The mean loss, and the metrics."""
        if not self._last:
            return []
        return [self._loss / max(self._count, 1), *self._last[1:]]


def fit_loop(
    model: Any,
    source: Source,
    callbacks: Any,
    epochs: int,
    initial_epoch: int,
    verbose: int,
    validate: Any,
    validation_freq: Any = 1,
) -> History:
    """Trains for some epochs.

    Args:
        validate: a function that evaluates on the validation data and calls the hooks of a list of
            callbacks, None without such.
    """
    history = model.history = History()
    by_samples = source.samples is not None
    listed = [
        *([ProgbarLogger("samples" if by_samples else "steps")] if verbose else []),
        *callbacks,
        history,
    ]
    names = list(model.metrics_names)
    called = CallbackList(listed)
    called.set_params(
        {
            "batch_size": source.batch_size,
            "epochs": epochs,
            "steps": None if source.batch_size is not None else source.steps,
            "samples": source.samples if by_samples else source.steps,
            "verbose": verbose,
            "do_validation": validate is not None,
            "metrics": [*names, *(f"val_{name}" for name in names if validate is not None)],
        }
    )
    called.set_model(model)
    model.stop_training = False
    called.call("on_train_begin")
    logs: dict[str, Any] = {}
    for epoch in range(initial_epoch, epochs):
        model.reset_metrics()
        called.call("on_epoch_begin", epoch, {})
        totals, logs = Totals(by_samples), {}
        for batch, (values, size) in enumerate(source.epoch()):
            called.call("on_train_batch_begin", batch, {"batch": batch, "size": size})
            results = model._program_of().run("train", values)
            totals.add(results, size)
            called.call(
                "on_train_batch_end",
                batch,
                {"batch": batch, "size": size, **dict(zip(names, results, strict=True))},
            )
            if model.stop_training:
                break
        source.end_epoch()
        found = totals.results()
        if not found:
            raise ValueError(
                "Your input ran out of data; interrupting training. Make sure that your dataset "
                "or generator can "
                "generate at least `steps_per_epoch * epochs` batches."
            )
        logs = dict(zip(names, found, strict=True))
        if validate is not None and _is_due(epoch, validation_freq):
            validated = validate(called)
            logs.update((f"val_{name}", value) for name, value in zip(names, validated, strict=True))
        called.call("on_epoch_end", epoch, logs)
        if model.stop_training:
            break
    called.call("on_train_end", logs)
    return history


def _is_due(epoch: int, frequency: Any) -> bool:
    if isinstance(frequency, int):
        return (epoch + 1) % frequency == 0
    return epoch + 1 in frequency


def evaluate_loop(model: Any, source: Source, verbose: int = 0, callbacks: Any = ()) -> list[Any]:
    """The mean loss, and the metrics, over all batches."""
    program = model._program_of()
    model.reset_metrics()
    by_samples = source.samples is not None
    totals = Totals(by_samples)
    if isinstance(callbacks, CallbackList):
        called = callbacks
    else:
        called = CallbackList(callbacks)
        called.set_model(model)
    bar = _bar(source, verbose)
    called.call("on_test_begin")
    seen = 0
    for batch, (values, size) in enumerate(source.epoch()):
        called.call("on_test_batch_begin", batch, {"batch": batch, "size": size})
        results = program.run("test", values)
        totals.add(results, size)
        seen += size if by_samples else 1
        logs = dict(zip(program.metric_names, results, strict=True))
        called.call("on_test_batch_end", batch, {"batch": batch, "size": size, **logs})
        if bar is not None:
            bar.update(seen, list(logs.items()))
    source.end_epoch()
    called.call("on_test_end")
    return totals.results()


def predict_loop(model: Any, source: Source, verbose: int = 0, callbacks: Any = ()) -> list[Any]:
    """The outputs for all batches, joined."""
    called = CallbackList(callbacks)
    called.set_model(model)
    bar = _bar(source, verbose)
    called.call("on_predict_begin")
    found: list[list[Any]] = []
    seen = 0
    for batch, (values, size) in enumerate(source.epoch()):
        called.call("on_predict_batch_begin", batch, {"batch": batch, "size": size})
        outputs = model._predict_step(values)
        found.append(outputs)
        called.call("on_predict_batch_end", batch, {"batch": batch, "size": size, "outputs": outputs})
        seen += size if source.samples is not None else 1
        if bar is not None:
            bar.update(seen)
    source.end_epoch()
    called.call("on_predict_end")
    return [np.concatenate(column) for column in zip(*found, strict=True)]


def _bar(source: Source, verbose: int) -> Progbar | None:
    if verbose != 1:
        return None
    if source.samples is not None:
        return Progbar(source.samples, unit_name="sample")
    return Progbar(source.steps, unit_name="step")
