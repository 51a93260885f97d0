"""Compiled kernels of TensorFleet's service: loops over float32 arrays, vectorized, on all cores.

Optional: `tensorfleet_service.devices.native` uses it where it is installed, and NumPy where it is not;
`tensorfleet.wire.tls_records` its module for TLS, and Python's ssl.
"""
