"""The files of a dump: names, dtypes, statistics, writer, reader (FORMAT.md).

Write with `DumpWriter`; read with `find_runs`, `RunReader`, `StatsTail`, `read_value`.
"""

from .dtypes import dtype_name, itemsize, numpy_dtype
from .errors import (
    AmbiguousError,
    DamagedError,
    DumpClosedError,
    FormatVersionError,
    InvalidNameError,
    InvalidValueError,
    LimitError,
    NotARunError,
    NotFoundError,
    SelectionError,
    TensortapError,
    ValueNotKeptError,
)
from .files import crc32c
from .events import EventsTail
from .histogram import Histogram, bucket_edges, value_order
from .names import check_run_name, is_worker_name, new_worker_name, parse_tensor_name, tensor_name
from .ragged import component_arrays
from .records import COUNTS, STATISTICS, Frame, Function, Graph, Keep, Node, Summary
from .runs import RunInfo, RunReader, WorkerInfo, find_runs
from .sample import Sample, split_sample
from .statistics import summarize, warm_up
from .tail import Commit, StatsTail, read_commit
from .values_reader import ValueRef, read_bytes, read_value, value_ref
from .writer import DumpWriter

__all__ = [
    "COUNTS",
    "STATISTICS",
    "AmbiguousError",
    "Commit",
    "DamagedError",
    "DumpClosedError",
    "DumpWriter",
    "EventsTail",
    "FormatVersionError",
    "Frame",
    "Function",
    "Graph",
    "Histogram",
    "InvalidNameError",
    "InvalidValueError",
    "Keep",
    "LimitError",
    "Node",
    "NotARunError",
    "NotFoundError",
    "RunInfo",
    "RunReader",
    "Sample",
    "SelectionError",
    "StatsTail",
    "Summary",
    "TensortapError",
    "ValueNotKeptError",
    "ValueRef",
    "WorkerInfo",
    "bucket_edges",
    "check_run_name",
    "component_arrays",
    "crc32c",
    "dtype_name",
    "find_runs",
    "is_worker_name",
    "itemsize",
    "new_worker_name",
    "numpy_dtype",
    "parse_tensor_name",
    "read_bytes",
    "read_commit",
    "read_value",
    "split_sample",
    "summarize",
    "tensor_name",
    "value_order",
    "value_ref",
    "warm_up",
]
