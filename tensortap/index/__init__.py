"""Derived lookup over runs: catalog, queries, slices, scopes, the Python surface. The dump is the truth.

`LogIndex` and the query functions serve other rooms; `open_logdir` (as `tensortap.open`) serves people.
"""

from tensortap.core.text import did_you_mean, natural_key
from tensortap.system.pandas_guard import spare_pandas
from tensortap.system.user_dirs import cache_folder

from .catalog.columns import Coded, Texts
from .catalog.decode import STATISTICS_COLUMNS
from .catalog.step_tally import StepTable
from .catalog.tensor_table import NO_GRAPH
from .graph.edges import RETURNED, Edges
from .graph.gradient_names import forward_node
from .graph.graph_index import FunctionInfo, GraphIndex
from .graph.node_detail import CallDetail, FrameDetail, InputDetail, NodeDetail, OutputDetail, node_detail
from .graph.source import source
from .graph.source_map import SourceMap, source_map
from .graph_store import GraphOverview
from .log import Changes, LogIndex
from .missing_values import NoValue, no_value
from .query.filter_parser import parse_predicate
from .query.resolve_names import graphs_of_name
from .query.search import (
    Filters,
    SnapshotPage,
    check_filters,
    find_rows,
    snapshot_place,
    snapshots,
    undecided,
)
from .query.sorting import SORT_COLUMNS
from .query.step_range import StepRange, parse_steps
from .query.uncounted import not_counted, snapshots_not_counted
from .run_events import FedText, RunEvent, RunEvents, StepBatch
from .run_index import RunIndex, RunOverview, RunReplacedError, open_run
from .selection import Selection, parse_selection, resolve_selection
from .series.histograms import MAX_BINS, HistogramSeries, histograms
from .series.history import History, history, row_columns
from .series.latest import LastSnapshot, last_snapshots
from .series.node_trends import NodeTrends, node_trends
from .series.snapshot_values import TIMELINE_STATISTICS
from .series.statistic_range import StatisticRange, statistic_range
from .series.step_statistics import StepStatistics, step_statistics
from .series.timeline import Timeline, timeline
from .series.trends import Trend, trends
from .snapshot import Snapshot, as_fields, locate, take
from .values import (
    NonfiniteElements,
    find_histogram,
    find_histograms,
    kept_sample,
    kept_shape,
    nonfinite_elements,
    read_slice,
)
from .worker_follower import WorkerStatus

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
    "LogIndex",
    "NoValue",
    "NodeDetail",
    "NodeTrends",
    "NonfiniteElements",
    "OutputDetail",
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
    "open_run",
    "parse_predicate",
    "parse_selection",
    "parse_steps",
    "read_slice",
    "resolve_selection",
    "row_columns",
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
