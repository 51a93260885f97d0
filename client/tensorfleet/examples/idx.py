"""The files of the MNIST database and this package's sample of them."""

from tensorfleet.records.idx import read_idx, sample_dir

__all__ = ["read_idx", "sample_dir"]
