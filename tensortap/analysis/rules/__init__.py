"""Rules: what usually goes wrong in training, noticed from statistics and values."""

from ..model_graph.roles import TensorRole
from ..run_view.run_view import RunView
from ..run_view.snapshot_rows import Rows
from .finding import SEVERITIES, Evidence, Finding, Hit, Severity
from .registry import all_rules
from .rule import Rule, hits, rule
from .runner import Findings, check_rules
from .settings import Settings, SettingsError, parse_settings, read_settings, read_table

__all__ = [
    "SEVERITIES",
    "Evidence",
    "Finding",
    "Findings",
    "Hit",
    "Rows",
    "Rule",
    "RunView",
    "Settings",
    "SettingsError",
    "Severity",
    "TensorRole",
    "all_rules",
    "check_rules",
    "hits",
    "parse_settings",
    "read_settings",
    "read_table",
    "rule",
]
