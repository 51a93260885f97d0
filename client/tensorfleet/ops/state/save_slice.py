"""Variables that are slices of larger tensors in checkpoints, and their messages."""

from __future__ import annotations

from typing import Any

from tensorfleet.graph.scopes import prepend_scope, strip_scope
from tensorfleet.proto import variable_pb2


class SaveSliceInfo:
    """The slice of a larger tensor that a variable holds, for checkpoints (`tf.Variable.SaveSliceInfo`)."""

    def __init__(
        self,
        full_name: str | None = None,
        full_shape: Any = None,
        var_offset: Any = None,
        var_shape: Any = None,
        save_slice_info_def: variable_pb2.SaveSliceInfoDef | None = None,
        import_scope: str | None = None,
    ) -> None:
        if save_slice_info_def is not None:
            self.full_name: str | None = prepend_scope(save_slice_info_def.full_name, import_scope)
            self.full_shape = list(save_slice_info_def.full_shape)
            self.var_offset = list(save_slice_info_def.var_offset)
            self.var_shape = list(save_slice_info_def.var_shape)
        else:
            self.full_name = full_name
            self.full_shape, self.var_offset, self.var_shape = full_shape, var_offset, var_shape

    @property
    def spec(self) -> str:
        """The slice in the form of checkpoints: the full shape, and `offset,size` of each dimension."""
        full = " ".join(str(size) for size in self.full_shape) + " "
        parts = [f"{o},{s}" for o, s in zip(self.var_offset, self.var_shape, strict=True)]
        return full + ":".join(parts)

    def to_proto(self, export_scope: str | None = None) -> variable_pb2.SaveSliceInfoDef | None:
        """The message, or None if the variable is not in `export_scope`."""
        name = self.full_name or ""
        if export_scope is not None and not name.startswith(export_scope):
            return None
        return variable_pb2.SaveSliceInfoDef(
            full_name=strip_scope(name, export_scope),
            full_shape=self.full_shape,
            var_offset=self.var_offset,
            var_shape=self.var_shape,
        )
