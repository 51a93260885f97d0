"""Models that begin with what another one has learned: `tf.train.warm_start`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tensorfleet.core import logging
from tensorfleet.graph import framework
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.state.partitioned_variables import PartitionedVariable, PartitionInfo
from tensorfleet.ops.state.variables import Variable
from tensorfleet.train.initializing import checkpoint_path, init_from_checkpoint, set_initializer
from tensorfleet.train.remapping import load_and_remap_matrix_initializer


class _VocabInfo(NamedTuple):
    new_vocab: Any
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: Any
    old_vocab_size: int
    backup_initializer: Any
    axis: int


class VocabInfo(_VocabInfo):
    """The words that the rows of a variable are of, now and in a checkpoint (`tf.train.VocabInfo`).

    Attributes:
        new_vocab: the file of the vocabulary, a word in each line.
        new_vocab_size: how many lines of it count.
        num_oov_buckets: the rows after these, for other words.
        old_vocab: the file of the checkpoint's vocabulary.
        old_vocab_size: how many lines of it count; -1: all.
        backup_initializer: of rows that the checkpoint lacks; zeros by default.
        axis: 0 for rows, 1 for columns.
    """

    __slots__ = ()

    def __new__(
        cls,
        new_vocab: Any,
        new_vocab_size: int,
        num_oov_buckets: int,
        old_vocab: Any,
        old_vocab_size: int = -1,
        backup_initializer: Any = None,
        axis: int = 0,
    ) -> VocabInfo:
        if axis not in (0, 1):
            raise ValueError(
                f"The only supported values for the axis argument are 0 and 1.  Provided axis: {axis}"
            )
        return super().__new__(
            cls,
            new_vocab,
            new_vocab_size,
            num_oov_buckets,
            old_vocab,
            old_vocab_size,
            backup_initializer,
            axis,
        )


def warm_start(
    ckpt_to_initialize_from: Any,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """Has initializers give variables what a checkpoint has (`tf.train.warm_start`).

    Args:
        ckpt_to_initialize_from: the checkpoint, or a directory, whose newest one is taken.
        vars_to_warm_start: a regular expression of names, of trainable variables; a list of them, of all
            variables; a list of variables; or None for those alone that have a vocabulary.
        var_name_to_vocab_info: the vocabularies of variables whose rows or columns are of words.
        var_name_to_prev_var_name: the names in the checkpoint of variables that have others there.

    Raises:
        ValueError: something is said about a variable that is not among them, or the checkpoint lacks one.
    """
    infos, names = dict(var_name_to_vocab_info or {}), dict(var_name_to_prev_var_name or {})
    logging.info("Warm-starting from: %s", ckpt_to_initialize_from)
    path = checkpoint_path(ckpt_to_initialize_from)
    without: dict[str, Any] = {}
    by_vocabulary = 0
    for name, parts in _grouped(vars_to_warm_start).items():
        previous = names.pop(name, None) or name
        if (info := infos.pop(name, None)) is not None:
            by_vocabulary += 1
            _remap(parts, info, path, previous)
        elif vars_to_warm_start:
            without[previous] = parts if len(parts) > 1 or _is_part(parts[0]) else parts[0]
    init_from_checkpoint(path, without)
    for argument, unused in (("var_name_to_vocab_info", infos), ("var_name_to_prev_var_name", names)):
        if unused:
            raise ValueError(
                f"You provided the following keys in {argument}, which were not used: {sorted(unused)}. "
                "Perhaps you misspelled them?  Here is the list of viable variable names: "
                f"{sorted(_grouped(vars_to_warm_start))}"
            )
    count = len(without) + by_vocabulary
    logging.info("Warm-started %d variables, %d of them by vocabularies", count, by_vocabulary)


def _is_part(variable: Any) -> bool:
    return variable._get_save_slice_info() is not None


def _grouped(wanted: Any) -> dict[str, list[Any]]:
    """Variables by their names; the parts of a partitioned one by that of the whole, in their order."""
    grouped: dict[str, list[Any]] = {}
    for variable in _listed(wanted):
        parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
        for part in parts:
            info = part._get_save_slice_info()
            name = part.op.name if info is None else info.full_name
            grouped.setdefault(name, []).append(part)
    for parts in grouped.values():
        parts.sort(key=lambda part: _offsets(part))
    return grouped


def _offsets(part: Any) -> list[int]:
    info = part._get_save_slice_info()
    return [] if info is None else list(info.var_offset)


def _listed(wanted: Any) -> Iterable[Any]:
    if isinstance(wanted, str) or wanted is None:
        return framework.get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=wanted)
    if not isinstance(wanted, list):
        raise ValueError(f"`vars_to_warm_start must be a `list` or `str`.  Given type is {type(wanted)}")
    if all(isinstance(each, str) for each in wanted):
        found: dict[int, Any] = {}
        for pattern in wanted:
            found |= {id(v): v for v in framework.get_collection(GraphKeys.GLOBAL_VARIABLES, scope=pattern)}
        return found.values()
    if all(isinstance(each, (Variable, PartitionedVariable)) for each in wanted):
        return wanted
    raise ValueError(
        "If `vars_to_warm_start` is a list, it must be all `Variable` or all `str`. "
        f"Given types are {[type(each) for each in wanted]}."
    )


def _remap(parts: list[Any], vocabulary: VocabInfo, path: str, tensor_name: str) -> None:
    """Has the parts of a variable initialized with the rows, or columns, that their words have."""
    whole = [sum(part.shape.as_list()[0] for part in parts), parts[0].shape.as_list()[1]]
    by_rows = vocabulary.axis == 0
    for part in parts:
        info = part._get_save_slice_info()
        initializer = load_and_remap_matrix_initializer(
            path,
            tensor_name,
            new_row_vocab_size=vocabulary.new_vocab_size if by_rows else whole[0],
            new_col_vocab_size=whole[1] if by_rows else vocabulary.new_vocab_size,
            old_row_vocab_size=vocabulary.old_vocab_size if by_rows else -1,
            old_row_vocab_file=vocabulary.old_vocab if by_rows else None,
            new_row_vocab_file=vocabulary.new_vocab if by_rows else None,
            old_col_vocab_file=None if by_rows else vocabulary.old_vocab,
            new_col_vocab_file=None if by_rows else vocabulary.new_vocab,
            num_row_oov_buckets=vocabulary.num_oov_buckets if by_rows else 0,
            num_col_oov_buckets=0 if by_rows else vocabulary.num_oov_buckets,
            initializer=vocabulary.backup_initializer,
        )
        place = None if info is None else PartitionInfo(info.full_shape, info.var_offset)
        graph = get_default_graph()
        with graph.device(part.device), graph.device("/cpu:0"):
            set_initializer(part, initializer(part.shape.as_list(), partition_info=place))
