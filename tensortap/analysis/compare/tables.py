"""A comparison as CSV: every tensor, every metric."""

from __future__ import annotations

import csv
import io

from tensortap.core.text import csv_text

from .metrics.metrics import METRICS
from .model import Comparison, TensorDifference

_TEXTS = ("tensor", "other", "op_type", "layer", "matched", "dtype_a", "dtype_b", "basis", "verdict")
_NUMBERS = ("order", "visit", "visits", "limit", "before")


def comparison_csv(compared: Comparison) -> str:
    """The tensors in data flow order, with a header."""
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
