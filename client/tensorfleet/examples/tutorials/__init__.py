"""The modules that TensorFlow 1.x kept for its tutorials."""
