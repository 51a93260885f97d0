"""Random graphs over all registered op types give in TensorFleet what they give in TensorFlow."""

from __future__ import annotations

import os
from typing import Any

import pytest

pytest.importorskip("tensorflow")

from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from tensorfleet.graph import op_def
from tests.compat.cluster import Cluster
from tests.compat.op_programs import tables
from tests.compat.random_graphs import programs
from tests.compat.random_graphs.draws import kernel_types
from tests.compat.random_graphs.table import ALONE, GENERATORS, SHAPES_ONLY

pytestmark = [pytest.mark.slow, pytest.mark.cluster]

EXAMPLES = float(os.environ.get("TENSORFLEET_EXAMPLES", "1"))
"""How many times the usual number of examples to try."""

WITHOUT_GENERATOR = {
    "Const": "the source of every other graph",
    "Placeholder": "the source of every other graph",
    "PlaceholderV2": "as Placeholder, and TensorFlow refuses to run it unfed",
    "Variable": "the old form of VariableV2, which every reference test uses",
    "VariableV2": "made for every reference input",
    "VarHandleOp": "made for every resource input",
    "NoOp": "has no inputs and no outputs",
    "Fact": "has no inputs: test_small_names compares it",
    "ControlTrigger": "has no inputs and no outputs",
    "TopK": "TensorFlow's importer takes it no more; its kernel is that of TopKV2",
    "Timestamp": "gives another value each time",
    "PrintV2": "has no outputs: test_tensorflow_client.py looks at what is printed",
    "PyFunc": "names a Python function of its own process",
    "PyFuncStateless": "names a Python function of its own process",
    **dict.fromkeys(
        ("GetSessionHandle", "GetSessionTensor", "DeleteSessionTensor"),
        "of use only over several steps: test_session_handles compares them",
    ),
    **dict.fromkeys(
        ("RaggedTensorToVariant", "RaggedTensorFromVariant", "RaggedTensorToVariantGradient"),
        "of use only together: test_ragged_features compares what datasets make of them",
    ),
    **dict.fromkeys(
        ("SummaryWriter", "CreateSummaryFileWriter", "WriteRawProtoSummary", "WriteGraphSummary"),
        "write files: tests/contrib/test_summary.py looks at them",
    ),
    **dict.fromkeys(
        ("ImportEvent", "FlushSummaryWriter", "CloseSummaryWriter"),
        "write files: tests/contrib/test_summary.py looks at them",
    ),
    "RaggedCross": "its inputs depend on each other: test_ragged_features compares it",
    **dict.fromkeys(
        ("MutexV2", "MutexLock", "ConsumeMutexLock"),
        "of use only over several steps: test_critical_section",
    ),
    **{
        name: reason
        for part, reason in {
            "Collective": "wait for other members: tests of their own compare them",
            "Queue": "of use only over several steps: tests of their own compare them",
            "Accumulator": "of use only over several steps: tests of their own compare them",
            "Dataset": "of use only with an iterator, over several steps: random pipelines compare them",
            "Iterator": "of use only over several steps: random pipelines compare them",
            "Stack": "of use only in the order of pushes and pops: gradients of loops compare them",
            "TensorArray": "of use only in the order of their flow: tests of their own compare them",
            "Summary": "their output is a message, which tests of their own compare by its meaning",
            "FusedBatchNormGrad": "takes the reserved outputs of FusedBatchNorm: gradients' tests compare it",
            "MaxPoolGrad": "takes input and output of MaxPool: gradients' tests compare it",
            "MaxPool3DGrad": "takes input and output of MaxPool3D: gradients' tests compare it",
            "LRNGrad": "takes input and output of LRN: gradients' tests compare it",
        }.items()
        for name in op_def.registered()
        if part in name
    },
    **dict.fromkeys(
        [
            "Switch",
            "Merge",
            "Enter",
            "Exit",
            "NextIteration",
            "LoopCond",
            "RefSwitch",
            "RefMerge",
            "RefEnter",
            "RefExit",
            "RefNextIteration",
        ],
        "have a meaning only together, in conditions and loops: tests of their own compare them",
    ),
    **dict.fromkeys(
        (
            *("SaveV2", "RestoreV2", "MergeV2Checkpoints", "Save", "SaveSlices", "Restore", "RestoreSlice"),
            *("GenerateVocabRemapping", "LoadAndRemapMatrix"),
        ),
        "write and read files: tests of their own compare them",
    ),
    **dict.fromkeys(
        (
            *("PartitionedCall", "StatefulPartitionedCall", "StatelessIf", "If", "StatelessCase", "Case"),
            *("StatelessWhile", "While", "For", "SymbolicGradient", "RemoteCall"),
        ),
        "call functions: the tests of a TensorFlow client run them",
    ),
    **dict.fromkeys(
        (
            *("AdjustContrast", "AdjustContrastv2", "AdjustHue", "AdjustSaturation"),
            *("CombinedNonMaxSuppression", "CropAndResize", "CropAndResizeGradBoxes"),
            *("CropAndResizeGradImage", "DecodeAndCropJpeg", "DecodeBmp", "DecodeGif", "DecodeImage"),
            *("DecodeJpeg", "DecodePng", "DrawBoundingBoxes", "DrawBoundingBoxesV2", "EncodeJpeg"),
            *("EncodeJpegVariableQuality", "EncodePng", "ExtractGlimpse", "ExtractImagePatches"),
            *("ExtractJpegShape", "ExtractVolumePatches", "HSVToRGB", "NonMaxSuppression"),
            *("NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4"),
            *("NonMaxSuppressionV5", "NonMaxSuppressionWithOverlaps", "RGBToHSV", "ResizeArea"),
            *("ResizeBicubic", "ResizeBicubicGrad", "ResizeBilinear", "ResizeBilinearGrad"),
            *("ResizeNearestNeighbor", "ResizeNearestNeighborGrad", "SampleDistortedBoundingBox"),
            *("SampleDistortedBoundingBoxV2",),
        ),
        "compared with TensorFlow's in test_image and test_image_files",
    ),
    **dict.fromkeys(
        (
            *("AllCandidateSampler", "ComputeAccidentalHits", "FixedUnigramCandidateSampler"),
            *("LearnedUnigramCandidateSampler", "LogUniformCandidateSampler"),
            *(
                "ThreadUnsafeUnigramCandidateSampler",
                "UniformCandidateSampler",
            ),
        ),
        "compared with TensorFlow's in test_candidate_sampling",
    ),
    **dict.fromkeys(
        (
            *("DeserializeManySparse", "DeserializeSparse", "SerializeManySparse", "SerializeSparse"),
            *("SparseAdd", "SparseAddGrad", "SparseConcat", "SparseCross", "SparseCrossV2"),
            *("SparseDenseCwiseAdd", "SparseDenseCwiseDiv", "SparseDenseCwiseMul"),
            *("SparseFillEmptyRows", "SparseFillEmptyRowsGrad", "SparseMatMul", "SparseReduceMax"),
            *("SparseReduceMaxSparse", "SparseReduceSum", "SparseReduceSumSparse", "SparseReorder"),
            *("SparseReshape", "SparseSegmentMeanGrad", "SparseSegmentMeanGradV2"),
            *("SparseSegmentSqrtNGrad", "SparseSegmentSqrtNGradV2", "SparseSegmentSumGrad"),
            *("SparseSegmentSumGradV2", "SparseSlice", "SparseSliceGrad", "SparseSoftmax"),
            *("SparseSparseMaximum", "SparseSparseMinimum", "SparseSplit", "SparseTensorDenseAdd"),
            *("SparseTensorDenseMatMul",),
        ),
        "compared with TensorFlow's in test_sparse",
    ),
    **dict.fromkeys(
        (
            *(
                "CTCBeamSearchDecoder",
                "CTCGreedyDecoder",
                "CTCLoss",
                "EditDistance",
            ),
        ),
        "compared with TensorFlow's in test_ctc and test_texts",
    ),
    **dict.fromkeys(
        (
            *("ApproxTopK", "Conv", "Conv2DBackpropFilterV2", "Conv2DBackpropInputV2", "QuantizedReluX"),
            *("FFTND", "IFFTND", "IRFFTND", "RFFTND"),
        ),
        "of which TensorFlow has no kernels on CPUs, or not for all attributes: test_rare_functions",
    ),
    **dict.fromkeys(
        (
            *("DenseToDenseSetOperation", "DenseToSparseSetOperation"),
            *("SetSize", "SparseToSparseSetOperation"),
        ),
        "take SparseTensors: test_sets compares them with TensorFlow's, with random sets as well",
    ),
    **dict.fromkeys(
        (
            *("Fingerprint", "HashTableV2", "InitializeTableFromTextFileV2", "InitializeTableV2"),
            "InitializeTableFromTextFile",
            *("LookupTableExportV2", "LookupTableFindV2", "LookupTableImportV2"),
            *("LookupTableInsertV2", "LookupTableRemoveV2", "LookupTableSizeV2"),
            *("MutableDenseHashTableV2", "MutableHashTableOfTensorsV2", "MutableHashTableV2"),
            *(
                "StringToHashBucket",
                "StringToHashBucketFast",
                "StringToHashBucketStrong",
            ),
        ),
        "compared with TensorFlow's in test_lookup",
    ),
    **dict.fromkeys(
        (
            *("MapClear", "MapIncompleteSize", "MapPeek", "MapSize", "MapStage", "MapUnstage"),
            *("MapUnstageNoKey", "OrderedMapClear", "OrderedMapIncompleteSize", "OrderedMapPeek"),
            *("OrderedMapSize", "OrderedMapStage", "OrderedMapUnstage", "OrderedMapUnstageNoKey"),
            *(
                "Stage",
                "StageClear",
                "StagePeek",
                "StageSize",
                "Unstage",
            ),
        ),
        "compared with TensorFlow's in test_staging",
    ),
    **dict.fromkeys(
        (
            *("DecodeCSV", "DecodeCompressed", "DecodeJSONExample", "DecodePaddedRaw"),
            *("DecodeProtoV2", "EncodeProto"),
            *("FixedLengthRecordReader", "FixedLengthRecordReaderV2", "IdentityReader"),
            *("IdentityReaderV2", "MatchingFiles", "ParseExample", "ParseExampleV2"),
            *("ParseSequenceExample", "ParseSequenceExampleV2", "ParseSingleExample"),
            *("ParseSingleSequenceExample", "ParseTensor", "ReadFile", "ReaderNumRecordsProduced"),
            *("ReaderNumRecordsProducedV2", "ReaderNumWorkUnitsCompleted"),
            *("ReaderNumWorkUnitsCompletedV2", "ReaderRead", "ReaderReadUpTo", "ReaderReadUpToV2"),
            *("ReaderReadV2", "ReaderReset", "ReaderResetV2", "ReaderRestoreState"),
            *("ReaderRestoreStateV2", "ReaderSerializeState", "ReaderSerializeStateV2"),
            *("SerializeTensor", "TFRecordReader", "TFRecordReaderV2", "TextLineReader"),
            *("TextLineReaderV2", "UnicodeDecode", "UnicodeDecodeWithOffsets", "WholeFileReader"),
            *(
                "WholeFileReaderV2",
                "WriteFile",
            ),
        ),
        "compared with TensorFlow's in test_records",
    ),
    **dict.fromkeys(
        (
            *("RegexFullMatch", "StaticRegexFullMatch", "StaticRegexReplace", "StringNGrams"),
            *("StringSplit", "StringSplitV2", "UnicodeEncode", "UnicodeTranscode"),
            *("UnsortedSegmentJoin",),
        ),
        "compared with TensorFlow's in test_texts",
    ),
    **dict.fromkeys(
        (
            *(
                "BatchToSpace",
                "BatchToSpaceND",
                "BesselI0",
                "BesselI0e",
                "BesselI1",
                "BesselI1e",
            ),
            *(
                "BesselJ0",
                "BesselJ1",
                "BesselK0",
                "BesselK0e",
                "BesselK1",
                "BesselK1e",
                "BesselY0",
            ),
            *(
                "BesselY1",
                "Betainc",
                "Bincount",
                "ClipByValue",
                "Cross",
                "CumulativeLogsumexp",
            ),
            *(
                "Dawsn",
                "DenseBincount",
                "Einsum",
                "Expint",
                "FFT",
                "FFT2D",
                "FFT3D",
            ),
            *(
                "FakeQuantWithMinMaxArgs",
                "FakeQuantWithMinMaxArgsGradient",
                "FakeQuantWithMinMaxVars",
            ),
            *(
                "FakeQuantWithMinMaxVarsGradient",
                "FakeQuantWithMinMaxVarsPerChannel",
            ),
            *(
                "FakeQuantWithMinMaxVarsPerChannelGradient",
                "FresnelCos",
                "FresnelSin",
                "IFFT",
            ),
            *(
                "IFFT2D",
                "IFFT3D",
                "IRFFT",
                "IRFFT2D",
                "IRFFT3D",
                "IgammaGradA",
                "LowerBound",
                "Lu",
            ),
            *(
                "MatrixLogarithm",
                "MatrixSquareRoot",
                "RFFT",
                "RFFT2D",
                "RFFT3D",
                "SpaceToBatch",
            ),
            *(
                "SpaceToBatchND",
                "Spence",
                "StatelessRandomUniformFullInt",
            ),
            *(
                "StatelessRandomUniformFullIntV2",
                "UnravelIndex",
                "UpperBound",
            ),
        ),
        "compared with TensorFlow's in tables of test_math_ops, test_array_ops and test_program_functions",
    ),
    **dict.fromkeys(tables.OPS - set(GENERATORS), "compared with TensorFlow's in test_op_programs"),
    "_Arg": "made by the runtime only",
    "_Retval": "made by the runtime only",
    "_Send": "made by the runtime only",
    "_Recv": "made by the runtime only",
    "_HostSend": "made by the runtime only",
    "_ToDevice": "made by the runtime only",
    "_ToHost": "made by the runtime only",
    "_HostRecv": "made by the runtime only",
}

CHAINED = sorted(programs.covered() - ALONE - SHAPES_ONLY)

_SETTINGS = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate),
    print_blob=False,
)


def test_every_op_type_has_a_generator_or_a_reason() -> None:
    registered = set(op_def.registered())
    assert registered - set(GENERATORS) - set(WITHOUT_GENERATOR) == set()
    assert set(GENERATORS) & set(WITHOUT_GENERATOR) == set()
    assert set(WITHOUT_GENERATOR) - registered == set(), "reasons for op types that are not there"


@pytest.mark.parametrize("op", sorted(programs.covered()))
def test_one_node(op: str) -> None:
    """A node of every op type, for all dtypes of TensorFlow's kernels, with right and with wrong inputs."""

    @settings(_SETTINGS, max_examples=int(EXAMPLES * min(30, 8 + len(kernel_types(op)))))
    @given(st.data(), st.integers(0, 4))
    def check(data: Any, faulty: int) -> None:
        program = programs.draw_program(data.draw, [op], faulty == 0)
        programs.compare(program, programs.run_ours(program), programs.run_tensorflow(program))

    check()


@settings(_SETTINGS, max_examples=int(EXAMPLES * 150))
@given(
    data=st.data(), ops=st.lists(st.sampled_from(CHAINED), min_size=3, max_size=10), faulty=st.integers(0, 9)
)
def test_graphs(local: Cluster, data: Any, ops: list[str], faulty: int) -> None:
    """Graphs of several nodes: in process, and over two tasks with each node on a random one."""
    program = programs.draw_program(data.draw, ops, faulty == 0)
    theirs = programs.run_tensorflow(program)
    programs.compare(program, programs.run_ours(program), theirs)
    if not program.refused:
        for node in program.graph.get_operations():
            node._set_device(f"/job:local/task:{data.draw(st.integers(0, 1))}")
        programs.compare(
            program, programs.run_ours(program, local.target("local", data.draw(st.integers(0, 1)))), theirs
        )
