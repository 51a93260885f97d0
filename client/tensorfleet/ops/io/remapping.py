"""Ops that find the words of one vocabulary in another one, and take what a checkpoint has for them."""

from __future__ import annotations

from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.ops.shape_rules import merge_dim, with_rank


def _remapping_shape(op: RuleNode) -> list[Dims]:
    for tensor in op.inputs:
        with_rank(tensor.dims, 0)
    return [(op.attrs["num_new_vocab"],), ()]


def _matrix_shape(op: RuleNode) -> list[Dims]:
    rows = with_rank(op.inputs[2].dims, 1)
    for place, rank in ((0, 0), (1, 0), (3, 1), (4, 1)):
        with_rank(op.inputs[place].dims, rank)
    merge_dim(rows[0], op.attrs["num_rows"])
    return [(op.attrs["num_rows"], op.attrs["num_cols"])]


op(
    "GenerateVocabRemapping(new_vocab_file: string, old_vocab_file: string) -> "
    "(remapping: int64, num_present: int32)",
    "new_vocab_offset: int >= 0",
    "num_new_vocab: int >= 0",
    "old_vocab_size: int >= -1 = -1",
    shape=_remapping_shape,
)
op(
    "LoadAndRemapMatrix(ckpt_path: string, old_tensor_name: string, row_remapping: int64, "
    "col_remapping: int64, initializing_values: float32) -> (output_matrix: float32)",
    "num_rows: int >= 0",
    "num_cols: int >= 1",
    "max_rows_in_memory: int = -1",
    shape=_matrix_shape,
    stateful=True,
)
