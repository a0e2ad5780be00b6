"""Derived lookup over runs: catalog, queries, slices, scopes, the Python surface. The dump is the truth.

`LogIndex` and the query functions serve other rooms; `open_logdir` (as `tensortap.open`) serves people.
"""

from .choose import graphs_of_name
from .columns import Coded, Texts
from .decode import STATISTICS_COLUMNS
from .edges import RETURNED, Edges
from .events import FedText, RunEvent, RunEvents, StepBatch
from .find import Filters, SnapshotPage, check_filters, find_rows, snapshot_place, snapshots, undecided
from .forward import forward_node
from .graph import FunctionInfo, GraphIndex
from .graphs import GraphOverview
from .histograms import MAX_BINS, HistogramSeries, histograms
from .history import History, history, row_columns
from .last_snapshots import LastSnapshot, last_snapshots
from .log import Changes, LogIndex
from .natural import natural_key
from .no_value import NoValue, no_value
from .node_detail import CallDetail, FrameDetail, InputDetail, NodeDetail, OutputDetail, node_detail
from .node_trends import NodeTrends, node_trends
from .predicate import parse_predicate
from .run import RunIndex, RunOverview, RunReplacedError, open_run
from .saved import cache_folder
from .selection import Selection, parse_selection, resolve_selection
from .snapshot import Snapshot, as_fields, locate, take
from .snapshot_values import TIMELINE_STATISTICS
from .sorting import SORT_COLUMNS
from .source import source
from .source_map import SourceMap, source_map
from .spare_pandas import spare_pandas
from .statistic_range import StatisticRange, statistic_range
from .step_statistics import StepStatistics, step_statistics
from .step_tally import StepTable
from .steps import StepRange, parse_steps
from .suggest import did_you_mean
from .surface import Log, Run, Table, Tensor, Tensors, open_logdir, set_viewer
from .tensors import NO_GRAPH
from .timeline import Timeline, timeline
from .trends import Trend, trends
from .uncounted import not_counted, snapshots_not_counted
from .values import (
    NonfiniteElements,
    find_histogram,
    find_histograms,
    kept_sample,
    kept_shape,
    nonfinite_elements,
    read_slice,
)
from .worker import WorkerStatus

__all__ = [
    "MAX_BINS",
    "NO_GRAPH",
    "RETURNED",
    "SORT_COLUMNS",
    "STATISTICS_COLUMNS",
    "TIMELINE_STATISTICS",
    "CallDetail",
    "Changes",
    "Coded",
    "Edges",
    "FedText",
    "Filters",
    "FrameDetail",
    "FunctionInfo",
    "GraphIndex",
    "GraphOverview",
    "HistogramSeries",
    "History",
    "InputDetail",
    "LastSnapshot",
    "Log",
    "LogIndex",
    "NoValue",
    "NodeDetail",
    "NodeTrends",
    "NonfiniteElements",
    "OutputDetail",
    "Run",
    "RunEvent",
    "RunEvents",
    "RunIndex",
    "RunOverview",
    "RunReplacedError",
    "Selection",
    "Snapshot",
    "SnapshotPage",
    "SourceMap",
    "StatisticRange",
    "StepBatch",
    "StepRange",
    "StepStatistics",
    "StepTable",
    "Table",
    "Tensor",
    "Tensors",
    "Texts",
    "Timeline",
    "Trend",
    "WorkerStatus",
    "as_fields",
    "cache_folder",
    "check_filters",
    "did_you_mean",
    "find_histogram",
    "find_histograms",
    "find_rows",
    "forward_node",
    "graphs_of_name",
    "histograms",
    "history",
    "kept_sample",
    "kept_shape",
    "last_snapshots",
    "locate",
    "natural_key",
    "no_value",
    "node_detail",
    "node_trends",
    "nonfinite_elements",
    "not_counted",
    "open_logdir",
    "open_run",
    "parse_predicate",
    "parse_selection",
    "parse_steps",
    "read_slice",
    "resolve_selection",
    "row_columns",
    "set_viewer",
    "snapshot_place",
    "snapshots",
    "snapshots_not_counted",
    "source",
    "source_map",
    "spare_pandas",
    "statistic_range",
    "step_statistics",
    "take",
    "timeline",
    "trends",
    "undecided",
]
