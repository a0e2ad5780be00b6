"""Pure functions over an index: what is wrong with a run, and how two differ."""

from .compare.compare import check_pairs, compare
from .compare.comparison import Comparison, FirstDivergence, GraphPair, SideInfo, TensorDifference, Unmatched
from .compare.files import comparison_csv, read_matches, write_matches
from .compare.metrics.distances import LOWER_IS_WORSE, METRICS, Metrics
from .compare.metrics.tensor_pairs import read_both
from .compare.metrics.ulp import common_dtype, subtracted, ulp_distance, worst_element
from .compare.presentation import SORTS as DIFFERENCE_SORTS
from .compare.presentation import headline, listed_tensors, sorted_tensors
from .compare.propagation.difference_flow import VERDICTS
from .compare.side import Side
from .compare.similar_runs import most_similar_run
from .dead_layers.ledger import LedgerEntry, dead_layer_ledger
from .model_graph.roles import TensorRole
from .nonfinite.elements.trace import Element, ElementTrace
from .nonfinite.nan_report import NanReport, nan_report
from .nonfinite.operand import Operand
from .nonfinite.origin import Origin
from .nonfinite.path_to_loss import Link
from .nonfinite.report_text import place_text
from .overview import NonfiniteTensor, Problems, problems
from .rules.finding import SEVERITIES, Evidence, Finding, Hit
from .rules.registry import all_rules
from .rules.rule import Rule, hits, rule
from .rules.runner import Findings, check_rules
from .rules.settings import Settings, SettingsError, parse_settings, read_settings, read_table
from .run_view.run_view import RunView
from .run_view.snapshot_rows import Rows

__all__ = [
    "DIFFERENCE_SORTS",
    "LOWER_IS_WORSE",
    "METRICS",
    "SEVERITIES",
    "VERDICTS",
    "Comparison",
    "Element",
    "ElementTrace",
    "Evidence",
    "Finding",
    "Findings",
    "FirstDivergence",
    "GraphPair",
    "Hit",
    "LedgerEntry",
    "Link",
    "Metrics",
    "NanReport",
    "NonfiniteTensor",
    "Operand",
    "Origin",
    "Problems",
    "Rows",
    "Rule",
    "RunView",
    "Settings",
    "SettingsError",
    "Side",
    "SideInfo",
    "TensorDifference",
    "TensorRole",
    "Unmatched",
    "all_rules",
    "check_pairs",
    "check_rules",
    "common_dtype",
    "compare",
    "comparison_csv",
    "dead_layer_ledger",
    "headline",
    "hits",
    "listed_tensors",
    "most_similar_run",
    "nan_report",
    "parse_settings",
    "place_text",
    "problems",
    "read_both",
    "read_matches",
    "read_settings",
    "read_table",
    "rule",
    "sorted_tensors",
    "subtracted",
    "ulp_distance",
    "worst_element",
    "write_matches",
]
