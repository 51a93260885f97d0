"""Writes `saved_model.pb`, or `saved_model.pbtxt`."""

from __future__ import annotations

import os

from tensorfleet.checkpoint import files
from tensorfleet.proto.saved_model_pb2 import SavedModel
from tensorfleet.saved_model import constants


def write(saved_model: SavedModel, directory: str, as_text: bool) -> str:
    """Writes the message to a directory, which is made if needed, and returns the file's path.

    Raises:
        OpError: the file cannot be written; an older one is unchanged.
    """
    from google.protobuf import text_format

    name = constants.SAVED_MODEL_FILENAME_PBTXT if as_text else constants.SAVED_MODEL_FILENAME_PB
    path = os.path.join(directory, name)
    content = (
        text_format.MessageToString(saved_model).encode() if as_text else saved_model.SerializeToString()
    )
    with files.reported(path):
        os.makedirs(directory, exist_ok=True)
        files.replace_file(path, content)
    return path
