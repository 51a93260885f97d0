"""TensorFleet's server: master, worker, kernels and devices."""

import os

# gRPC would write a line for each handshake that fails, so that strangers could fill the log. It reads this
# when it is imported.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
