"""Rules: what usually goes wrong in training, noticed from statistics and values."""

from ..rows import Rows
from ..tensor_role import TensorRole
from ..view import RunView
from .check import Findings, check_rules
from .finding import SEVERITIES, Evidence, Finding, Hit, Severity
from .mutes import mute, mutes_of, unmute, with_mutes
from .rule import Rule, hits, rule
from .settings import Settings, SettingsError, parse_settings, read_settings, read_table
from .table import all_rules

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
    "mute",
    "mutes_of",
    "parse_settings",
    "read_settings",
    "read_table",
    "rule",
    "unmute",
    "with_mutes",
]
