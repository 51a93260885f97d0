"""Changing the methods of signatures in a written SavedModel."""

from __future__ import annotations

import os
from typing import Any

from tensorfleet.saved_model import files
from tensorfleet.saved_model.writing import write


class MethodNameUpdater:
    """Changes the methods of a SavedModel's signatures
    (`tf.saved_model.signature_def_utils.MethodNameUpdater`).

    Args:
        export_dir: the directory of the model.
    """

    def __init__(self, export_dir: Any) -> None:
        self._export_dir = os.fsdecode(export_dir)
        self._saved_model = files.read(self._export_dir)

    def replace_method_name(self, signature_key: str, method_name: str, tags: Any = None) -> None:
        """Replaces the method of a signature.

        Args:
            signature_key: the signature's key.
            method_name: the new method.
            tags: the tags of the graph; by default every graph with the signature is changed.

        Raises:
            ValueError: an argument is empty, or no graph with these tags has the signature.
        """
        if not signature_key or not method_name:
            raise ValueError("`signature_key` and `method_name` have to be given.")
        wanted = None if not tags else {tags} if isinstance(tags, str) else set(tags)
        graphs = [
            graph
            for graph in self._saved_model.meta_graphs
            if signature_key in graph.signature_def and wanted in (None, set(graph.meta_info_def.tags))
        ]
        if not graphs:
            raise ValueError(
                f"MetaGraphDef associated with tags {tags} and with a signature {signature_key!r} could not "
                "be found in SavedModel"
            )
        for graph in graphs:
            graph.signature_def[signature_key].method_name = method_name

    def save(self, new_export_dir: Any = None) -> None:
        """Writes the changed model to its own directory, or to another one, which is made.

        Only `saved_model.pb` is written, not the variables and assets.

        Raises:
            RuntimeError: the other directory already has a model.
        """
        directory = self._export_dir if new_export_dir is None else os.fsdecode(new_export_dir)
        if new_export_dir is not None and files.maybe_saved_model_directory(directory):
            raise RuntimeError(f"{directory} has a SavedModel already: choose another directory")
        write(self._saved_model, directory, as_text=False)
