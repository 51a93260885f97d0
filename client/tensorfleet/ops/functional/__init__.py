"""Functions over the rows of tensors."""
