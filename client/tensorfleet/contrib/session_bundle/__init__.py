"""`tf.contrib.session_bundle`: models as they were served before there were SavedModels."""

from tensorfleet.contrib.session_bundle import (
    constants as constants,
    exporter as exporter,
    gc as gc,
    manifest_pb2 as manifest_pb2,
)
