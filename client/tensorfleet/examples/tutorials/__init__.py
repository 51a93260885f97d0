"""The modules of TensorFlow 1.x's tutorials."""
