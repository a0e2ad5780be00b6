"""The files of a dump: names, dtypes, statistics, writer, reader (FORMAT.md).

Write with `DumpWriter`; read with `find_runs`, `RunReader`, `StatsTail`, `read_value`.
"""

from tensortap.core.deadline import at_most, check_time
from tensortap.core.dtypes import dtype_name, itemsize, loadable, numpy_dtype, text_width
from tensortap.core.errors import (
    AmbiguousError,
    DamagedError,
    DeniedError,
    DumpClosedError,
    FormatVersionError,
    InvalidNameError,
    InvalidValueError,
    LimitError,
    NoAnswerError,
    NotARunError,
    NotFoundError,
    RemoteError,
    SelectionError,
    TensortapError,
    ValueNotKeptError,
    ValuePrunedError,
)
from tensortap.core.histogram import Histogram, bucket_edges, value_order
from tensortap.core.model import COUNTS, STATISTICS, Frame, Function, Graph, Keep, Node, Summary, Way
from tensortap.core.names import (
    GRAPHS,
    MAX_RUN_DEPTH,
    NamedFunction,
    UnusedNames,
    check_run_name,
    is_inside_run,
    is_worker_name,
    new_worker_name,
    parse_tensor_name,
    short_function_name,
    short_function_names,
    split_tensor_name,
    tensor_name,
    unique_node_names,
)
from tensortap.core.sampling import Sample, split_sample
from tensortap.core.text import counted, csv_text, escaped
from tensortap.stats.summarize import summarize, warm_up
from tensortap.storage.entry import Entry
from tensortap.storage.files import Input, crc32c, crc32c_of_file
from tensortap.storage.filesystem import exists, is_folder, look, scan
from tensortap.storage.uri import (
    address_of,
    is_address,
    is_remote,
    local_path,
    path_of,
    put_file,
    shown_path,
    target_path,
    target_run,
)
from tensortap.system.child_process import own_module, own_script, start_process
from tensortap.system.redaction import recorded_command
from tensortap.system.temp_dirs import (
    kept_folder,
    own_folder,
    remove_left,
    remove_left_temporary,
    temporary_folder,
)
from tensortap.system.user_dirs import is_own_folder, make_private_folder, open_regular, xdg_folder
from tensortap.tfproto.attributes import attribute_texts
from tensortap.tfproto.function_calls import CALLS, Callee, Role, argument_inputs, callees
from tensortap.tfproto.tensor_proto import data_type_name, proto_shape, tensor_array
from tensortap.tfproto.varint import read_varint

from .format.events import EventsTail
from .format.graphs import write_graph
from .format.row_checks import Snapshot
from .format.schema import LOST, REFUSED
from .maintenance.completeness import Completeness
from .maintenance.graphdef_check import check_graph_def
from .maintenance.pruning import Pruned, prune_run
from .maintenance.repair import Repaired, repair_run
from .read.runs import RUN_FILE, RunInfo, RunReader, WorkerInfo, find_runs
from .read.stats_reader import Commit, StatsTail, TailPosition, read_commit
from .read.values_reader import ValueRef, read_bytes, read_value, value_ref
from .recording.bundle import (
    read_bundle,
    read_bundle_blob,
    read_bundle_graph,
    read_bundle_manifest,
    write_bundle,
)
from .recording.files import (
    RecordingNote,
    RecordingPlace,
    find_recordings,
    read_recording,
    recording_note,
    write_recording,
)
from .recording.model import Argument, Part, Recording, array_hash
from .recording.store import RecordingStore
from .recording.unpack import unpack_bundle
from .write.composite_tensors import component_arrays
from .write.retention import Retention, pruned_files
from .write.stats_writer import stats_path
from .write.values_writer import SAFETENSORS
from .write.worker import ensure_run
from .write.writer import DumpWriter

__all__ = [
    "CALLS",
    "COUNTS",
    "GRAPHS",
    "LOST",
    "MAX_RUN_DEPTH",
    "REFUSED",
    "RUN_FILE",
    "SAFETENSORS",
    "STATISTICS",
    "AmbiguousError",
    "Argument",
    "Callee",
    "Commit",
    "Completeness",
    "DamagedError",
    "DeniedError",
    "DumpClosedError",
    "DumpWriter",
    "Entry",
    "EventsTail",
    "FormatVersionError",
    "Frame",
    "Function",
    "Graph",
    "Histogram",
    "Input",
    "InvalidNameError",
    "InvalidValueError",
    "Keep",
    "LimitError",
    "NamedFunction",
    "NoAnswerError",
    "Node",
    "NotARunError",
    "NotFoundError",
    "Part",
    "Pruned",
    "Recording",
    "RecordingNote",
    "RecordingPlace",
    "RecordingStore",
    "RemoteError",
    "Repaired",
    "Retention",
    "Role",
    "RunInfo",
    "RunReader",
    "Sample",
    "SelectionError",
    "Snapshot",
    "StatsTail",
    "Summary",
    "TailPosition",
    "TensortapError",
    "UnusedNames",
    "ValueNotKeptError",
    "ValuePrunedError",
    "ValueRef",
    "Way",
    "WorkerInfo",
    "address_of",
    "argument_inputs",
    "array_hash",
    "at_most",
    "attribute_texts",
    "bucket_edges",
    "callees",
    "check_graph_def",
    "check_run_name",
    "check_time",
    "component_arrays",
    "counted",
    "crc32c",
    "crc32c_of_file",
    "csv_text",
    "data_type_name",
    "dtype_name",
    "ensure_run",
    "escaped",
    "exists",
    "find_recordings",
    "find_runs",
    "is_address",
    "is_folder",
    "is_inside_run",
    "is_own_folder",
    "is_remote",
    "is_worker_name",
    "itemsize",
    "kept_folder",
    "loadable",
    "local_path",
    "look",
    "make_private_folder",
    "new_worker_name",
    "numpy_dtype",
    "open_regular",
    "own_folder",
    "own_module",
    "own_script",
    "parse_tensor_name",
    "path_of",
    "proto_shape",
    "prune_run",
    "pruned_files",
    "put_file",
    "read_bundle",
    "read_bundle_blob",
    "read_bundle_graph",
    "read_bundle_manifest",
    "read_bytes",
    "read_commit",
    "read_recording",
    "read_value",
    "read_varint",
    "recorded_command",
    "recording_note",
    "remove_left",
    "remove_left_temporary",
    "repair_run",
    "scan",
    "short_function_name",
    "short_function_names",
    "shown_path",
    "split_sample",
    "split_tensor_name",
    "start_process",
    "stats_path",
    "summarize",
    "target_path",
    "target_run",
    "temporary_folder",
    "tensor_array",
    "tensor_name",
    "text_width",
    "unique_node_names",
    "unpack_bundle",
    "value_order",
    "value_ref",
    "warm_up",
    "write_bundle",
    "write_graph",
    "write_recording",
    "xdg_folder",
]
