"""Constants of `tensorflow.python.saved_model` that are in no public namespace."""

from __future__ import annotations

# Tags, and keys of signatures, of graphs that Keras and estimators export for training and evaluation.
EVAL = DEFAULT_EVAL_SIGNATURE_DEF_KEY = "eval"
DEFAULT_TRAIN_SIGNATURE_DEF_KEY = "train"
SUPERVISED_TRAIN_METHOD_NAME = "tensorflow/supervised/training"
SUPERVISED_EVAL_METHOD_NAME = "tensorflow/supervised/eval"

EXTRA_ASSETS_DIRECTORY = "assets.extra"
# Signatures of version 2 that name one operation, and version 1's collection for the training's.
INIT_OP_SIGNATURE_KEY = "__saved_model_init_op"
TRAIN_OP_SIGNATURE_KEY = "__saved_model_train_op"
TRAIN_OP_KEY = "saved_model_train_op"
