"""Files of a comparison: manually chosen pairs of nodes (JSON), and the table of differences (CSV)."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path

from tensortap.core.errors import InvalidValueError
from tensortap.core.text import csv_text

from .comparison_records import Comparison, TensorDifference
from .metrics.distances import METRICS

VERSION = 1
MAX_BYTES = 16 << 20
_HINT = 'It must look like {"tensortap_matches": 1, "nodes": {"node in A": "node in B"}}.'
_TEXTS = ("tensor", "other", "op_type", "layer", "matched", "dtype_a", "dtype_b", "basis", "verdict")
_NUMBERS = ("order", "visit", "visits", "limit", "before")


def read_matches(path: Path) -> dict[str, str]:
    """Reads pairs of nodes: node in A -> node in B.

    Raises:
        InvalidValueError: the file has another format. OSError: it cannot be read.
    """
    with path.open("rb") as file:
        text = file.read(MAX_BYTES + 1)
    if len(text) > MAX_BYTES:
        raise InvalidValueError(f"{path.name} is larger than {MAX_BYTES >> 20} MiB.", _HINT)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidValueError(f"{path.name} is not valid JSON: {error}", _HINT) from None
    version = found.get("tensortap_matches") if isinstance(found, dict) else None
    if version != VERSION:
        raise InvalidValueError(f"{path.name} is not a file of matches with version {VERSION}.", _HINT)
    nodes = found.get("nodes")
    if not isinstance(nodes, dict) or not all(isinstance(node, str) for node in nodes.values()):
        raise InvalidValueError(f'The "nodes" of {path.name} must map nodes of A to nodes of B.', _HINT)
    return nodes


def write_matches(path: Path, nodes: Mapping[str, str]) -> None:
    """Writes pairs that `read_matches` reads.

    Raises:
        OSError: the file cannot be written.
    """
    data = {"tensortap_matches": VERSION, "nodes": dict(nodes)}
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def comparison_csv(compared: Comparison) -> str:
    """All tensors of a comparison as CSV, in data flow order, with a header."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([*_TEXTS, "shape_a", "shape_b", *_NUMBERS, *METRICS])
    writer.writerows(_row(entry) for entry in compared.tensors)
    return text.getvalue()


def _row(entry: TensorDifference) -> list[object]:
    shapes = ["x".join(map(str, shape)) for shape in (entry.shape_a, entry.shape_b)]
    return [
        *(csv_text(getattr(entry, name)) for name in _TEXTS),
        *shapes,
        *(getattr(entry, name) for name in _NUMBERS),
        *(getattr(entry.metrics, name) for name in METRICS),
    ]
