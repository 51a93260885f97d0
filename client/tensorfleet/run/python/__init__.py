"""TensorFlow's internal modules that programs import and no public namespace stands for."""
