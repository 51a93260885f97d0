"""Graphs with fake quantization of weights and activations (`tf.contrib.quantize`)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tensorfleet.contrib.graph_edits.rerouting import reroute_ts
from tensorfleet.contrib.quantizing.batch_norms import ADDS, LAYERS
from tensorfleet.contrib.quantizing.folding import fold_batch_norms
from tensorfleet.contrib.quantizing.ranges import quantize
from tensorfleet.contrib.quantizing.steps import quantization_step
from tensorfleet.graph.graph import Graph, get_default_graph
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.identity import identity
from tensorfleet.ops.control_flow.control_flow import cond
from tensorfleet.ops.math.comparison import greater_equal

_ACTIVATIONS = frozenset(("Relu", "Relu6"))
_READS = frozenset(("Identity", "ReadVariableOp"))
_VARIABLES = frozenset(("Variable", "VariableV2", "VarHandleOp"))


def create_training_graph(input_graph: Graph | None = None, quant_delay: int = 0) -> None:
    """Rewrites a graph to train it for 8-bit inference (`tf.contrib.quantize.create_training_graph`).

    Called when the forward pass is there, and before gradients are.

    Args:
        input_graph: by default the default graph.
        quant_delay: after how many steps quantization begins.

    Raises:
        ValueError: the graph has operations of optimizers already.
    """
    _rewrite(input_graph, True, quant_delay=quant_delay)


def create_eval_graph(input_graph: Graph | None = None) -> None:
    """Rewrites a graph to evaluate what `create_training_graph` trained
    (`tf.contrib.quantize.create_eval_graph`)."""
    _rewrite(input_graph, False)


def experimental_create_training_graph(
    input_graph: Graph | None = None,
    weight_bits: int = 8,
    activation_bits: int = 8,
    symmetric: bool = False,
    quant_delay: int = 0,
    freeze_bn_delay: int | None = None,
    scope: str | None = None,
) -> None:
    """`create_training_graph` with further choices
    (`tf.contrib.quantize.experimental_create_training_graph`).

    Args:
        weight_bits, activation_bits: the numbers of bits.
        symmetric: whether ranges have 0 in their middle.
        freeze_bn_delay: after how many steps the moving averages of batch norms normalize.
        scope: only layers whose names begin with it are quantized.
    """
    bits = (weight_bits, activation_bits)
    _rewrite(input_graph, True, bits, symmetric, quant_delay, freeze_bn_delay, scope)


def experimental_create_eval_graph(
    input_graph: Graph | None = None,
    weight_bits: int = 8,
    activation_bits: int = 8,
    symmetric: bool = False,
    quant_delay: int | None = None,
    scope: str | None = None,
) -> None:
    """`create_eval_graph` with further choices (`tf.contrib.quantize.experimental_create_eval_graph`)."""
    _rewrite(input_graph, False, (weight_bits, activation_bits), symmetric, quant_delay or 0, None, scope)


def _rewrite(
    graph: Graph | None,
    is_training: bool,
    bits: tuple[int, int] = (8, 8),
    symmetric: bool = False,
    quant_delay: int = 0,
    freeze_delay: int | None = None,
    scope: str | None = None,
) -> None:
    graph = graph or get_default_graph()
    if is_training:
        for op in graph.get_operations():
            if re.match(r"(Resource)?(Sparse)?Apply[A-Z]", op.type):
                raise ValueError(f"Training op found in graph, exiting {op.name}")
    with graph.as_default():
        fold_batch_norms(graph, is_training, freeze_delay)
        rewriter = _Rewriter(is_training, bits, symmetric, quant_delay)
        layers = [op for op in list(graph.get_operations()) if _is_quantizable(op, scope)]
        for layer in layers:
            rewriter.quantize_layer(layer)


def _is_quantizable(op: Operation, scope: str | None) -> bool:
    if op.type not in LAYERS or (scope and not op.name.startswith(scope)):
        return False
    weights = op.inputs[1].op
    if weights.name.rpartition("/")[2].startswith("mul_fold"):
        return bool(op.outputs[0].consumers())
    return weights.type in _READS and weights.inputs[0].op.type in _VARIABLES and _is_used(op)


def _is_used(op: Operation) -> bool:
    """Whether anything depends on a layer but the statistics of a batch norm that has been folded."""
    return any(taker.type in ADDS | _ACTIVATIONS | {"BiasAdd"} for taker in op.outputs[0].consumers())


class _Rewriter:
    def __init__(self, is_training: bool, bits: tuple[int, int], symmetric: bool, delay: int) -> None:
        self._is_training, self._symmetric, self._delay = is_training, symmetric, delay
        self._weight_bits, self._activation_bits = bits
        self._done: set[Tensor] = set()

    def quantize_layer(self, layer: Operation) -> None:
        """Quantizes the weights of a layer, and its output behind bias, sum and activation."""
        context = layer.name.rpartition("/")[0]
        weights = layer.inputs[1]
        self._insert(f"{context}/weights_quant".lstrip("/"), weights, weights.consumers(), False)
        tensor = _biased(layer.outputs[0])
        bypass = _single(tensor, ADDS)
        if bypass is not None:
            around = context.rpartition("/")[0]
            self._insert(f"{context}/conv_quant".lstrip("/"), tensor, [bypass], True)
            tensor, context = bypass.outputs[0], around
        activation = _single(tensor, _ACTIVATIONS)
        if activation is not None:
            tensor = activation.outputs[0]
        # Ranges of activations begin at 0, also where a last layer has none, as in TensorFlow.
        name, low = ("add_quant", -6.0) if bypass is not None and activation is None else ("act_quant", 0.0)
        self._insert(f"{context}/{name}".lstrip("/"), tensor, tensor.consumers(), True, low)

    def _insert(
        self,
        name: str,
        tensor: Tensor,
        consumers: Sequence[Operation],
        is_activation: bool,
        low: float = -6.0,
    ) -> None:
        takers = [op for op in consumers if not _is_shape(op)]
        if tensor in self._done or not takers:
            return
        self._done.add(tensor)
        found = quantize(
            tensor,
            name,
            moving=is_activation,
            is_training=self._is_training,
            num_bits=self._activation_bits if is_activation else self._weight_bits,
            narrow_range=not is_activation,
            symmetric=self._symmetric,
            init_min=low,
        )
        if self._delay > 0:
            begun = greater_equal(quantization_step(), self._delay, name=f"{name}/activate_quant")
            quantized = found
            found = cond(
                begun, lambda: identity(quantized), lambda: identity(tensor), name=f"{name}/delayed_quant"
            )
        reroute_ts([found], [tensor], can_modify=takers)


def _biased(tensor: Tensor) -> Tensor:
    """The output of a layer with its corrections and its bias."""
    for kinds in (("Mul",), ADDS, (*ADDS, "BiasAdd")):
        for taker in tensor.consumers():
            last = taker.name.rpartition("/")[2]
            if taker.type in kinds and (
                last.startswith(("post_conv_mul", "correction_add", "add_fold")) or _is_bias(taker, tensor)
            ):
                tensor = taker.outputs[0]
                break
    return tensor


def _is_bias(op: Operation, tensor: Tensor) -> bool:
    if op.type == "BiasAdd":
        return True
    if op.type not in ADDS:
        return False
    other = op.inputs[0] if op.inputs[1] is tensor else op.inputs[1]
    return other.op.type in _READS and other.op.inputs[0].op.type in _VARIABLES


def _single(tensor: Tensor, kinds: frozenset[str]) -> Operation | None:
    """The operation of one of the kinds that takes a tensor, if there is just one."""
    found = [op for op in dict.fromkeys(tensor.consumers()) if op.type in kinds]
    return found[0] if len(found) == 1 else None


def _is_shape(op: Operation) -> bool:
    return op.type in ("Shape", "Rank", "Size")
