"""The ops of readers, by resource and, in their older forms, by reference; and the ops of whole files."""

from __future__ import annotations

from tensorfleet.core.dims import Dims
from tensorfleet.graph.op_def import op
from tensorfleet.graph.rules import RuleNode
from tensorfleet.ops.shape_rules import scalar, with_rank, with_rank_at_most

_PLACE = ('container: string = ""', 'shared_name: string = ""')


def _pair(op: RuleNode) -> list[Dims]:
    return [(2,)]


def _handles(op: RuleNode, count: int) -> None:
    """Raises ValueError if one of the first `count` inputs cannot be a handle."""
    for tensor in op.inputs[:count]:
        with_rank(tensor.dims, 1 if tensor.dtype.is_ref else 0)


def _one_record(op: RuleNode) -> list[Dims]:
    _handles(op, 2)
    return [(), ()]


def _records(op: RuleNode) -> list[Dims]:
    _handles(op, 2)
    with_rank(op.inputs[2].dims, 0)
    return [(None,), (None,)]


def _of_reader(op: RuleNode) -> list[Dims]:
    _handles(op, 1)
    return [()] * len(op.outputs)


def _restored(op: RuleNode) -> list[Dims]:
    _handles(op, 1)
    with_rank(op.inputs[1].dims, 0)
    return []


for _suffix, _handle, _rule in (("V2", "resource", scalar), ("", "Ref(string)", _pair)):
    _by_resource = _suffix == "V2"
    for _kind, _attrs in (
        ("TFRecordReader", (*_PLACE, 'compression_type: string = ""')),
        ("TextLineReader", ("skip_header_lines: int = 0", *_PLACE)),
        (
            "FixedLengthRecordReader",
            (
                *(
                    "header_bytes: int = 0",
                    "record_bytes: int",
                    "footer_bytes: int = 0",
                    "hop_bytes: int = 0",
                ),
                *_PLACE,
                *(['encoding: string = ""'] * _by_resource),
            ),
        ),
        ("WholeFileReader", _PLACE),
        ("IdentityReader", _PLACE),
    ):
        op(f"{_kind}{_suffix}() -> (reader_handle: {_handle})", *_attrs, shape=_rule, stateful=True)
    _reader = f"reader_handle: {_handle}"
    _queue = f"queue_handle: {_handle}"
    # The older forms are not declared stateful, as they take a reference.
    for _name, _inputs, _outputs, _shape in (
        ("ReaderRead", f"{_reader}, {_queue}", "key: string, value: string", _one_record),
        (
            "ReaderReadUpTo",
            f"{_reader}, {_queue}, num_records: int64",
            "keys: string, values: string",
            _records,
        ),
        ("ReaderNumRecordsProduced", _reader, "records_produced: int64", _of_reader),
        ("ReaderNumWorkUnitsCompleted", _reader, "units_completed: int64", _of_reader),
        ("ReaderSerializeState", _reader, "state: string", _of_reader),
        ("ReaderRestoreState", f"{_reader}, state: string", "", _restored),
        ("ReaderReset", _reader, "", _of_reader),
    ):
        op(f"{_name}{_suffix}({_inputs}) -> ({_outputs})", shape=_shape, stateful=_by_resource)


def _read_file(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 0)
    return [()]


def _write_file(op: RuleNode) -> list[Dims]:
    with_rank(op.inputs[0].dims, 0)
    with_rank(op.inputs[1].dims, 0)
    return []


def _matching_files(op: RuleNode) -> list[Dims]:
    with_rank_at_most(op.inputs[0].dims, 1)
    return [(None,)]


op("ReadFile(filename: string) -> (contents: string)", shape=_read_file)
op("WriteFile(filename: string, contents: string) -> ()", shape=_write_file, stateful=True)
op("MatchingFiles(pattern: string) -> (filenames: string)", shape=_matching_files)
