"""The op types of files, readers and records have no gradient."""

from __future__ import annotations

from tensorfleet.graph.gradient_registry import no_rule, not_differentiable

not_differentiable(
    "DecodePaddedRaw",
    "FixedLengthRecordReader",
    "IdentityReader",
    "ParseTensor",
    "ReaderNumRecordsProduced",
    "ReaderNumWorkUnitsCompleted",
    "ReaderRead",
    "ReaderReadUpTo",
    "ReaderReset",
    "ReaderRestoreState",
    "ReaderSerializeState",
    "SerializeTensor",
    "TFRecordReader",
    "TextLineReader",
    "WholeFileReader",
)
no_rule(
    "DatasetCardinality",
    "DatasetToSingleElement",
    "DecodeCSV",
    "DecodeCompressed",
    "DecodeJSONExample",
    "FixedLengthRecordReaderV2",
    "IdentityReaderV2",
    "MatchingFiles",
    "ParseExample",
    "ParseExampleV2",
    "ParseSequenceExample",
    "ParseSequenceExampleV2",
    "ParseSingleExample",
    "ParseSingleSequenceExample",
    "ReadFile",
    "ReaderNumRecordsProducedV2",
    "ReaderNumWorkUnitsCompletedV2",
    "ReaderReadUpToV2",
    "ReaderReadV2",
    "ReaderResetV2",
    "ReaderRestoreStateV2",
    "ReaderSerializeStateV2",
    "TFRecordReaderV2",
    "TextLineReaderV2",
    "WholeFileReaderV2",
    "WriteFile",
)
