"""`tf.estimator.WarmStartSettings`: what an estimator takes over from another model."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from tensorfleet.saved_model.files import contains_saved_model, variables_prefix
from tensorfleet.train.warm_starting import VocabInfo


class _Fields(NamedTuple):
    ckpt_to_initialize_from: str
    vars_to_warm_start: Any = ".*"
    var_name_to_vocab_info: dict[str, VocabInfo] | None = None
    var_name_to_prev_var_name: dict[str, str] | None = None


class WarmStartSettings(_Fields):
    """What an estimator takes over from another model (`tf.estimator.WarmStartSettings`).

    Args:
        ckpt_to_initialize_from: a checkpoint, or a directory, whose newest one is taken.
        vars_to_warm_start: which variables, as for `tf.train.warm_start`.
        var_name_to_vocab_info: VocabInfos of variables whose rows belong to words.
        var_name_to_prev_var_name: names in the checkpoint, where they differ.

    Raises:
        ValueError: there is no checkpoint to begin with.
    """

    __slots__ = ()

    def __new__(
        cls,
        ckpt_to_initialize_from: Any,
        vars_to_warm_start: Any = ".*",
        var_name_to_vocab_info: dict[str, VocabInfo] | None = None,
        var_name_to_prev_var_name: dict[str, str] | None = None,
    ) -> WarmStartSettings:
        if not ckpt_to_initialize_from:
            raise ValueError("`ckpt_to_initialize_from` MUST be set in WarmStartSettings")
        return super().__new__(
            cls,
            os.fsdecode(ckpt_to_initialize_from),
            vars_to_warm_start,
            var_name_to_vocab_info or {},
            var_name_to_prev_var_name or {},
        )


def settings(warm_start_from: Any) -> WarmStartSettings | None:
    """The settings of an estimator's argument: settings, or the path of a checkpoint or SavedModel.

    Raises:
        ValueError: it is something else.
    """
    if warm_start_from is None or isinstance(warm_start_from, WarmStartSettings):
        return warm_start_from
    if not isinstance(warm_start_from, (str, bytes, os.PathLike)):
        raise ValueError(
            "warm_start_from must be a string or a WarmStartSettings, instead got "
            f"{type(warm_start_from)}: {warm_start_from!r}"
        )
    path = os.fsdecode(warm_start_from)
    if contains_saved_model(path):
        return WarmStartSettings(variables_prefix(path))
    return WarmStartSettings(path)
