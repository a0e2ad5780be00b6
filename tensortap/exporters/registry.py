"""The table of exporters, and their shared code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tensortap.core.dtypes import Array
from tensortap.core.errors import SelectionError
from tensortap.core.progress import AdvanceCount
from tensortap.index.run_index import RunIndex

from . import arrays, event_files, tables, tap_zip
from .base import Export, Exported

__all__ = ["EXPORTERS", "Exported", "Exporter", "exporter_for"]


@dataclass(frozen=True, slots=True)
class Exporter:
    """A format. `suffixes`: its file name suffixes; `summary`: a description in one line."""

    name: str
    suffixes: tuple[str, ...]
    summary: str
    write: Export

    def export(self, run: RunIndex, rows: Array | None, out: Path, advance: AdvanceCount) -> Exported:
        """Export rows as `Export` does; it skips unreadable data of the run, and reports it."""
        missing = missing_parts(run)
        exported = self.write(run, rows, out, advance)
        return replace(exported, left_out=[*missing, *exported.left_out])


def missing_parts(run: RunIndex) -> list[str]:
    """What of a run cannot be read, and is missing in its exports: sentences."""
    return [f"unreadable data. {sentence}" for sentence in run.missing_data]


EXPORTERS = (
    Exporter(
        "tap.zip",
        (".tap.zip", ".zip"),
        "the whole run in one file",
        tap_zip.export_tap_zip,
    ),
    Exporter("parquet", (".parquet",), "statistics, one row per snapshot", tables.export_parquet),
    Exporter("csv", (".csv",), "statistics as text, with formulas escaped", tables.export_csv),
    Exporter("npz", (".npz",), "stored values, for NumPy", arrays.export_npz),
    Exporter("safetensors", (".safetensors",), "stored values, for safetensors", arrays.export_safetensors),
    Exporter(
        "tensorboard",
        (".tfevents",),
        "histograms and scalars, for TensorBoard",
        event_files.export_event_files,
    ),
)


def exporter_for(out: Path, name: str | None = None) -> Exporter:
    """The exporter with that name, or else the one of the file's suffix.

    Raises:
        SelectionError: there is none.
    """
    for exporter in EXPORTERS:
        if exporter.name == name or (name is None and out.name.endswith(exporter.suffixes)):
            return exporter
    known = ", ".join(exporter.name for exporter in EXPORTERS)
    what = f"{name!r} is not a format" if name is not None else f"{out.name!r} has no known format"
    raise SelectionError(f"{what}.", f"Choose one with --format: {known}.")
