"""`tf.contrib.session_bundle.manifest_pb2`: the messages of an export."""

from tensorfleet.proto.session_bundle_pb2 import (
    DESCRIPTOR as DESCRIPTOR,
    AssetFile as AssetFile,
    ClassificationSignature as ClassificationSignature,
    GenericSignature as GenericSignature,
    RegressionSignature as RegressionSignature,
    Signature as Signature,
    Signatures as Signatures,
    TensorBinding as TensorBinding,
)
