"""TensorFleet's server: master, worker, kernels and devices."""
