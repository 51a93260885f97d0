"""Kernels of `tensorfleet.ops.data_flow.lookup`: tables, and their initialization from files."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tensorfleet.checkpoint.files import reported
from tensorfleet.core import dtypes, errors
from tensorfleet.core.dtypes import DType
from tensorfleet.core.files import Files, path_of
from tensorfleet.core.long_texts import excerpt
from tensorfleet_service.kernels.registry import Kernel, KernelNode, kernel
from tensorfleet_service.kernels.values import array_kernel, check_handle, invalid
from tensorfleet_service.state.tables import KEY_TYPES, VALUE_TYPES, DenseTable, StaticTable, Table

TABLE = "table"
"""The kind of tables among a task's resources."""

_private = itertools.count()

_WHOLE_LINE, _LINE_NUMBER = -2, -1


def _name(node: KernelNode) -> str:
    """The name by which others share the table; "" for one that is its node's own."""
    shared: str = node.attrs["shared_name"].decode()
    return shared or (node.name if node.attrs["use_node_name_sharing"] else "")


def _check_dtypes(node: KernelNode) -> tuple[DType, DType]:
    key, value = node.attrs["key_dtype"], node.attrs["value_dtype"]
    if key not in KEY_TYPES or value not in VALUE_TYPES:
        raise invalid(
            f"No OpKernel was registered to support Op '{node.op}' with key_dtype={key.name}, "
            f"value_dtype={value.name}. Keys are {', '.join(t.name for t in KEY_TYPES)}"
        )
    return key, value


def _dims(node: KernelNode) -> tuple[int, ...]:
    dims = node.attrs.get("value_shape", ())
    if dims is None or None in dims:
        raise invalid("value_shape must be fully defined")
    return tuple(dims)


def _handle(node: KernelNode, *inputs: Any) -> Table:
    """The table of a node, made if there is none yet."""
    shared = _name(node)
    container = node.attrs["container"].decode()
    found = node.resources.get_or_create(container, TABLE, shared, lambda: _make(node, shared, *inputs))
    key, value = node.attrs["key_dtype"], node.attrs["value_dtype"]
    if (found.key_dtype, found.value_dtype, found.kind) != (key, value, _kind(node)):
        raise invalid(
            f"Table {shared} is a {found.kind} of {found.key_dtype.name} to {found.value_dtype.name}, but "
            f"this graph asks for a {_kind(node)} of {key.name} to {value.name}. Another program made it: "
            "build the same graph there, or forget it with tf.Session.reset"
        )
    return found


def _kind(node: KernelNode) -> str:
    return node.op.removeprefix("Anonymous").removesuffix("V2").removesuffix("OfTensors")


def _make(node: KernelNode, name: str, *inputs: Any) -> Table:
    key, value = _check_dtypes(node)
    if node.op.startswith("MutableDense"):
        buckets = node.attrs["initial_num_buckets"]
        if buckets < 4 or buckets & (buckets - 1):
            raise invalid(f"Number of buckets must be at least 4 and a power of 2, got: {buckets}")
        deleted = inputs[1] if len(inputs) > 1 else None
        return DenseTable(name, inputs[0], deleted, key, value, _dims(node))
    if node.op.startswith("Mutable"):
        return Table(name, key, value, _dims(node))
    return StaticTable(name, key, value)


@array_kernel(
    *("HashTableV2", "MutableHashTableV2", "MutableHashTableOfTensorsV2", "MutableDenseHashTableV2"),
    *("HashTable", "MutableHashTable", "MutableHashTableOfTensors", "MutableDenseHashTable"),
)
def _table(node: KernelNode) -> Kernel:
    _check_dtypes(node)
    if _name(node):
        return lambda *inputs: _handle(node, *inputs)
    own: list[Table] = []
    name = f"_{next(_private)}_{node.name}"
    lock = threading.Lock()

    def run(*inputs: Any) -> Table:
        with lock:
            if not own:
                own.append(_make(node, name, *inputs))
            return own[0]

    return run


def _checked(node: KernelNode, attrs: tuple[str, ...], act: Callable[..., Any]) -> Kernel:
    """The kernel that calls `act` with a table whose dtypes are those of the node's attributes."""
    types = [node.attrs[attr] for attr in attrs]

    def run(table: Table, *inputs: Any) -> Any:
        check_handle(table, Table)
        table.check_types(*types)
        return act(table, *inputs)

    return run


@array_kernel("LookupTableFindV2", "LookupTableFind")
def _find(node: KernelNode) -> Kernel:
    return _checked(node, ("Tin", "Tout"), lambda table, keys, default: table.find(keys, default))


@array_kernel("LookupTableInsertV2", "LookupTableInsert")
def _insert(node: KernelNode) -> Kernel:
    return _checked(node, ("Tin", "Tout"), lambda table, keys, values: table.insert(keys, values))


@array_kernel("LookupTableRemoveV2")
def _remove(node: KernelNode) -> Kernel:
    return _checked(node, ("Tin",), lambda table, keys: table.remove(keys))


@array_kernel("LookupTableImportV2", "InitializeTableV2", "LookupTableImport", "InitializeTable")
def _import(node: KernelNode) -> Kernel:
    attrs = ("Tin", "Tout") if node.op.startswith("LookupTable") else ("Tkey", "Tval")
    return _checked(node, attrs, lambda table, keys, values: table.replace(keys, values))


@kernel("LookupTableSizeV2", "LookupTableSize")
def _size(node: KernelNode) -> Kernel:
    def run(table: Table) -> Any:
        check_handle(table, Table)
        return np.int64(len(table))

    return run


@kernel("LookupTableExportV2", "LookupTableExport")
def _export(node: KernelNode) -> Kernel:
    return _checked(node, ("Tkeys", "Tvalues"), lambda table: table.export())


@array_kernel("InitializeTableFromTextFileV2", "InitializeTableFromTextFile")
def _from_file(node: KernelNode) -> Kernel:
    attrs = node.attrs
    columns = attrs["key_index"], attrs["value_index"]
    for index in columns:
        if index < _WHOLE_LINE:
            raise invalid(f"An index of a column is {_WHOLE_LINE} (whole line) or more, got {index}")
    if attrs["vocab_size"] < -1 or attrs["vocab_size"] == 0:
        raise invalid(f"vocab_size must be > 0 or -1, got {attrs['vocab_size']}")
    delimiter = attrs["delimiter"]
    if len(delimiter) != 1:
        raise invalid(f"delimiter should be only 1 char, got {delimiter!r}")
    files = node.resources.files

    def run(table: Table, filename: Any) -> None:
        if not isinstance(table, StaticTable):
            raise invalid(f"{table.kind} {table.name} is not filled from files")
        if filename.ndim:
            raise invalid("filename should be a single string")
        path = path_of(filename[()])
        types = table.key_dtype, table.value_dtype
        table.initialize(_lines(files, path, columns, types, delimiter, attrs["vocab_size"], attrs["offset"]))

    return run


def _lines(
    files: Files,
    path: str,
    columns: tuple[int, int],
    types: tuple[DType, DType],
    delimiter: bytes,
    size: int,
    offset: int,
) -> Iterator[tuple[Any, Any]]:
    """The key and the value of each line."""
    count = 0
    with reported(path), files.open_for_read(path) as file:
        for count, raw in enumerate(file, 1):
            line = raw.rstrip(b"\r\n")
            key, value = (
                _field(line, count - 1, index, dtype, delimiter, path, offset if i else 0)
                for i, (index, dtype) in enumerate(zip(columns, types, strict=True))
            )
            yield key, value
            if count == size:
                return
    if size > count:
        raise invalid(f"Invalid vocab_size in {path}: expected {size} but got {count}")


def _field(
    line: bytes, number: int, index: int, dtype: DType, delimiter: bytes, path: str, offset: int
) -> Any:
    if index == _LINE_NUMBER:
        return number + offset
    if index == _WHOLE_LINE:
        text = line
    else:
        parts = line.split(delimiter)
        if index >= len(parts):
            shown = excerpt(line)
            raise invalid(
                f"Invalid number of columns in {path} line {number} ({shown}) : expected at least "
                f"{index + 1} got {len(parts)}"
            )
        text = parts[index]
    if dtype is dtypes.string:
        return text
    try:
        if b"_" in text:
            raise ValueError  # Python's own numbers may have underscores
        return int(text) if dtype.is_integer else float(text)
    except ValueError:
        shown = excerpt(text)
        raise errors.InvalidArgumentError(
            None, None, f"Field {shown} in line {number} is not a valid {dtype.name}."
        ) from None
