"""Datasets on a task: what `tf.data`'s ops describe, and the iterators over them."""
