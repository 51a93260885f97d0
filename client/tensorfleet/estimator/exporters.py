"""Exports during training: `tf.estimator.FinalExporter`, `LatestExporter` and `BestExporter`."""

from __future__ import annotations

import glob
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tensorfleet.core import errors
from tensorfleet.core.logging import info, warning
from tensorfleet.estimator.arguments import parameter_names
from tensorfleet.estimator.mode_keys import LOSS_METRIC_KEY
from tensorfleet.summary.records import summary_iterator

if TYPE_CHECKING:
    from tensorfleet.estimator.estimator import Estimator

_Receiver = Callable[[], Any]
_Metrics = Mapping[str, Any]


class Exporter(ABC):
    """Exports a model after an evaluation (`tf.estimator.Exporter`)."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The directory of its exports, in `export` of the model's directory."""

    @abstractmethod
    def export(
        self,
        estimator: Estimator,
        export_path: str,
        checkpoint_path: str,
        eval_result: _Metrics,
        is_the_final_export: bool,
    ) -> Any:
        """Exports the model, or not.

        Args:
            estimator: the model.
            export_path: the directory above the export's.
            checkpoint_path: the checkpoint that was evaluated.
            eval_result: the result of the evaluation.
            is_the_final_export: whether training has ended.

        Returns:
            The directory of the export; None where nothing was exported.
        """


class _SavedModelExporter(Exporter):
    def __init__(
        self, name: str, receiver_fn: _Receiver | None, assets_extra: Mapping[str, Any] | None, as_text: bool
    ) -> None:
        if not name:
            raise ValueError('"name" argument is required.')
        self._name = name
        self._receiver_fn = receiver_fn
        self._assets_extra = assets_extra
        self._as_text = as_text

    @property
    def name(self) -> str:
        return self._name

    def _export(self, estimator: Estimator, export_path: str, checkpoint_path: str) -> bytes:
        assert self._receiver_fn is not None
        return estimator.export_saved_model(
            export_path,
            self._receiver_fn,
            assets_extra=self._assets_extra,
            as_text=self._as_text,
            checkpoint_path=checkpoint_path,
        )


class FinalExporter(_SavedModelExporter):
    """Exports once, when training has ended (`tf.estimator.FinalExporter`).

    Args:
        name: the directory of the export.
        serving_input_receiver_fn: to a ServingInputReceiver.
        assets_extra: paths of files, by where they go below `assets.extra`.
        as_text: write `saved_model.pbtxt`.
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: _Receiver,
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)

    def export(
        self,
        estimator: Estimator,
        export_path: str,
        checkpoint_path: str,
        eval_result: _Metrics,
        is_the_final_export: bool,
    ) -> bytes | None:
        if not is_the_final_export:
            return None
        info("Performing the final export in the end of training.")
        return self._export(estimator, export_path, checkpoint_path)


class LatestExporter(_SavedModelExporter):
    """Exports after each evaluation, and keeps the newest (`tf.estimator.LatestExporter`).

    Args:
        name: the directory of the exports.
        serving_input_receiver_fn: to a ServingInputReceiver.
        assets_extra: paths of files, by where they go below `assets.extra`.
        as_text: write `saved_model.pbtxt`.
        exports_to_keep: how many; None: all.

    Raises:
        ValueError: `exports_to_keep` is not positive.
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: _Receiver,
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
        self._exports_to_keep = _checked(exports_to_keep)

    def export(
        self,
        estimator: Estimator,
        export_path: str,
        checkpoint_path: str,
        eval_result: _Metrics,
        is_the_final_export: bool,
    ) -> bytes | None:
        made = self._export(estimator, export_path, checkpoint_path)
        _delete_old(export_path, self._exports_to_keep)
        return made


def _loss_smaller(best_eval_result: _Metrics, current_eval_result: _Metrics) -> bool:
    """Whether the loss of the second result is smaller.

    Raises:
        ValueError: one of them has no loss.
    """
    for result in (best_eval_result, current_eval_result):
        if not result or LOSS_METRIC_KEY not in result:
            raise ValueError(f"A result of the evaluation has no {LOSS_METRIC_KEY!r}: {result}")
    return bool(best_eval_result[LOSS_METRIC_KEY] > current_eval_result[LOSS_METRIC_KEY])


class BestExporter(_SavedModelExporter):
    """Exports after an evaluation that is better than all before (`tf.estimator.BestExporter`).

    Args:
        name: the directory of the exports.
        serving_input_receiver_fn: to a ServingInputReceiver.
        event_file_pattern: of the event files, in the model's directory, that tell what the best was before
            this process began.
        compare_fn: from `best_eval_result` and `current_eval_result` to whether the latter is better; by
            default that with the smaller loss.
        assets_extra: paths of files, by where they go below `assets.extra`.
        as_text: write `saved_model.pbtxt`.
        exports_to_keep: how many; None: all.

    Raises:
        ValueError: `compare_fn` is missing or has other parameters, or `exports_to_keep` is not positive.
    """

    def __init__(
        self,
        name: str = "best_exporter",
        serving_input_receiver_fn: _Receiver | None = None,
        event_file_pattern: str | None = "eval/*.tfevents.*",
        compare_fn: Callable[..., bool] = _loss_smaller,
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
        if compare_fn is None:
            raise ValueError("`compare_fn` must not be None.")
        names = parameter_names(compare_fn)
        for wanted in ("best_eval_result", "current_eval_result"):
            if wanted not in names:
                raise ValueError(f"compare_fn ({compare_fn}) must include {wanted} argument.")
        if sorted(names) != ["best_eval_result", "current_eval_result"]:
            raise ValueError(f"compare_fn ({compare_fn}) has following not expected args: {names}")
        self._compare_fn = compare_fn
        self._event_file_pattern = event_file_pattern
        self._exports_to_keep = _checked(exports_to_keep)
        self._model_dir: str | None = None
        self._best: _Metrics | None = None
        self._has_exported = False

    def export(
        self,
        estimator: Estimator,
        export_path: str,
        checkpoint_path: str,
        eval_result: _Metrics,
        is_the_final_export: bool,
    ) -> bytes | None:
        if self._model_dir != estimator.model_dir:
            self._model_dir, self._has_exported = estimator.model_dir, False
            self._best = self._earlier_best(estimator.model_dir)
        if self._best is not None and not self._is_better(eval_result, export_path):
            return None
        info("Performing best model export.")
        self._best, self._has_exported = eval_result, True
        made = self._export(estimator, export_path, checkpoint_path)
        _delete_old(export_path, self._exports_to_keep)
        return made

    def _is_better(self, result: _Metrics, export_path: str) -> bool:
        if self._has_exported:
            return self._compare_fn(best_eval_result=self._best, current_eval_result=result)
        # The best of the event files may be this very result, which has been written before.
        worse = self._compare_fn(best_eval_result=result, current_eval_result=self._best)
        return not worse or not _exports(export_path)

    def _earlier_best(self, model_dir: str) -> _Metrics | None:
        """The best result in the event files, which may be from an earlier process."""
        best: _Metrics | None = None
        if not self._event_file_pattern:
            return None
        for path in sorted(glob.glob(os.path.join(model_dir, self._event_file_pattern))):
            for result in _results(path):
                if best is None or self._compare_fn(best_eval_result=best, current_eval_result=result):
                    best = result
        return best


def _results(path: str) -> Iterator[_Metrics]:
    """The results of evaluations in an event file."""
    try:
        for event in summary_iterator(path):
            result = {
                value.tag: value.simple_value
                for value in event.summary.value
                if value.HasField("simple_value")
            }
            if result:
                yield result
    except errors.DataLossError:
        warning("%s is damaged or incomplete: what it says further on is not read", path)


def _checked(exports_to_keep: int | None) -> int | None:
    if exports_to_keep is not None and exports_to_keep <= 0:
        raise ValueError(f"`exports_to_keep`, if provided, must be a positive number. Got {exports_to_keep}")
    return exports_to_keep


def _exports(export_path: str) -> list[str]:
    """The directories of exports, the oldest first."""
    if not os.path.isdir(export_path):
        return []
    names = [name for name in os.listdir(export_path) if name.isdigit()]
    return [os.path.join(export_path, name) for name in sorted(names, key=int)]


def _delete_old(export_path: str, exports_to_keep: int | None) -> None:
    if exports_to_keep is None:
        return
    for path in _exports(export_path)[:-exports_to_keep]:
        try:
            shutil.rmtree(path)
        except OSError as error:
            warning("Can not delete %s: %s", path, error)
