"""Models that begin with what another one has learned: `tf.train.warm_start`, `tf.train.VocabInfo`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorfleet.core import logging
from tensorfleet.core.shapes import TensorShape
from tensorfleet.graph import framework
from tensorfleet.graph.graph import get_default_graph
from tensorfleet.graph.graph_keys import GraphKeys
from tensorfleet.ops.array.indexing import gather
from tensorfleet.ops.array.selection import where_v2
from tensorfleet.ops.array.shaping import reshape
from tensorfleet.ops.array.slicing import slice as slice_of
from tensorfleet.ops.io.checkpoint import restore_v2
from tensorfleet.ops.math.arithmetic import maximum
from tensorfleet.ops.state.initializers import zeros_initializer
from tensorfleet.ops.state.partitioned_variables import PartitionedVariable
from tensorfleet.ops.state.variables import Variable
from tensorfleet.train.checkpoint_reader import CheckpointReader, load_checkpoint
from tensorfleet.train.initializing import checkpoint_path, set_checkpoint_initializer, set_initializer

_ALL = ".*"


class VocabInfo(NamedTuple):
    """The vocabularies of a variable whose rows belong to words (`tf.train.VocabInfo`).

    Attributes:
        new_vocab, new_vocab_size: the file of this model, and how many of its words are used.
        num_oov_buckets: rows behind them, for words that are not in it.
        old_vocab, old_vocab_size: those of the other model; -1: all words of the file.
        backup_initializer: gives values to words that the other one had not; by default zeros.
        axis: the dimension of words.
    """

    new_vocab: str
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: str
    old_vocab_size: int = -1
    backup_initializer: Callable[..., Any] | None = None
    axis: int = 0


def warm_start(
    ckpt_to_initialize_from: Any,
    vars_to_warm_start: Any = _ALL,
    var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """Has initializers give variables what another model has learned (`tf.train.warm_start`).

    Args:
        ckpt_to_initialize_from: a checkpoint, or a directory, whose newest one is taken.
        vars_to_warm_start: a regular expression of names of trainable variables, which ".*" are all of
            them; a list of such expressions for all global variables; or a list of variables; None: only
            those with a VocabInfo.
        var_name_to_vocab_info: the variables whose rows belong to words, and their vocabularies.
        var_name_to_prev_var_name: the names that variables have in the checkpoint, where they differ.

    Raises:
        ValueError: a tensor is not in the checkpoint, or has another shape; or a name in one of the dicts
            is that of no variable.
    """
    vocabularies = dict(var_name_to_vocab_info or {})
    renamed = dict(var_name_to_prev_var_name or {})
    path = checkpoint_path(ckpt_to_initialize_from)
    logging.info("Warm-starting from: %s", path)
    reader = load_checkpoint(path)
    for name, parts in sorted(_grouped(_chosen(vars_to_warm_start, vocabularies)).items()):
        old_name, vocabulary = renamed.pop(name, name), vocabularies.pop(name, None)
        if vocabulary is not None:
            logging.info("Warm-starting variable: %s; current_vocab: %s", name, vocabulary.new_vocab)
            _remap(parts, path, reader, old_name, vocabulary)
        elif not reader.has_tensor(old_name):
            raise ValueError(f"Tensor {old_name} is not found in checkpoint {path}")
        else:
            logging.info("Warm-starting variable: %s; prev_var_name: %s", name, old_name)
            _check_shape(parts, reader, old_name)
            for part in parts:
                set_checkpoint_initializer(part, path, old_name)
    for what, left in (("var_name_to_vocab_info", vocabularies), ("var_name_to_prev_var_name", renamed)):
        if left:
            raise ValueError(
                f"You provided the following in {what}, but no variable to warm-start has such "
                f"a name: {sorted(left)}."
            )


def _chosen(wanted: Any, vocabularies: Mapping[str, Any]) -> list[Any]:
    every = framework.get_collection(GraphKeys.GLOBAL_VARIABLES)
    chosen: list[Any]
    if wanted is None:
        chosen = []
    elif isinstance(wanted, str):
        chosen = framework.get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=wanted)
    elif all(isinstance(item, str) for item in wanted):
        chosen = [
            variable
            for item in wanted
            for variable in framework.get_collection(GraphKeys.GLOBAL_VARIABLES, scope=item)
        ]
    else:
        chosen = [part for item in wanted for part in (item if _has_parts(item) else [item])]
        for item in chosen:
            if not isinstance(item, Variable):
                raise ValueError(f"vars_to_warm_start has to be of names, or of variables; got {item!r}")
    chosen += [variable for variable in every if _full_name(variable) in vocabularies]
    return list({id(variable): variable for variable in chosen}.values())


def _has_parts(item: Any) -> bool:
    return isinstance(item, (list, tuple, PartitionedVariable))


def _full_name(variable: Any) -> str:
    info = variable._get_save_slice_info()
    return str(variable.op.name if info is None else info.full_name)


def _grouped(variables: Sequence[Any]) -> dict[str, list[Any]]:
    """The parts of each variable by its name."""
    found: dict[str, list[Any]] = {}
    for variable in variables:
        found.setdefault(_full_name(variable), []).append(variable)
    return found


def _full_shape(variable: Any) -> list[int]:
    info = variable._get_save_slice_info()
    return list(variable.shape.as_list() if info is None else info.full_shape)


def _check_shape(parts: list[Any], reader: CheckpointReader, name: str) -> None:
    stored, own = reader.get_variable_to_shape_map()[name], _full_shape(parts[0])
    if not TensorShape(own).is_compatible_with(TensorShape(stored)):
        raise ValueError(
            f"Shape of variable {parts[0].name} ({own}) doesn't match with shape of tensor {name} ({stored}) "
            "from checkpoint reader."
        )


def _remap(parts: list[Any], path: str, reader: CheckpointReader, name: str, vocabulary: VocabInfo) -> None:
    """Gives each word the values that it has in the checkpoint, and new words those of the initializer."""
    if not reader.has_tensor(name):
        raise ValueError(f"Tensor {name} is not found in checkpoint {path}")
    if vocabulary.axis not in (0, 1):
        raise NotImplementedError(f"VocabInfo.axis is {vocabulary.axis}: words are along dimension 0 or 1")
    old_rows = _old_rows(vocabulary)
    shape = _full_shape(parts[0])
    if len(old_rows) != shape[vocabulary.axis]:
        raise ValueError(
            f"The variable {name} has {shape[vocabulary.axis]} entries along dimension {vocabulary.axis}, "
            f"but its vocabulary {vocabulary.new_vocab} has {len(old_rows)} with its buckets."
        )
    backup = vocabulary.backup_initializer or zeros_initializer()
    graph = get_default_graph()
    for part in parts:
        info = part._get_save_slice_info()
        with graph.device(part.device), graph.device("/cpu:0"), graph.control_dependencies(None):
            (old,) = restore_v2(path, [name], [""], [part.dtype.base])
            old.set_shape(reader.get_variable_to_shape_map()[name])
            known = gather(old, maximum(old_rows, 0), axis=vocabulary.axis)
            made = backup(shape, dtype=part.dtype.base)
            mask = reshape(old_rows >= 0, [-1 if i == vocabulary.axis else 1 for i in range(len(shape))])
            value = where_v2(mask, known, made)
            if info is not None:
                value = slice_of(value, info.var_offset, info.var_shape)
            value.set_shape(part.shape)
            set_initializer(part, value)


def _old_rows(vocabulary: VocabInfo) -> Any:
    """For each row of the new variable the row of the old one, -1 where it had none."""
    old = {
        word: row
        for row, word in reversed(list(enumerate(_words(vocabulary.old_vocab, vocabulary.old_vocab_size))))
    }
    new = _words(vocabulary.new_vocab, vocabulary.new_vocab_size)
    rows = [old.get(word, -1) for word in new]
    return np.array([*rows, *[-1] * vocabulary.num_oov_buckets], np.int64)


def _words(path: str, count: int) -> list[bytes]:
    with open(os.fsdecode(path), "rb") as file:
        words = file.read().splitlines()
    return words if count < 0 else words[:count]
