"""The run on disk: its files (FORMAT.md), written by `DumpWriter`, read by `find_runs` and `RunReader`.

- `format/`: the layout of each file, with its encoder and decoder; `write/`, `read/`: writer and readers.
- `recording/`: what one call of a function needs to run again; `maintenance/`: repair and pruning.

It imports core, scale, stats, storage, system and tfproto only, and no TensorFlow. Begin with
`write/writer.py` and `read/runs.py`. The names below are for programs that use dumps alone; the rest of
tensortap imports modules.
"""

from tensortap.core.records import Function, Graph, Node, Summary

from .format.row_checks import Snapshot
from .read.runs import RunReader, find_runs
from .write.writer import DumpWriter

__all__ = [
    "DumpWriter",
    "Function",
    "Graph",
    "Node",
    "RunReader",
    "Snapshot",
    "Summary",
    "find_runs",
]
