"""Analyses: what is wrong with a run, and how two runs differ. Pure functions over an index, without HTTP or
HTML.

Data flows one way: `model_graph` (facts of a graph) -> `run_view` (snapshots of a run as columns) -> the
analyses `nonfinite`, `dead_layers`, `rules` and `compare`; `overview` lists the non-finite tensors of a
run. May import core, system, dump and index. Begin reading in `rules/runner.py` (findings),
`nonfinite/nan_report.py` (NaN and infinities) or `compare/compare.py` (two runs). Listed below is what
users of the library import: the analyses, and the helpers for custom rules.
"""

from .compare.compare import compare
from .compare.comparison_records import Comparison
from .compare.side import Side
from .dead_layers.ledger import LedgerEntry, dead_layer_ledger
from .model_graph.roles import TensorRole
from .nonfinite.nan_report import NanReport, nan_report
from .overview import Problems, problems
from .rules.finding import Evidence, Finding, Hit
from .rules.registry import all_rules
from .rules.rule import Rule, hits, rule
from .rules.runner import Findings, check_rules
from .rules.settings import Settings, SettingsError, read_settings
from .run_view.run_view import RunView
from .run_view.snapshot_rows import SnapshotRows

__all__ = [
    "Comparison",
    "Evidence",
    "Finding",
    "Findings",
    "Hit",
    "LedgerEntry",
    "NanReport",
    "Problems",
    "Rule",
    "RunView",
    "Settings",
    "SettingsError",
    "Side",
    "SnapshotRows",
    "TensorRole",
    "all_rules",
    "check_rules",
    "compare",
    "dead_layer_ledger",
    "hits",
    "nan_report",
    "problems",
    "read_settings",
    "rule",
]
