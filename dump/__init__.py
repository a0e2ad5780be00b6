"""The files of a dump: names, dtypes, statistics, writer, reader (FORMAT.md).

Write with `DumpWriter`; read with `find_runs`, `RunReader`, `StatsTail`, `read_value`.
"""

from .attribute_texts import attribute_texts
from .calls import CALLS, Callee, Role, argument_inputs, callees
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
from .events import EventsTail
from .files import crc32c
from .function_names import NamedFunction, short_function_name, short_function_names, unique_node_names
from .histogram import Histogram, bucket_edges, value_order
from .names import check_run_name, is_worker_name, new_worker_name, parse_tensor_name, tensor_name
from .ragged import component_arrays
from .records import COUNTS, STATISTICS, Frame, Function, Graph, Keep, Node, Summary, Way
from .runs import RunInfo, RunReader, WorkerInfo, find_runs
from .sample import Sample, split_sample
from .statistics import summarize, warm_up
from .tail import Commit, StatsTail, read_commit
from .tensor_proto import data_type_name, proto_shape, tensor_array
from .values_reader import ValueRef, read_bytes, read_value, value_ref
from .writer import DumpWriter

__all__ = [
    "CALLS",
    "COUNTS",
    "STATISTICS",
    "AmbiguousError",
    "Callee",
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
    "NamedFunction",
    "Node",
    "NotARunError",
    "NotFoundError",
    "Role",
    "RunInfo",
    "RunReader",
    "Sample",
    "SelectionError",
    "StatsTail",
    "Summary",
    "TensortapError",
    "ValueNotKeptError",
    "ValueRef",
    "Way",
    "WorkerInfo",
    "argument_inputs",
    "attribute_texts",
    "bucket_edges",
    "callees",
    "check_run_name",
    "component_arrays",
    "crc32c",
    "data_type_name",
    "dtype_name",
    "find_runs",
    "is_worker_name",
    "itemsize",
    "new_worker_name",
    "numpy_dtype",
    "parse_tensor_name",
    "proto_shape",
    "read_bytes",
    "read_commit",
    "read_value",
    "short_function_name",
    "short_function_names",
    "split_sample",
    "summarize",
    "tensor_array",
    "tensor_name",
    "unique_node_names",
    "value_order",
    "value_ref",
    "warm_up",
]
