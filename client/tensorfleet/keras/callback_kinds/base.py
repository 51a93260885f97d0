"""What is called while a model trains."""

from __future__ import annotations

from typing import Any


class Callback:
    """The base class of callbacks (`tf.keras.callbacks.Callback`).

    Attributes:
        params: verbose, epochs, steps, samples, metrics, …
        model: the model that trains.
    """

    def __init__(self) -> None:
        self.validation_data: Any = None
        self.model: Any = None
        self.params: dict[str, Any] = {}

    def set_params(self, params: dict[str, Any]) -> None:
        """Tells the parameters of training."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Tells the model."""
        self.model = model

    def on_train_begin(self, logs: Any = None) -> None:
        """Called before training."""

    def on_train_end(self, logs: Any = None) -> None:
        """Called after training."""

    def on_test_begin(self, logs: Any = None) -> None:
        """Called before an evaluation."""

    def on_test_end(self, logs: Any = None) -> None:
        """Called after an evaluation."""

    def on_predict_begin(self, logs: Any = None) -> None:
        """Called before predictions."""

    def on_predict_end(self, logs: Any = None) -> None:
        """Called after predictions."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Called before an epoch."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Called after an epoch, with its losses and metrics."""

    def on_batch_begin(self, batch: int, logs: Any = None) -> None:
        """The older name of `on_train_batch_begin`."""

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """The older name of `on_train_batch_end`."""

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Called before a batch of training."""
        self.on_batch_begin(batch, logs=logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Called after a batch of training, with its losses and metrics."""
        self.on_batch_end(batch, logs=logs)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Called before a batch of an evaluation."""

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Called after a batch of an evaluation."""

    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Called before a batch of predictions."""

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        """Called after a batch of predictions."""


class CallbackList:
    """Several callbacks, called one after the other."""

    def __init__(self, callbacks: Any = None) -> None:
        self.callbacks: list[Any] = list(callbacks or [])

    def append(self, callback: Any) -> None:
        """Adds a callback behind the others."""
        self.callbacks.append(callback)

    def set_params(self, params: dict[str, Any]) -> None:
        """Tells the parameters of training to all."""
        for callback in self.callbacks:
            callback.set_params(params)

    def set_model(self, model: Any) -> None:
        """Tells the model to all."""
        for callback in self.callbacks:
            callback.set_model(model)

    def call(self, hook: str, *args: Any) -> None:
        """Calls a method of all, such as "on_epoch_end"."""
        for callback in self.callbacks:
            method = getattr(callback, hook, None)
            if method is not None:
                method(*args)


class History(Callback):
    """The losses and metrics of all epochs (`tf.keras.callbacks.History`).

    Attributes:
        epoch: the numbers of the epochs.
        history: a list of values by name.
    """

    def __init__(self) -> None:
        super().__init__()
        self.epoch: list[int] = []
        self.history: dict[str, list[Any]] = {}

    def on_train_begin(self, logs: Any = None) -> None:
        self.epoch, self.history = [], {}

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.epoch.append(epoch)
        for key, value in (logs or {}).items():
            self.history.setdefault(key, []).append(value)


class BaseLogger(Callback):
    """The means of metrics over an epoch (`tf.keras.callbacks.BaseLogger`), which `fit` computes itself."""

    def __init__(self, stateful_metrics: Any = None) -> None:
        super().__init__()
        self.stateful_metrics = set(stateful_metrics or [])
        self.seen, self.totals = 0, {}  # type: ignore[var-annotated]

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.seen, self.totals = 0, {}

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        logs = logs or {}
        size = logs.get("size", 0)
        self.seen += size
        for key, value in logs.items():
            if key in self.stateful_metrics:
                self.totals[key] = value
            else:
                self.totals[key] = self.totals.get(key, 0) + value * size

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        for key in self.params.get("metrics", ()) if logs is not None else ():
            if key in self.totals:
                is_kept = key in self.stateful_metrics
                logs[key] = self.totals[key] if is_kept else self.totals[key] / max(self.seen, 1)


class ProgbarLogger(Callback):
    """Lines of progress on the terminal (`tf.keras.callbacks.ProgbarLogger`).

    Args:
        count_mode: "samples" or "steps".
    """

    def __init__(self, count_mode: str = "samples", stateful_metrics: Any = None) -> None:
        super().__init__()
        if count_mode not in ("samples", "steps"):
            raise ValueError(f"Unknown `count_mode`: {count_mode}")
        self.use_steps = count_mode == "steps"
        self.stateful_metrics = set(stateful_metrics or [])

    def on_train_begin(self, logs: Any = None) -> None:
        self.verbose, self.epochs = self.params["verbose"], self.params["epochs"]

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        from tensorfleet.keras.progress import Progbar

        self.seen = 0
        self.target = self.params.get("steps" if self.use_steps else "samples")
        if self.verbose and self.epochs > 1:
            print(f"Epoch {epoch + 1}/{self.epochs}")
        self.progbar = Progbar(
            self.target,
            verbose=self.verbose,
            stateful_metrics=self.params.get("metrics"),
            unit_name="step" if self.use_steps else "sample",
        )

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        logs = logs or {}
        self.seen += 1 if self.use_steps else logs.get("size", 0)
        values = [(name, logs[name]) for name in self.params.get("metrics", ()) if name in logs]
        if self.verbose and (self.target is None or self.seen < self.target):
            self.progbar.update(self.seen, values)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        logs = logs or {}
        values = [(name, logs[name]) for name in self.params.get("metrics", ()) if name in logs]
        if self.verbose:
            self.progbar.target = self.seen
            self.progbar.update(self.seen, values)
