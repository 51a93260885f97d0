"""`tf.data`: datasets, the transformations of datasets, and iterators over them."""

from tensorfleet.data import dataset, experimental, iterator, options

__all__ = ["dataset", "experimental", "iterator", "options"]
