"""Why a value is not there, and the fix: the words of the command line, Python, the API and the page."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tensortap.core.dtypes import Array
from tensortap.dump.read.values_reader import PRUNED_FIX, PRUNED_WHY

from .catalog.catalog import Catalog
from .catalog.decode import LOST, NOT_COPIED, REFUSED


class NoValue(NamedTuple):
    """Why a value is missing: a short label, the reason, and the fix (empty: none)."""

    happened: str
    why: str
    fix: str


_WORDS = {
    "summary": NoValue("not stored", "only the summary was captured", 'Capture it again with keep="value".'),
    "source": NoValue("not stored", "the imported data ({source}) have no value for it", ""),
    "pruned": NoValue("pruned", PRUNED_WHY, PRUNED_FIX),
    "refused": NoValue(
        "lost",
        "the disk could not store it, e.g. because it was full",
        "Its statistics and histogram are stored. Free disk space before you capture it again.",
    ),
    "damaged": NoValue(
        "lost",
        "it was missing or damaged when the run was repaired",
        "Its statistics and histogram are stored. Run 'tensortap check' on the original run to see "
        "the damage.",
    ),
    "compacted": NoValue(
        "not copied",
        "only the compacted statistics of the run are here",
        "Open the original run, or copy all of it.",
    ),
}


def source_format(info: dict[str, Any]) -> str:
    """The format that a run was imported from, according to its info, or empty."""
    return str(info.get("format", "unknown format"))[:80] if "imported from" in info else ""


def no_value_codes(catalog: Catalog, rows: Array) -> list[str]:
    """Why the values of some rows are not there, a key for `no_value` each; empty where the value is."""
    kept, pruned, shard = (catalog.column(name, rows) for name in ("kept", "pruned", "shard"))
    choices = [kept, pruned, shard == REFUSED, shard == LOST, shard == NOT_COPIED]
    names = ["", "pruned", "refused", "damaged", "compacted"]
    codes = np.full(len(rows), "source" if catalog.source else "summary", object)
    for fits, name in reversed(list(zip(choices, names, strict=True))):
        codes[fits] = name
    return codes.tolist()


def no_value(code: str, source: str) -> NoValue:
    """The words for a snapshot's `no_value`; `source`: the format of the run's source, if it was imported."""
    words = _WORDS[code]
    return words._replace(why=words.why.format(source=source))
