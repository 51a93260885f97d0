"""The graph of a Saver: the nodes that save and restore, named as TensorFlow names them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorfleet.core.device import canonical_name
from tensorfleet.graph.convert import constant
from tensorfleet.graph.framework import control_dependencies, device, name_scope
from tensorfleet.graph.operation import Operation
from tensorfleet.graph.tensor import Tensor
from tensorfleet.ops.array.identity import identity, placeholder_with_default
from tensorfleet.ops.array.shaping import shape
from tensorfleet.ops.control_flow.control import group, with_dependencies
from tensorfleet.ops.io import checkpoint
from tensorfleet.ops.text.strings import string_join
from tensorfleet.proto.saver_pb2 import SaverDef
from tensorfleet.train.saveables import (
    SaveableObject as Saveable,
    SaveSpec as Spec,
    cpu_of,
    op_list_to_dict,
    validated,
)

Shards = list[tuple[str, list[Saveable]]]


class BaseSaverBuilder:
    """Adds the nodes of a Saver, with one restoring node for each variable, on the variable's task."""

    SaveSpec = Spec
    SaveableObject = Saveable

    def __init__(self, write_version: int = SaverDef.V2) -> None:
        if write_version not in (SaverDef.V1, SaverDef.V2):
            raise ValueError(
                "Checkpoints have format V1 or V2: set write_version to tf.train.SaverDef.V2, or leave it out"
            )
        self._write_version = write_version

    def save_op(self, filename_tensor: Tensor, saveables: Sequence[Saveable]) -> Operation:
        """The operation that saves to the checkpoint `filename_tensor`."""
        specs = [spec for saveable in saveables for spec in saveable.specs]
        write = checkpoint.save_v2 if self._write_version == SaverDef.V2 else checkpoint.save_slices
        return write(
            filename_tensor,
            [spec.name for spec in specs],
            [spec.slice_spec for spec in specs],
            [spec.tensor for spec in specs],
        )

    def restore_op(self, filename_tensor: Tensor, saveable: Saveable, preferred_shard: int) -> list[Tensor]:
        """The tensors of one saveable, read from the checkpoint; `preferred_shard` is ignored."""
        return _restored(filename_tensor, saveable.specs)

    def bulk_restore(
        self,
        filename_tensor: Tensor,
        saveables: Sequence[Saveable],
        preferred_shard: int,
        restore_sequentially: bool,
    ) -> list[Tensor]:
        """The tensors of all saveables, one after the other."""
        tensors: list[Tensor] = []
        for saveable in saveables:
            with device(cpu_of(saveable.device) if saveable.device else None):
                tensors += self.restore_op(filename_tensor, saveable, preferred_shard)
        return tensors

    def build(
        self,
        names_to_saveables: Any,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        filename: str | None = "model",
    ) -> SaverDef:
        """Adds the nodes and returns the message that names them. Arguments are those of `tf.train.Saver`.

        Raises:
            TypeError: `names_to_saveables` is not a list or dict of variables.
            ValueError: an object would be saved twice; sharded checkpoints of format V1.
        """
        if sharded and self._write_version == SaverDef.V1:
            raise ValueError(
                "Sharded checkpoints have format V2: leave write_version at tf.train.SaverDef.V2, or "
                "sharded at False"
            )
        if not isinstance(names_to_saveables, dict):
            names_to_saveables = op_list_to_dict(names_to_saveables)
        saveables = validated(names_to_saveables)
        with name_scope(name, "save", [saveable.op for saveable in saveables]):
            default = placeholder_with_default(filename or "model", shape=(), name="filename")
            filename_tensor = placeholder_with_default(default, shape=(), name="Const")
            if sharded:
                shards = _by_device(saveables)
                save = self._sharded_save(filename_tensor, shards)
                restore = self._sharded_restore(filename_tensor, shards, restore_sequentially, reshape)
            else:
                save = self._save(filename_tensor, saveables)
                restore = self._restore(filename_tensor, saveables, restore_sequentially, reshape)
        return SaverDef(
            filename_tensor_name=filename_tensor.name,
            save_tensor_name=save.name,
            restore_op_name=restore.name,
            max_to_keep=max_to_keep or 0,
            sharded=sharded,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            version=self._write_version,  # type: ignore[arg-type]
        )

    def _save(self, filename_tensor: Tensor, saveables: Sequence[Saveable]) -> Tensor:
        save = self.save_op(filename_tensor, saveables)
        return with_dependencies([save], filename_tensor)

    def _sharded_save(self, filename_tensor: Tensor, shards: Shards) -> Tensor:
        with device("CPU"):
            parts = string_join([filename_tensor, constant("_temp/part")])
        count = constant(len(shards), name="num_shards")
        prefixes, saved = [], []
        for shard, (place, saveables) in enumerate(shards):
            with device(cpu_of(place)):
                prefix = checkpoint.sharded_filename(parts, shard, count)
                prefixes.append(prefix)
                saved.append(self._save(prefix, saveables))
        with control_dependencies([tensor.op for tensor in saved]), device(cpu_of(shards[-1][0])):
            merge = checkpoint.merge_v2_checkpoints(prefixes, filename_tensor)
            with control_dependencies([merge]):
                saved_to: Tensor = identity(filename_tensor)
        return saved_to

    def _restore(
        self,
        filename_tensor: Tensor,
        saveables: Sequence[Saveable],
        restore_sequentially: bool,
        reshape: bool,
        preferred_shard: int = -1,
        name: str = "restore_all",
    ) -> Operation:
        tensors = self.bulk_restore(filename_tensor, saveables, preferred_shard, restore_sequentially)
        assignments = []
        start = 0
        for saveable in saveables:
            end = start + len(saveable.specs)
            shapes = [_shape_of(spec.tensor) for spec in saveable.specs] if reshape else None
            assignments.append(saveable.restore(tensors[start:end], shapes))
            start = end
        return group(*assignments, name=name)

    def _sharded_restore(
        self, filename_tensor: Tensor, shards: Shards, restore_sequentially: bool, reshape: bool
    ) -> Operation:
        restored = []
        for shard, (place, saveables) in enumerate(shards):
            with device(place):
                restored.append(
                    self._restore(
                        filename_tensor, saveables, restore_sequentially, reshape, shard, "restore_shard"
                    )
                )
        return group(*restored, name="restore_all")


class BulkSaverBuilder(BaseSaverBuilder):
    """Adds the nodes of a Saver, with one restoring node for all variables of a shard, on a CPU."""

    def bulk_restore(
        self,
        filename_tensor: Tensor,
        saveables: Sequence[Saveable],
        preferred_shard: int,
        restore_sequentially: bool,
    ) -> list[Tensor]:
        """The tensors of all saveables, one after the other."""
        with device("cpu:0"):
            return _restored(filename_tensor, [spec for saveable in saveables for spec in saveable.specs])


def _restored(filename_tensor: Tensor, specs: Sequence[Spec]) -> list[Tensor]:
    return checkpoint.restore_v2(
        filename_tensor,
        [spec.name for spec in specs],
        [spec.slice_spec for spec in specs],
        [spec.dtype for spec in specs],
    )


def _shape_of(tensor: Tensor) -> Any:
    return tensor.shape.as_list() if tensor.shape.is_fully_defined() else shape(tensor)


def _by_device(saveables: Sequence[Saveable]) -> Shards:
    """The saveables of each device, sorted by the device's name."""
    shards: dict[str, list[Saveable]] = {}
    for saveable in saveables:
        places = {canonical_name(spec.device) for spec in saveable.specs}
        if len(places) != 1:
            raise ValueError(f"All tensors of a saveable object must be on the same device: {saveable.name}")
        shards.setdefault(places.pop(), []).append(saveable)
    return sorted(shards.items(), key=lambda shard: shard[0])
