"""Runs, or some of their snapshots, as files for others. A format is one module and one row of a table."""

from .base import Exported
from .registry import EXPORTERS, Exporter, exporter_for

__all__ = ["EXPORTERS", "Exported", "Exporter", "exporter_for"]
