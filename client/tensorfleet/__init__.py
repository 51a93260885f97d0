"""TensorFlow 1.x's public names, served by a TensorFleet cluster."""
