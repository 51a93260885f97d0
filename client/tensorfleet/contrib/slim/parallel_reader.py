"""`slim.parallel_reader`: records of several files."""

import typing as _typing

from tensorfleet.contrib.slim_data.reading import (
    ParallelReader as ParallelReader,
    get_data_files as get_data_files,
    parallel_read as parallel_read,
    single_pass_read as single_pass_read,
)

if not _typing.TYPE_CHECKING:
    from tensorfleet.core.public import namespace as _namespace

    __getattr__, __dir__ = _namespace(__name__)

__all__ = ["ParallelReader", "get_data_files", "parallel_read", "single_pass_read"]
