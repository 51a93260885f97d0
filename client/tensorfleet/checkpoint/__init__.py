"""The files of checkpoints (TensorBundle V2): pure reading and writing, without graphs and sessions."""
