"""Callbacks that look at the losses and metrics of each epoch."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfleet.core.logging import get_logger
from tensorfleet.keras import backend as K
from tensorfleet.keras.callback_kinds.base import Callback


def _compare(mode: str, monitor: str) -> tuple[Callable[[Any, Any], bool], float]:
    """Whether one value is better than another, and a value that is worse than all."""
    if mode not in ("auto", "min", "max"):
        get_logger().warning("The mode %r is unknown; auto is used.", mode)
        mode = "auto"
    if mode == "max" or (mode == "auto" and ("acc" in monitor or monitor.startswith("fmeasure"))):
        return (lambda a, b: bool(np.greater(a, b))), -np.inf
    return (lambda a, b: bool(np.less(a, b))), np.inf


def _value(callback: Any, logs: Any) -> Any:
    found = (logs or {}).get(callback.monitor)
    if found is None:
        get_logger().warning(
            "%s: there is no %r among what an epoch gives: %s.",
            type(callback).__name__,
            callback.monitor,
            ", ".join(logs or {}),
        )
    return found


class EarlyStopping(Callback):
    """Ends training when a value gets no better (`tf.keras.callbacks.EarlyStopping`).

    Args:
        monitor: the name of the value.
        min_delta: what counts as better.
        patience: the number of epochs without that.
        mode: "min", "max", or "auto", which is told by the name.
        baseline: a value that must be reached first.
        restore_best_weights: whether the weights of the best epoch are set at the end.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: Any = None,
        restore_best_weights: bool = False,
    ) -> None:
        super().__init__()
        self.monitor, self.patience, self.verbose, self.baseline = monitor, patience, verbose, baseline
        self.min_delta, self.restore_best_weights = abs(min_delta), restore_best_weights
        self._better, self._worst = _compare(mode, monitor)
        if self._worst < 0:
            self._sign = -1
        else:
            self._sign = 1

    def on_train_begin(self, logs: Any = None) -> None:
        self.wait, self.stopped_epoch = 0, 0
        self.best_weights: Any = None
        self.best = self._worst if self.baseline is None else self.baseline

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        current = _value(self, logs)
        if current is None:
            return
        if self._better(current + self._sign * self.min_delta, self.best):
            self.best, self.wait = current, 0
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch, self.model.stop_training = epoch, True
            if self.restore_best_weights and self.best_weights is not None:
                self.model.set_weights(self.best_weights)

    def on_train_end(self, logs: Any = None) -> None:
        if self.stopped_epoch > 0 and self.verbose > 0:
            print(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")


class ModelCheckpoint(Callback):
    """Writes the model, or its weights, after epochs (`tf.keras.callbacks.ModelCheckpoint`).

    Args:
        filepath: the file, with fields such as {epoch:02d} and {val_loss:.2f}.
        save_best_only: whether only a model that is better than all before is written.
        save_weights_only: whether only the weights are written.
        save_freq: "epoch", or a number of examples.
        period: the number of epochs between two files.
    """

    def __init__(
        self,
        filepath: str,
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: Any = "epoch",
        load_weights_on_restart: bool = False,
        period: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(f"Unrecognized save_freq: {save_freq}")
        self.filepath, self.monitor, self.verbose = os.fspath(filepath), monitor, verbose
        self.save_best_only, self.save_weights_only = save_best_only, save_weights_only
        self.save_freq, self.period = save_freq, period
        self.load_weights_on_restart = load_weights_on_restart
        self._better, self.best = _compare(mode, monitor)
        self._epochs, self._seen, self._epoch = 0, 0, 0

    def on_train_begin(self, logs: Any = None) -> None:
        if self.load_weights_on_restart and (
            os.path.exists(self.filepath) or os.path.exists(f"{self.filepath}.index")
        ):
            self.model.load_weights(self.filepath)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._epoch = epoch

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        if isinstance(self.save_freq, int):
            self._seen += (logs or {}).get("size", 1)
            if self._seen >= self.save_freq:
                self._seen = 0
                self._save(self._epoch, logs or {})

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._epochs += 1
        if self.save_freq == "epoch" and self._epochs >= self.period:
            self._epochs = 0
            self._save(epoch, logs or {})

    def _save(self, epoch: int, logs: dict[str, Any]) -> None:
        path = self.filepath.format(epoch=epoch + 1, **logs)
        if self.save_best_only:
            current = _value(self, logs)
            if current is None or not self._better(current, self.best):
                if self.verbose > 0 and current is not None:
                    print(f"\nEpoch {epoch + 1:05d}: {self.monitor} did not improve from {self.best:0.5f}")
                return
            if self.verbose > 0:
                print(
                    f"\nEpoch {epoch + 1:05d}: {self.monitor} improved from {self.best:0.5f} to "
                    f"{current:0.5f}, saving model to {path}"
                )
            self.best = current
        elif self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: saving model to {path}")
        if self.save_weights_only:
            self.model.save_weights(path, overwrite=True)
        else:
            self.model.save(path, overwrite=True)


class LearningRateScheduler(Callback):
    """Sets the learning rate before each epoch (`tf.keras.callbacks.LearningRateScheduler`).

    Args:
        schedule: a function from the epoch, and perhaps the learning rate, to a learning rate.
    """

    def __init__(self, schedule: Any, verbose: int = 0) -> None:
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        rate = _rate(self.model)
        try:
            wanted = self.schedule(epoch, float(K.get_value(rate)))
        except TypeError:  # of a function of the epoch alone
            wanted = self.schedule(epoch)
        if not isinstance(wanted, (float, np.floating)):
            raise ValueError('The output of the "schedule" function should be float.')
        K.set_value(rate, wanted)
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: LearningRateScheduler reducing learning rate to {wanted}.")

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if logs is not None:
            logs["lr"] = K.get_value(_rate(self.model))


def _rate(model: Any) -> Any:
    rate = getattr(model.optimizer, "lr", None)
    if rate is None:
        raise ValueError('Optimizer must have a "lr" attribute.')
    return rate


class ReduceLROnPlateau(Callback):
    """Makes the learning rate less when a value gets no better (`tf.keras.callbacks.ReduceLROnPlateau`).

    Args:
        factor: what the learning rate is multiplied with.
        patience: the number of epochs without a better value.
        min_delta: what counts as better.
        cooldown: the number of epochs after a change in which nothing is counted.
        min_lr: the least learning rate.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if factor >= 1.0:
            raise ValueError("ReduceLROnPlateau does not support a factor >= 1.0.")
        self.monitor, self.factor, self.patience, self.verbose = monitor, factor, patience, verbose
        self.min_delta = kwargs.pop("epsilon", min_delta)
        self.cooldown, self.min_lr = cooldown, min_lr
        self._better, self._worst = _compare(mode, monitor)
        self._sign = 1 if self._worst > 0 else -1
        self._begin()

    def _begin(self) -> None:
        self.best, self.cooldown_counter, self.wait = self._worst, 0, 0

    def on_train_begin(self, logs: Any = None) -> None:
        self._begin()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        logs = {} if logs is None else logs
        rate = _rate(self.model)
        logs["lr"] = K.get_value(rate)
        current = _value(self, logs)
        if current is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if self._better(current + self._sign * self.min_delta, self.best):
            self.best, self.wait = current, 0
            return
        if self.cooldown_counter > 0:
            return
        self.wait += 1
        old = float(logs["lr"])
        if self.wait >= self.patience and old > self.min_lr:
            new = max(old * self.factor, self.min_lr)
            K.set_value(rate, new)
            if self.verbose > 0:
                print(f"\nEpoch {epoch + 1:05d}: ReduceLROnPlateau reducing learning rate to {new}.")
            self.cooldown_counter, self.wait = self.cooldown, 0


class TerminateOnNaN(Callback):
    """Ends training when the loss is no number any more (`tf.keras.callbacks.TerminateOnNaN`)."""

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


class CSVLogger(Callback):
    """Writes the values of each epoch into a file (`tf.keras.callbacks.CSVLogger`).

    Args:
        append: whether a file that is there goes on.
    """

    def __init__(self, filename: str, separator: str = ",", append: bool = False) -> None:
        super().__init__()
        self.filename, self.sep, self.append = os.fspath(filename), separator, append
        self.keys: list[str] | None = None
        self._file: Any = None

    def on_train_begin(self, logs: Any = None) -> None:
        begun = self.append and os.path.exists(self.filename) and os.path.getsize(self.filename) > 0
        self._with_header = not begun
        self._file = open(self.filename, "a" if self.append else "w", newline="")  # noqa: SIM115 - for training
        self._writer: Any = None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        logs = logs or {}
        if self._writer is None:
            self.keys = sorted(logs)
            self._writer = csv.DictWriter(self._file, ["epoch", *self.keys], delimiter=self.sep)
            if self._with_header:
                self._writer.writeheader()
        self._writer.writerow({"epoch": epoch, **{key: logs.get(key, "NA") for key in self.keys or ()}})
        self._file.flush()

    def on_train_end(self, logs: Any = None) -> None:
        self._file.close()
        self._writer = None


class LambdaCallback(Callback):
    """Functions as a callback (`tf.keras.callbacks.LambdaCallback`)."""

    def __init__(
        self,
        on_epoch_begin: Any = None,
        on_epoch_end: Any = None,
        on_batch_begin: Any = None,
        on_batch_end: Any = None,
        on_train_begin: Any = None,
        on_train_end: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        given = {
            "on_epoch_begin": on_epoch_begin,
            "on_epoch_end": on_epoch_end,
            "on_batch_begin": on_batch_begin,
            "on_batch_end": on_batch_end,
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
        }
        for name, function in given.items():
            if function is not None:
                setattr(self, name, function)
        vars(self).update(kwargs)
