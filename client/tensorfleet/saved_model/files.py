"""The files of a SavedModel's directory."""

from __future__ import annotations

import os
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from tensorfleet.proto.saved_model_pb2 import SavedModel
from tensorfleet.saved_model import constants


def variables_prefix(export_dir: str) -> str:
    """The prefix of the checkpoint with the model's variables."""
    return os.path.join(export_dir, constants.VARIABLES_DIRECTORY, constants.VARIABLES_FILENAME)


def asset_path(export_dir: str, name: str) -> str:
    """The path of an asset of the model.

    Raises:
        ValueError: `name`, which is from the model, leads out of its directory of assets.
    """
    directory = os.path.join(export_dir, constants.ASSETS_DIRECTORY)
    path = os.path.normpath(os.path.join(directory, name))
    if os.path.commonpath((os.path.abspath(directory), os.path.abspath(path))) != os.path.abspath(directory):
        raise ValueError(f"The SavedModel in {export_dir} names an asset outside of it: {name!r}")
    return path


def maybe_saved_model_directory(export_dir: Any) -> bool:
    """Whether a directory has the file of a SavedModel (`tf.saved_model.maybe_saved_model_directory`)."""
    path = os.fsdecode(export_dir)
    names = (constants.SAVED_MODEL_FILENAME_PB, constants.SAVED_MODEL_FILENAME_PBTXT)
    return any(os.path.isfile(os.path.join(path, name)) for name in names)


def contains_saved_model(export_dir: Any) -> bool:
    """Whether a directory has the file of a SavedModel (`tf.saved_model.contains_saved_model`)."""
    return maybe_saved_model_directory(export_dir)


def read(export_dir: str) -> SavedModel:
    """The message in the directory's `saved_model.pb`, or else in `saved_model.pbtxt`.

    Raises:
        OSError: there is no such file, or it is not a SavedModel.
    """
    binary = os.path.join(export_dir, constants.SAVED_MODEL_FILENAME_PB)
    text = os.path.join(export_dir, constants.SAVED_MODEL_FILENAME_PBTXT)
    try:
        if os.path.isfile(binary):
            path = binary
            with open(binary, "rb") as file:
                return SavedModel.FromString(file.read())
        if os.path.isfile(text):
            path = text
            with open(text, encoding="utf-8") as lines:
                return text_format.Parse(lines.read(), SavedModel())
    except (DecodeError, text_format.ParseError, UnicodeDecodeError) as e:
        raise OSError(f"Cannot parse file {path}: {e}.") from e
    raise OSError(
        f"SavedModel file does not exist at: {export_dir}{os.path.sep}"
        f"{{{constants.SAVED_MODEL_FILENAME_PBTXT}|{constants.SAVED_MODEL_FILENAME_PB}}}"
    )
