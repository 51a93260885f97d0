"""`tf.keras.Model`: compile, fit, evaluate, predict."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from tensorfleet.core import dtypes
from tensorfleet.core.shapes import TensorShape
from tensorfleet.keras import backend as K, nest, ops
from tensorfleet.keras.engine import feeding
from tensorfleet.keras.engine.fitting import (
    ArraySource,
    FedSource,
    Source,
    TensorBatches,
    evaluate_loop,
    fit_loop,
    is_batched_source,
    predict_loop,
    source_of,
)
from tensorfleet.keras.engine.input_layer import InputLayer
from tensorfleet.keras.engine.program import Program, run_step
from tensorfleet.keras.engine.saving_model import SavingModel
from tensorfleet.keras.optimizer_kinds.names import get as get_optimizer


class Model(SavingModel):
    """A graph of layers, or a class of one's own, that can be trained (`tf.keras.Model`).

    Args:
        inputs, outputs: the tensors between which the calls of layers are the model; without them a subclass
            computes in `call`.

    Example:
        >>> x = tf.keras.Input((2,))
        >>> model = tf.keras.Model(x, tf.keras.layers.Dense(1, kernel_initializer="ones")(x))
        >>> model.compile("sgd", "mse")
        >>> model.predict(np.array([[1.0, 2.0]])).tolist()
        [[3.0]]
    """

    _program: Program | None = None
    _arguments: dict[str, Any] | None = None
    history: Any = None
    stop_training = False

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        metrics: Any = None,
        loss_weights: Any = None,
        sample_weight_mode: Any = None,
        weighted_metrics: Any = None,
        target_tensors: Any = None,
        distribute: Any = None,
        **kwargs: Any,
    ) -> None:
        """Says how the model is trained.

        Args:
            optimizer: a name, an optimizer of Keras or of tf.train.
            loss: a name, function or Loss; for several outputs a list, or a dict by their names.
            metrics: names, functions or Metrics, for several outputs lists or dicts of them.
            loss_weights: factors of the outputs' losses.
            sample_weight_mode: "temporal" for weights of time steps.
            weighted_metrics: metrics that take the weights of examples into account.
            target_tensors: tensors in place of fed targets.
            distribute: must be None.
        """
        if distribute is not None:
            raise NotImplementedError(
                "compile: `distribute` is not part of TensorFleet. For several workers use "
                "tf.train.Server and "
                "tf.keras.backend.set_session, or tf.keras.estimator.model_to_estimator."
            )
        for argument in kwargs:
            if argument not in ("run_eagerly", "options", "run_metadata", "experimental_run_tf_function"):
                raise TypeError(f"Invalid keyword argument passed to compile: {argument}")
        if kwargs.get("run_eagerly"):
            raise NotImplementedError("run_eagerly: eager mode is not part of TensorFleet.")
        self.optimizer = get_optimizer(optimizer)
        self._arguments = {
            "loss": {} if loss is None else loss,
            "metrics": metrics,
            "loss_weights": loss_weights,
            "sample_weight_mode": sample_weight_mode,
            "weighted_metrics": weighted_metrics,
            "target_tensors": target_tensors,
        }
        if loss is None:
            self._arguments["loss"] = None
        self.loss, self.loss_weights, self.sample_weight_mode = loss, loss_weights, sample_weight_mode
        self._is_compiled, self._program = True, None
        self._collected: list[Any] | None = None
        if self.outputs is not None:
            self._collected = self.trainable_weights
            self._program = Program(self, self._arguments)

    def _check_compiled(self) -> None:
        if not self._is_compiled:
            raise RuntimeError(
                "You must compile your model before training/testing. Use `model.compile(optimizer, loss)`."
            )

    def _program_of(self) -> Program:
        self._check_compiled()
        if self._program is None:
            assert self._arguments is not None
            self._program = Program(self, self._arguments)
        return self._program

    def _trained_weights(self) -> list[Any]:
        """The variables that training changes: those that were trainable when the model was compiled."""
        if self._collected is None:
            self._collected = self.trainable_weights
        return self._collected

    def _own_metrics(self) -> list[tuple[str, Any, Any]]:
        return [metric for layer in self._all_layers() for metric in layer._metrics]

    @property
    def metrics_names(self) -> list[str]:
        """What `evaluate` and `train_on_batch` return, by name."""
        return list(self._program_of().metric_names)

    @property
    def metrics(self) -> list[Any]:
        """The metrics, without the loss."""
        return list(self._program_of().metric_objects) if self._is_compiled else []

    def reset_metrics(self) -> None:
        """Lets the metrics begin anew."""
        if self._is_compiled:
            self._program_of().reset_metrics()

    def _fed_inputs(self) -> list[Any]:
        return [tensor for tensor, layer in zip(self.inputs, self._feeders(), strict=True) if layer]

    def _feeders(self) -> list[bool]:
        if self._graph_of_layers is None:
            return [True] * len(self.inputs)
        layers = self._input_layers
        return [not isinstance(layer, InputLayer) or layer.is_placeholder for layer in layers]

    # Data

    def _set_inputs(self, x: Any) -> None:
        """Makes the graph of a model that did not know its inputs yet, for inputs like these."""
        if self.inputs is not None:
            return
        values = nest.to_list(x) if not isinstance(x, dict) else [x[name] for name in sorted(x)]
        made = []
        for value in values:
            array = value if hasattr(value, "shape") else np.asarray(value)
            dims = TensorShape(array.shape).as_list()
            shape = [None, *dims[1:]] if len(dims) > 1 else [None, 1]
            found = dtypes.as_dtype(array.dtype)
            made.append((shape, found if not found.is_floating else dtypes.as_dtype(K.floatx())))
        self._build_for(made, x)

    def _build_for(self, shapes: list[tuple[list[int | None], Any]], x: Any) -> None:
        """Calls the model on placeholders of these shapes and dtypes."""
        tensors = [
            ops.placeholder(dtype, shape=shape, name=f"input_{i + 1}")
            for i, (shape, dtype) in enumerate(shapes)
        ]
        self.input_names = [f"input_{i + 1}" for i in range(len(tensors))]
        inputs: Any = tensors if isinstance(x, (list, tuple)) else tensors[0]
        if isinstance(x, dict):
            self.input_names = sorted(x)
            inputs = dict(zip(self.input_names, tensors, strict=True))
        arguments = {"training": K.learning_phase()} if self._expects("training") else {}
        outputs = self(inputs, **arguments)
        self.inputs, self.outputs = tensors, nest.flatten(outputs)
        self._nested_outputs = outputs
        count = len(self.outputs)
        self.output_names = [f"output_{i + 1}" for i in range(count)]

    def _input_values(self, x: Any) -> list[Any]:
        self._set_inputs(x)
        fed = self._fed_inputs()
        feeders = self._feeders()
        names = [name for name, is_fed in zip(self.input_names, feeders, strict=True) if is_fed]
        shapes = [None if t.shape.ndims is None else t.shape.as_list() for t in fed]
        return feeding.arrays(x, names, shapes, "input", [t.dtype for t in fed])

    def _training_values(
        self, x: Any, y: Any, weights: Any = None, classes: Any = None
    ) -> tuple[list[Any], int]:
        """What is fed for a batch, or for all examples, and their number."""
        xs = self._input_values(x)
        ends = [e for e in self._program_of().endpoints if e.target is not None]
        fed = [e for e in ends if e.is_fed]
        if y is None and fed and xs and any(v is not None for v in xs):
            raise ValueError(
                f"The model has losses, so it needs targets: y is None. Outputs: {[e.name for e in fed]}"
            )
        names = [e.name for e in fed]
        if isinstance(y, dict):
            y = {name: y[name] for name in names if name in y}
        found = feeding.arrays(
            y, names, [e.target_shape for e in fed], "target", [e.target.dtype for e in fed]
        )
        targets = iter(found)
        ys = [next(targets) if e.is_fed else None for e in ends]
        temporal = [len(e.sample_weight.shape.as_list()) == 2 for e in ends]
        ws = feeding.sample_weights(weights, classes, ys, [e.name for e in ends], temporal)
        return [*xs, *ys, *ws], feeding.check_lengths(xs, ys, ws)

    def _source(
        self, x: Any, y: Any, weights: Any, classes: Any, batch_size: Any, steps: Any, shuffle: Any
    ) -> Source:
        if is_batched_source(x):
            if y is not None:
                raise ValueError(
                    "`y` argument is not supported when `x` is a dataset, generator or Sequence."
                )

            def convert(batch: Any) -> tuple[list[Any], int]:
                inputs, targets, given = feeding.parts_of_batch(batch)
                values, count = self._training_values(inputs, targets, given, classes)
                return values, count

            source = source_of(x, convert, shuffle, steps, self._session_graph())
            return source
        values, count = self._training_values(x, y, weights, classes)
        if all(v is None for v in values):
            if steps is None:
                raise ValueError(
                    "The number of steps is needed where nothing is fed: give `steps_per_epoch`."
                )
            return FedSource(len(values), steps)
        return ArraySource(values, count, 32 if batch_size is None else batch_size, shuffle, steps)

    def _session_graph(self) -> Any:
        return self.outputs[0].graph if self.outputs is not None else ops.get_default_graph()

    # Training

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: Any = True,
        class_weight: Any = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_freq: Any = 1,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Trains the model for some epochs.

        Args:
            x, y: arrays, or lists or dicts of them; or tensors, of which each step computes a batch; or x a
                dataset, its iterator, a generator or a Sequence.
            validation_split: the part of the examples, from their end, that is kept for validation.
            validation_data: (x, y) or (x, y, weights), or a dataset, generator or Sequence.
            shuffle: whether examples are in a new order in each epoch; "batch" keeps batches together.
            class_weight: factors of the loss by class.
            sample_weight: factors of the loss by example.
            steps_per_epoch, validation_steps: the number of batches.
            max_queue_size, workers, use_multiprocessing: ignored; batches are made between steps.

        Returns:
            A `History`.
        """
        if "nb_epoch" in kwargs:
            epochs = kwargs.pop("nb_epoch")
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
        self._check_compiled()
        x, y, sample_weight = _batched(x, y, sample_weight)
        kept: Any = None
        if validation_split:
            if is_batched_source(x):
                raise ValueError("`validation_split` is only supported for arrays.")
            if not 0.0 < validation_split < 1.0:
                raise ValueError("`validation_split` must be between 0 and 1.")
            values, count = self._training_values(x, y, sample_weight, class_weight)
            at = int(count * (1.0 - validation_split))
            values, kept = feeding.split(values, at)
            size = 32 if batch_size is None else batch_size
            source: Source = ArraySource(values, at, size, shuffle, steps_per_epoch)
            validation: Any = ArraySource(kept, count - at, size, False, None)
        else:
            source = self._source(x, y, sample_weight, class_weight, batch_size, steps_per_epoch, shuffle)
            validation = self._validation(validation_data, batch_size, validation_steps)
        if is_batched_source(x):
            self._peek(x, source)
        if verbose and source.samples is not None:
            text = f"Train on {source.samples} samples"
            more = (
                ""
                if validation is None or validation.samples is None
                else (f", validate on {validation.samples} samples")
            )
            print(text + more)

        def validate(called: Any) -> list[Any]:
            validation.restart()
            return evaluate_loop(self, validation, callbacks=called)

        callbacks = list(callbacks or [])
        with source, validation or contextlib.nullcontext():
            return fit_loop(
                self,
                source,
                callbacks,
                epochs,
                initial_epoch,
                verbose,
                None if validation is None else validate,
                validation_freq,
            )

    def _peek(self, x: Any, source: Source) -> None:
        """Makes the graph of a model without known inputs by the first batch of a dataset or Sequence."""
        if self.inputs is not None:
            return
        if hasattr(source, "_sequence"):
            self._set_inputs(feeding.parts_of_batch(x[0])[0])
        elif hasattr(source, "_next"):
            self._set_inputs_by_specs(source._next)
        else:
            raise ValueError(
                "A model that does not know its inputs cannot be trained by a generator: give "
                "the first layer an "
                "input_shape, or call the model or its `build`."
            )

    def _set_inputs_by_specs(self, batch: Any) -> None:
        x = feeding.parts_of_batch(batch)[0]
        tensors = nest.to_list(x) if not isinstance(x, dict) else [x[name] for name in sorted(x)]
        self._build_for(
            [
                ([None, *t.shape.as_list()[1:]] if len(t.shape.as_list()) > 1 else [None, 1], t.dtype)
                for t in tensors
            ],
            x,
        )

    def _validation(self, data: Any, batch_size: Any, steps: Any) -> Any:
        if data is None:
            return None
        if is_batched_source(data):
            return self._source(data, None, None, None, batch_size, steps, False)
        if not isinstance(data, (list, tuple)) or len(data) not in (2, 3):
            raise ValueError(
                "When passing a `validation_data` argument, it must contain either 2 items "
                "(x_val, y_val), or 3 "
                f"items (x_val, y_val, val_sample_weights). However we received `validation_data={data}`"
            )
        x, y, weights = _batched(*(*data, None)[:3])
        return self._source(x, y, weights, None, batch_size, steps, False)

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: int = 1,
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> Any:
        """The loss and the metrics, in the order of `metrics_names`; of a model without metrics the loss
        alone."""
        self._check_compiled()
        x, y, sample_weight = _batched(x, y, sample_weight)
        source = self._source(x, y, sample_weight, None, batch_size, steps, False)
        if is_batched_source(x):
            self._peek(x, source)
        with source:
            return nest.unpack_single(evaluate_loop(self, source, verbose, callbacks or ()))

    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: int = 0,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> Any:
        """The outputs for inputs, arrays."""
        x, _, _ = _batched(x, None, None)
        if is_batched_source(x):

            def convert(batch: Any) -> tuple[list[Any], int]:
                inputs = feeding.parts_of_batch(batch)[0]
                return self._input_values(inputs), feeding.size_of(inputs)

            source: Source = source_of(x, convert, False, steps, self._session_graph())
        else:
            values = self._input_values(x)
            if not values or all(v is None for v in values):
                source = FedSource(len(values), steps or 1)
            else:
                size = 32 if batch_size is None else batch_size
                source = ArraySource(values, feeding.check_lengths(values), size, False, steps)
        with source:
            return nest.unpack_single(predict_loop(self, source, verbose, callbacks or ()))

    def _predict_step(self, values: list[Any]) -> list[Any]:
        if self._predictor is None or self._predictor[0] != self.outputs:
            with self.outputs[0].graph.as_default(), ops.init_scope():
                states = ops.group(*self.state_updates)
            self._predictor = list(self.outputs), [list(self.outputs), states]
        return run_step(self.outputs[0].graph, self._fed_inputs(), self._predictor[1], values, False)

    _predictor: Any = None

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Any = None,
        reset_metrics: bool = True,
    ) -> Any:
        """Trains by one batch; the loss and the metrics."""
        self._check_compiled()
        x, y, sample_weight = _fetched(x, y, sample_weight)
        values, _ = self._training_values(x, y, sample_weight, class_weight)
        results = self._program_of().run("train", values)
        if reset_metrics:
            self.reset_metrics()
        return nest.unpack_single(results)

    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, reset_metrics: bool = True
    ) -> Any:
        """The loss and the metrics of one batch."""
        self._check_compiled()
        x, y, sample_weight = _fetched(x, y, sample_weight)
        values, _ = self._training_values(x, y, sample_weight)
        results = self._program_of().run("test", values)
        if reset_metrics:
            self.reset_metrics()
        return nest.unpack_single(results)

    def predict_on_batch(self, x: Any) -> Any:
        """The outputs for one batch."""
        return nest.unpack_single(self._predict_step(self._input_values(_fetched(x, None, None)[0])))

    def fit_generator(
        self,
        generator: Any,
        steps_per_epoch: int | None = None,
        epochs: int = 1,
        verbose: int = 1,
        **kwargs: Any,
    ) -> Any:
        """`fit` with a generator or Sequence, its older name."""
        return self.fit(generator, steps_per_epoch=steps_per_epoch, epochs=epochs, verbose=verbose, **kwargs)

    def evaluate_generator(
        self, generator: Any, steps: int | None = None, verbose: int = 0, **kwargs: Any
    ) -> Any:
        """`evaluate` with a generator or Sequence, its older name."""
        return self.evaluate(generator, steps=steps, verbose=verbose, **kwargs)

    def predict_generator(
        self, generator: Any, steps: int | None = None, verbose: int = 0, **kwargs: Any
    ) -> Any:
        """`predict` with a generator or Sequence, its older name."""
        return self.predict(generator, steps=steps, verbose=verbose, **kwargs)


def _batched(x: Any, y: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Data with tensors as the batches that they are; other data unchanged."""
    found = TensorBatches.of(x, y, weights)
    return (x, y, weights) if found is None else (found, None, None)


def _fetched(x: Any, y: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Data with the values of tensors in place of them."""
    found = TensorBatches.of(x, y, weights)
    return (x, y, weights) if found is None else found.fetched()
