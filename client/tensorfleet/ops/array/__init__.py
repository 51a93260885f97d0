"""Making, casting, reshaping, joining and selecting from tensors."""
