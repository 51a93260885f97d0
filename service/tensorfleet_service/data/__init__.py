"""Datasets on a task, as `tf.data`'s ops describe them, and the iterators over them."""
