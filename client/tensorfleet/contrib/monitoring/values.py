"""Monitors that show, keep or check the values of tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tensorfleet.contrib.monitoring.base import BaseMonitor, EveryN, output_of
from tensorfleet.contrib.monitoring.files import SummarySaver
from tensorfleet.core.logging import error, info, warning
from tensorfleet.graph import framework
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.train.hooks import NanLossDuringTrainingError


class PrintTensor(EveryN):
    """Logs tensors (`tf.contrib.learn.monitors.PrintTensor`).

    Args:
        tensor_names: names of tensors, or by what they are called in the log.
        every_n, first_n: as of EveryN.
    """

    def __init__(
        self, tensor_names: Mapping[str, str] | Iterable[str], every_n: int = 100, first_n: int = 1
    ) -> None:
        super().__init__(every_n, first_n)
        if not isinstance(tensor_names, Mapping):
            tensor_names = {name: name for name in tensor_names}
        self._tensor_names = tensor_names

    def every_n_step_begin(self, step: int) -> list[Any]:
        super().every_n_step_begin(step)
        return list(self._tensor_names.values())

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> None:
        super().every_n_step_end(step, outputs)
        info("Step %d: %s", step, _listed(self._tensor_names, outputs))


class LoggingTrainable(EveryN):
    """Logs the trainable variables (`tf.contrib.learn.monitors.LoggingTrainable`).

    Args:
        scope: a pattern that the names begin with; None: all.
        every_n, first_n: as of EveryN.
    """

    def __init__(self, scope: str | None = None, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        self._scope = scope
        self._names: dict[str, str] = {}

    def begin(self, max_steps: int | None = None) -> None:
        super().begin(max_steps)
        # The graph is finalized later, and the value of a variable may be one more operation.
        variables = framework.get_collection(GraphKeys.TRAINABLE_VARIABLES, self._scope)
        self._names = {variable.name: variable.value().name for variable in variables}

    def every_n_step_begin(self, step: int) -> list[Any]:
        super().every_n_step_begin(step)
        return list(self._names.values())

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> None:
        super().every_n_step_end(step, outputs)
        info("Logging Trainable: Step %d: %s", step, _listed(self._names, outputs))


def _listed(names: Mapping[str, str], outputs: dict[Any, Any]) -> str:
    return ", ".join(f"{tag} = {outputs[name]}" for tag, name in names.items() if name in outputs)


class CaptureVariable(EveryN):
    """Keeps all values of a tensor (`tf.contrib.learn.monitors.CaptureVariable`).

    Args:
        var_name: its name, with ":0".
        every_n, first_n: as of EveryN.
    """

    def __init__(self, var_name: str, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        self._var_name = var_name
        self._var_values: dict[int, Any] = {}

    @property
    def values(self) -> dict[int, Any]:
        """The values by their steps."""
        return self._var_values

    def every_n_step_begin(self, step: int) -> list[Any]:
        super().every_n_step_begin(step)
        return [self._var_name]

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> None:
        super().every_n_step_end(step, outputs)
        self._var_values[step] = output_of(outputs, self._var_name)


class GraphDump(BaseMonitor):
    """Keeps the first output of almost all operations in each step (`tf.contrib.learn.monitors.GraphDump`).

    Args:
        ignore_ops: types of operations to leave out.
    """

    IGNORE_OPS = ("Const", "Assign", "Identity", "Placeholder", "RandomUniform", "Cast", "RestoreSlice")

    def __init__(self, ignore_ops: Iterable[str] | None = None) -> None:
        super().__init__()
        self._ignored = frozenset(ignore_ops or self.IGNORE_OPS)
        self._tensors: list[Any] = []
        self._data: dict[int, dict[Any, Any]] = {}

    @property
    def data(self) -> dict[int, dict[Any, Any]]:
        """By the steps the values by their tensors."""
        return self._data

    def begin(self, max_steps: int | None = None) -> None:
        super().begin(max_steps)
        operations = get_default_graph().get_operations()
        self._tensors = [op.outputs[0] for op in operations if op.outputs and op.type not in self._ignored]

    def step_begin(self, step: int) -> list[Any]:
        super().step_begin(step)
        return self._tensors

    def step_end(self, step: int, output: dict[Any, Any]) -> None:
        super().step_end(step, output)
        self._data[step] = output

    def compare(
        self, other_dump: GraphDump, step: int, atol: float = 1e-6
    ) -> tuple[list[str], dict[str, Any]]:
        """The names of values that are the same in both, and the differences of others; of those with names.

        Raises:
            ValueError: the other one lacks a value.
        """
        matched: list[str] = []
        differing: dict[str, Any] = {}
        others = other_dump.data.get(step, {})
        for key, value in self.data.get(step, {}).items():
            if not isinstance(key, str):
                continue
            if key not in others:
                raise ValueError(f"{key} missing at step {step}.")
            other = others[key]
            if isinstance(value, str):
                continue
            if isinstance(value, np.ndarray):
                if np.allclose(value, other, atol=atol):
                    matched.append(key)
                else:
                    differing[key] = value - other
            elif value == other:
                matched.append(key)
            else:
                differing[key] = value, other
        return matched, differing


class NanLoss(EveryN):
    """Ends a training whose loss is NaN (`tf.contrib.learn.monitors.NanLoss`).

    Args:
        loss_tensor: the loss, or its name.
        every_n_steps: the steps between two looks.
        fail_on_nan_loss: raise NanLossDuringTrainingError then.
    """

    def __init__(self, loss_tensor: Any, every_n_steps: int = 100, fail_on_nan_loss: bool = True) -> None:
        super().__init__(every_n_steps=every_n_steps)
        self._loss_tensor, self._fails = loss_tensor, fail_on_nan_loss

    def every_n_step_begin(self, step: int) -> list[Any]:
        super().every_n_step_begin(step)
        return [self._loss_tensor]

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        super().every_n_step_end(step, outputs)
        if not np.isnan(output_of(outputs, self._loss_tensor)):
            return False
        message = "Model diverged with loss = NaN."
        if self._fails:
            error(message)
            raise NanLossDuringTrainingError
        warning(message)
        return True


def get_default_monitors(
    loss_op: Any = None,
    summary_op: Any = None,
    save_summary_steps: int = 100,
    output_dir: Any = None,
    summary_writer: Any = None,
) -> list[BaseMonitor]:
    """Monitors that log a loss and save summaries, each where it is given
    (`tf.contrib.learn.monitors.get_default_monitors`)."""
    monitors: list[BaseMonitor] = []
    if loss_op is not None:
        monitors.append(PrintTensor({"loss": loss_op.name}))
    if summary_op is not None:
        monitors.append(SummarySaver(summary_op, save_summary_steps, output_dir, summary_writer))
    return monitors
