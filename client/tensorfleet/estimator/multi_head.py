"""`tf.estimator.MultiHead`: several heads over one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tensorfleet.estimator.export_outputs import ExportOutput, PredictOutput
from tensorfleet.estimator.head import Head, train_op
from tensorfleet.estimator.mode_keys import ModeKeys
from tensorfleet.estimator.spec import EstimatorSpec
from tensorfleet.graph import framework
from tensorfleet.ops.array.joining import split
from tensorfleet.ops.control_flow.control import no_op
from tensorfleet.ops.io import summary
from tensorfleet.ops.math.add_n import add_n
from tensorfleet.ops.math.arithmetic import multiply
from tensorfleet.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY


class MultiHead:
    """Several heads over one model (`tf.estimator.MultiHead`).

    Labels are a dict by the names of the heads; logits are one, or one tensor that is split. Predictions have
    keys of head and name: `("head1", "probabilities")`.

    Args:
        heads: heads with names.
        head_weights: of their losses; by default 1.

    Raises:
        ValueError: there are no heads, one has no name, or two have the same, or there are more or fewer
            weights than heads.
    """

    def __init__(self, heads: Sequence[Head], head_weights: Sequence[float] | None = None) -> None:
        if not heads:
            raise ValueError("Must specify heads. Given: []")
        if head_weights and len(head_weights) != len(heads):
            raise ValueError(
                f"heads and head_weights must have the same size. Given {len(heads)} heads and "
                f"{len(head_weights)} weights."
            )
        names = [head.name for head in heads]
        if None in names:
            raise ValueError("All given heads must have name specified.")
        if len(set(names)) != len(names):
            raise ValueError(f"All heads must have different names. Given: {names}")
        self._heads = tuple(heads)
        self._weights = tuple(head_weights or [1.0] * len(heads))

    @property
    def name(self) -> str:
        """The names of the heads, joined."""
        return "_".join(str(head.name) for head in self._heads)

    @property
    def logits_dimension(self) -> int:
        """The sum of those of the heads."""
        return sum(head.logits_dimension for head in self._heads)

    def create_estimator_spec(
        self,
        features: Any,
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Any = None,
        trainable_variables: Sequence[Any] | None = None,
        train_op_fn: Callable[[Any], Any] | None = None,
        update_ops: Sequence[Any] | None = None,
        regularization_losses: Sequence[Any] | None = None,
    ) -> EstimatorSpec:
        """The EstimatorSpec of the model; the arguments are those of `Head.create_estimator_spec`."""
        parts = self._split(logits)
        if labels is not None and not isinstance(labels, Mapping):
            raise ValueError(f"labels have to be a dict by the names of the heads. Given: {labels}")
        specs = []
        for head in self._heads:
            name = str(head.name)
            if mode != ModeKeys.PREDICT and name not in (labels or {}):
                raise ValueError(f"labels of the head {name!r} are missing; there are {list(labels or {})}.")
            spec = head.create_estimator_spec(
                features,
                mode,
                parts[name],
                labels=(labels or {}).get(name),
                train_op_fn=_no_training if mode == ModeKeys.TRAIN else None,
                update_ops=[],
            )
            specs.append((name, spec))
        predictions = {(name, key): value for name, spec in specs for key, value in spec.predictions.items()}
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(
                mode, predictions=predictions, export_outputs=self._outputs(specs, predictions)
            )
        losses = [multiply(spec.loss, weight) for (_, spec), weight in zip(specs, self._weights, strict=True)]
        loss = add_n([*losses, *(regularization_losses or ())])
        if mode == ModeKeys.EVAL:
            metrics = {key: pair for _, spec in specs for key, pair in spec.eval_metric_ops.items()}
            return EstimatorSpec(mode, predictions=predictions, loss=loss, eval_metric_ops=metrics)
        with framework.name_scope(""):
            summary.scalar("loss", loss)
        return EstimatorSpec(
            mode,
            predictions=predictions,
            loss=loss,
            train_op=train_op(loss, optimizer, train_op_fn, trainable_variables, update_ops),
        )

    def _split(self, logits: Any) -> dict[str, Any]:
        if isinstance(logits, Mapping):
            missing = [head.name for head in self._heads if head.name not in logits]
            if missing:
                raise ValueError(f"logits has missing values for head(s): {missing}")
            return {str(head.name): logits[head.name] for head in self._heads}
        sizes = [head.logits_dimension for head in self._heads]
        parts = split(logits, sizes, axis=-1)
        return {str(head.name): part for head, part in zip(self._heads, parts, strict=True)}

    def _outputs(
        self, specs: Sequence[tuple[str, EstimatorSpec]], predictions: Mapping[Any, Any]
    ) -> dict[str, ExportOutput]:
        found: dict[str, ExportOutput] = {}
        for name, spec in specs:
            for key, output in (spec.export_outputs or {}).items():
                if key == DEFAULT_SERVING_SIGNATURE_DEF_KEY:
                    found.setdefault(DEFAULT_SERVING_SIGNATURE_DEF_KEY, output)
                    found[name] = output
                else:
                    found[key] = output
        found["predict"] = PredictOutput(dict(predictions))
        return found


def _no_training(loss: Any) -> Any:
    """The heads' own losses are not minimized: their sum is."""
    return no_op()
