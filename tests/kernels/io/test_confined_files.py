"""Every op that opens a file does so by its task's `Files`: none gets at what the settings do not name."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorfleet as tf
import tensorfleet_service
from tensorfleet.core import dtypes, errors
from tensorfleet.graph.graph import lookup_op
from tensorfleet_service.kernels.registry import registered
from tensorfleet_service.local_cluster import LocalCluster
from tensorfleet_service.state.files import ConfinedFiles
from tensorfleet_service.state.resources import Resources
from tensorfleet_service.state.tables import StaticTable
from tests.kernels.harness import run_op

PACKAGE = Path(tensorfleet_service.__file__).parent

ALLOWED, OUTSIDE = "allowed", "outside"


def strings(*items: bytes) -> np.ndarray[Any, Any]:
    return np.array(items, object)


def save(path: bytes, resources: Resources) -> None:
    run_op("SaveV2", path, strings(b"x"), strings(b""), [np.float32(1)], resources=resources)


def restore(path: bytes, resources: Resources) -> None:
    names = strings(b"x"), strings(b"")
    run_op("RestoreV2", path, *names, dtypes=[dtypes.float32], resources=resources)


def save_first(path: bytes, resources: Resources, *specs: Any) -> None:
    run_op(
        "SaveSlices" if specs else "Save", path, strings(b"x"), *specs, [np.float32(1)], resources=resources
    )


def save_slices(path: bytes, resources: Resources) -> None:
    save_first(path, resources, strings(b""))


def restore_first(path: bytes, resources: Resources, *spec: Any) -> None:
    op = "RestoreSlice" if spec else "Restore"
    inputs = path + b".data-00000-of-00001", b"x", *spec
    with pytest.raises((errors.PermissionDeniedError, errors.DataLossError)) as caught:
        run_op(op, *inputs, dt=dtypes.float32, resources=resources)
    if isinstance(caught.value, errors.PermissionDeniedError):
        raise caught.value  # else what lies there is no checkpoint of this format


def restore_slice(path: bytes, resources: Resources) -> None:
    restore_first(path, resources, b"")


def merge(path: bytes, resources: Resources) -> None:
    run_op("MergeV2Checkpoints", strings(path), path + b"-merged", resources=resources)


def print_to(path: bytes, resources: Resources) -> None:
    run_op("PrintV2", b"text", output_stream=b"file://" + path, resources=resources)


def fill_table(path: bytes, resources: Resources, op: str = "InitializeTableFromTextFileV2") -> None:
    table = StaticTable("words", dtypes.int64, dtypes.int64)
    run_op(op, table, path + b".index", key_index=-1, value_index=-1, resources=resources)


def fill_table_by_reference(path: bytes, resources: Resources) -> None:
    fill_table(path, resources, "InitializeTableFromTextFile")


def draw(path: bytes, resources: Resources) -> None:
    sizes = {"num_true": 1, "num_sampled": 1, "unique": True, "range_max": 1}
    inputs = {"vocab_file": path + b".index", **sizes}
    with pytest.raises((errors.PermissionDeniedError, errors.InvalidArgumentError)) as caught:
        run_op("FixedUnigramCandidateSampler", np.zeros((1, 1), np.int64), resources=resources, **inputs)
    if isinstance(caught.value, errors.PermissionDeniedError):
        raise caught.value
    assert "vocabulary format" in caught.value.message  # what lies there is a checkpoint


def read(path: bytes, resources: Resources) -> None:
    run_op("ReadFile", path + b".index", resources=resources)


def write(path: bytes, resources: Resources) -> None:
    run_op("WriteFile", path + b"-written", b"text", resources=resources)


def match(path: bytes, resources: Resources) -> None:
    assert len(run_op("MatchingFiles", path + b".ind?x", resources=resources)) == 1


def remap(path: bytes, resources: Resources) -> None:
    sizes = {"new_vocab_offset": 0, "num_new_vocab": 0}
    run_op("GenerateVocabRemapping", path + b".index", path + b".index", **sizes, resources=resources)


def load_matrix(path: bytes, resources: Resources) -> None:
    remappings = np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32)
    with pytest.raises((errors.PermissionDeniedError, errors.InvalidArgumentError)) as caught:
        run_op("LoadAndRemapMatrix", path, b"x", *remappings, num_rows=1, num_cols=1, resources=resources)
    if isinstance(caught.value, errors.PermissionDeniedError):
        raise caught.value
    assert "must be a matrix" in caught.value.message  # there is a number


def write_events(path: bytes, resources: Resources) -> None:
    writer = run_op("SummaryWriter", shared_name=path, container=b"", resources=resources)
    parameters = path, np.int32(10), np.int32(100), b""
    run_op("CreateSummaryFileWriter", writer, *parameters, resources=resources)


def find_type(path: bytes, resources: Resources) -> None:
    decoded = {"message_type": b"p.M", "field_names": [b"x"], "output_types": [dtypes.int64]}
    with pytest.raises((errors.PermissionDeniedError, errors.InvalidArgumentError)) as caught:
        run_op(
            "DecodeProtoV2", strings(b""), descriptor_source=path + b".index", resources=resources, **decoded
        )
    if isinstance(caught.value, errors.PermissionDeniedError):
        raise caught.value
    assert "file descriptor set" in caught.value.message  # what lies there is a checkpoint


def find_type_to_write(path: bytes, resources: Resources) -> None:
    encoded = {"message_type": b"p.M", "field_names": [b"x"]}
    inputs = np.ones((1, 1), np.int32), [np.ones((1, 1), np.int32)]
    with pytest.raises((errors.PermissionDeniedError, errors.InvalidArgumentError)) as caught:
        run_op("EncodeProto", *inputs, descriptor_source=path + b".index", resources=resources, **encoded)
    if isinstance(caught.value, errors.PermissionDeniedError):
        raise caught.value
    assert "file descriptor set" in caught.value.message


USES = {
    "DecodeProtoV2": find_type,
    "EncodeProto": find_type_to_write,
    "CreateSummaryFileWriter": write_events,
    "GenerateVocabRemapping": remap,
    "LoadAndRemapMatrix": load_matrix,
    "ReadFile": read,
    "WriteFile": write,
    "MatchingFiles": match,
    "SaveV2": save,
    "RestoreV2": restore,
    "Save": save_first,
    "SaveSlices": save_slices,
    "Restore": restore_first,
    "RestoreSlice": restore_slice,
    "MergeV2Checkpoints": merge,
    "PrintV2": print_to,
    "InitializeTableFromTextFileV2": fill_table,
    "InitializeTableFromTextFile": fill_table_by_reference,
    "FixedUnigramCandidateSampler": draw,
}
"""What opens files, and how each is run with a path: those that read find a checkpoint there."""

PURE = {
    *("CTCBeamSearchDecoder", "ShardedFilename", "ShardedFilespec", "Snapshot", "TensorSliceDataset"),
    *(
        "SummaryWriter",
        "WriteRawProtoSummary",
        "WriteGraphSummary",
        "FlushSummaryWriter",
        "CloseSummaryWriter",
    ),
}
"""What has a name like those, but opens none."""

_NAMES = re.compile(
    r"File|Record|Reader|Checkpoint|Save|Restore|Write(?!V)|SummaryDb|PrintV2|Sdca|Textline|TextLine|Lmdb|Cache"
    r"|Snapshot|Dump|Debug|DecodeProto|EncodeProto|LoadAnd|Warmstart|Vocab|Directory|Socket|Rpc|Pubsub|Kafka|Shell|PyFunc"
)


@pytest.mark.parametrize("op_type", USES)
def test_an_op_gets_at_no_file_elsewhere(op_type: str, tmp_path: Path) -> None:
    allowed, outside = tmp_path / ALLOWED, tmp_path / OUTSIDE
    everything = Resources(files=ConfinedFiles([], [str(tmp_path)]))
    for directory in (allowed, outside):
        directory.mkdir()
        save(os.fsencode(directory / "model"), everything)
    (allowed / "link").symlink_to(outside)
    before = {path: path.read_bytes() for path in outside.iterdir()}
    confined = Resources(files=ConfinedFiles([], [str(allowed)]))
    for path in (outside / "model", allowed / "link" / "model", allowed / ".." / OUTSIDE / "model"):
        with pytest.raises(errors.PermissionDeniedError, match=r"TENSORFLEET_(READ|WRITE)_PATHS") as caught:
            USES[op_type](os.fsencode(path), confined)
        assert str(path.parent) in caught.value.message
    assert {path: path.read_bytes() for path in outside.iterdir()} == before
    USES[op_type](os.fsencode(allowed / "model"), confined)


@pytest.mark.parametrize("op_type", USES)
def test_a_path_may_be_no_text(op_type: str, tmp_path: Path) -> None:
    """It is bytes to the system; what is nowhere found is an error of its caller."""
    folder = tmp_path / ALLOWED
    folder.mkdir()
    resources = Resources(files=ConfinedFiles([], [str(folder)]))
    prefix = os.fsencode(folder) + b"/\xff\xe9"
    if op_type not in ("CreateSummaryFileWriter", "PrintV2"):  # by an attribute, which is text
        save(prefix, resources)
    if op_type == "FixedUnigramCandidateSampler":
        inputs = {"num_true": 1, "num_sampled": 1, "unique": True, "range_max": 1, "vocab_file": prefix}
        with pytest.raises(errors.InvalidArgumentError, match="not valid text"):
            run_op(op_type, np.zeros((1, 1), np.int64), resources=resources, **inputs)
        return
    with contextlib.suppress(errors.NotFoundError, errors.InvalidArgumentError):
        USES[op_type](prefix, resources)


def test_all_ops_of_files_are_known() -> None:
    """An op type with a name like those is in USES, or does nothing to files."""
    here = {"PyFunc", "PyFuncStateless", "DebugGradientIdentity", "DebugGradientRefIdentity", "CacheDataset"}
    named = {op_type for op_type in registered() if _NAMES.search(op_type) or _takes_a_path(op_type)}
    assert named - here - PURE == set(USES) | {op_type for op_type in named if _READS_LATER.match(op_type)}


# Readers and datasets open files when they are asked for records, or by threads of their own.
_READS_LATER = re.compile(
    r"(TFRecord|TextLine|FixedLengthRecord|WholeFile|Identity)(Reader|Dataset)(V2)?$"
    r"|Reader(NumRecordsProduced|NumWorkUnitsCompleted|Read|ReadUpTo|Reset|RestoreState|SerializeState)(V2)?$"
    r"|(Experimental)?CSVDataset(V2)?$|(Experimental)?SqlDataset$|MatchingFilesDataset$|DatasetToTFRecord$"
)


def _next(dataset: Any) -> Any:
    return dataset.make_one_shot_iterator().get_next()


def _record(reader: Any, path: str) -> Any:
    queue = tf.FIFOQueue(1, tf.string, [[]])
    with tf.control_dependencies([queue.enqueue(path)]):
        return reader.read(queue)


RECORDS = {
    "TFRecordReader": lambda path: _record(tf.TFRecordReader(), path),
    "TextLineReader": lambda path: _record(tf.TextLineReader(), path),
    "FixedLengthRecordReader": lambda path: _record(tf.FixedLengthRecordReader(1), path),
    "WholeFileReader": lambda path: _record(tf.WholeFileReader(), path),
    "TFRecordDataset": lambda path: _next(tf.data.TFRecordDataset(path)),
    "TextLineDataset": lambda path: _next(tf.data.TextLineDataset(path)),
    "FixedLengthRecordDataset": lambda path: _next(tf.data.FixedLengthRecordDataset(path, 1)),
    "CsvDataset": lambda path: _next(tf.data.experimental.CsvDataset(path, [tf.string])),
    "SqlDataset": lambda path: _next(
        tf.data.experimental.SqlDataset("sqlite", path + ".db", "SELECT x FROM t", tf.int64)
    ),
    "list_files": lambda path: _next(tf.data.Dataset.list_files(path + "*")),
}


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A task that may read one directory, and where that is."""
    folder = tmp_path_factory.mktemp("files")
    for name in (ALLOWED, OUTSIDE):
        (folder / name).mkdir()
        with tf.io.TFRecordWriter(folder / name / "records") as writer:
            writer.write(b"text")
        with contextlib.closing(sqlite3.connect(folder / name / "records.db")) as database:
            database.executescript("CREATE TABLE t(x); INSERT INTO t VALUES (1);")
    (folder / ALLOWED / "link").symlink_to(folder / OUTSIDE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TENSORFLEET_READ_PATHS", str(folder / ALLOWED))
        patch.setenv("TENSORFLEET_WRITE_PATHS", "none")
        with LocalCluster({"worker": 1}) as cluster:
            yield cluster.target, folder


@pytest.mark.parametrize("kind", RECORDS)
def test_no_record_is_read_elsewhere(kind: str, task: tuple[str, Path]) -> None:
    target, folder = task
    for path in (folder / OUTSIDE / "records", folder / ALLOWED / "link" / "records"):
        refused = pytest.raises(tf.errors.PermissionDeniedError, match="TENSORFLEET_READ_PATHS")
        with tf.Graph().as_default(), tf.Session(target) as session, refused:
            session.run(RECORDS[kind](str(path)))
    with tf.Graph().as_default(), tf.Session(target) as session:
        session.run(RECORDS[kind](str(folder / ALLOWED / "records")))


def _takes_a_path(op_type: str) -> bool:
    try:
        opdef = lookup_op(op_type)
    except errors.NotFoundError:
        return False  # inside of the executor only
    names = [*(arg.name for arg in opdef.inputs), *opdef.attrs]
    return any(re.search(r"file|path|director|prefix(?!es_|_sum)|output_stream", name) for name in names)


# What opens files, and where it may stand: ways to files themselves, and what is the task's own business.
_OPENERS = re.compile(
    r"(io\.|os\.|builtins\.|codecs\.|gzip\.|bz2\.|lzma\.|zipfile\.|tarfile\.)?(f?d?open)"
    r"|os\.(listdir|scandir|walk|stat|mkdir|makedirs|remove|unlink|rename|replace|rmdir|symlink|link|chmod)"
    r"|(glob|shutil|tempfile|subprocess|socket|urllib|requests|mmap)\..*|Path|GFile"
    r"|(np|numpy|xp)\.(load|save|savez|fromfile|memmap|loadtxt|genfromtxt|savetxt)|.*\.tofile"
)
_ROOMS = ("kernels", "data", "state", "executor", "graph", "master", "worker")
_WAYS = {"state/files.py"}


def calls() -> Iterator[tuple[str, int, str]]:
    """(file, line, what) of the calls in the rooms that clients' graphs run in."""
    for room in _ROOMS:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call):
                    yield path.relative_to(PACKAGE).as_posix(), node.lineno, ast.unparse(node.func)


def test_no_kernel_opens_files_by_itself() -> None:
    found = [
        f"{file}:{line}: {what}"
        for file, line, what in calls()
        if _OPENERS.fullmatch(what) and file not in _WAYS and not what.startswith("self.")
    ]
    assert not found, "these open files past node.resources.files"


def test_the_search_for_openers_finds_them() -> None:
    text = (PACKAGE / "state" / "files.py").read_text()
    names = [ast.unparse(node.func) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    assert any(map(_OPENERS.fullmatch, names))


def test_no_record_is_written_elsewhere(task: tuple[str, Path]) -> None:
    target, folder = task
    path = folder / OUTSIDE / "records"
    before = path.read_bytes()
    with tf.Graph().as_default(), tf.Session(target) as session:
        texts = tf.data.Dataset.from_tensors("other text")
        write = tf.data.experimental.TFRecordWriter(str(path)).write(texts)
        with pytest.raises(tf.errors.PermissionDeniedError, match="TENSORFLEET_WRITE_PATHS"):
            session.run(write)
    assert path.read_bytes() == before
