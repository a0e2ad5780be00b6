"""What people pass by hand: refused with a sentence where it is of another kind than is needed."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from tensortap.core.errors import SelectionError
from tensortap.core.text import did_you_mean
from tensortap.index.query.search import Filters

_NO_TEXT = ("nonfinite", "kept", "visit")
_PYTHON_NAMES = {"match": "nodes", "steps": "step"}  # names of `Filters` that are others in `Run.find`


def check_texts(**values: object) -> None:
    """Raises SelectionError: one of them is neither a text nor None."""
    for name, value in values.items():
        if value is not None and not isinstance(value, str):
            raise SelectionError(f"{name}={value!r:.80} is no text.", f"Write it in quotes: {name}='…'.")


def check_name(name: object) -> None:
    """Raises SelectionError: the name of a tensor is no text."""
    if not isinstance(name, str):
        raise SelectionError(
            f"{name!r:.80} is no name of a tensor.", "Names are texts; run.tensors lists them."
        )


def check_integer(name: str, value: Any) -> int | None:
    """An integer, or None. Raises SelectionError: it is something else."""
    try:
        return None if value is None else operator.index(value)
    except TypeError:
        hint = f"Write it as in {name}=3" + ("; -1 is the last." if name == "step" else ".")
        raise SelectionError(f"{name}={value!r:.80} is no whole number.", hint) from None


def check_filters_of(filters: Mapping[str, object]) -> None:
    """Raises SelectionError: there is no such filter, or it is given something else than it takes."""
    known = sorted(_PYTHON_NAMES.get(field.name, field.name) for field in fields(Filters))
    for name, value in filters.items():
        if name not in known:
            hint = did_you_mean(name, known, f"There are: {', '.join(known)}.")
            if name in _PYTHON_NAMES:
                hint = f"Write {_PYTHON_NAMES[name]}=…, as in find('relu', step='3:10')."
            raise SelectionError(f"There is no filter {name!r:.80}.", hint)
        if name in ("nonfinite", "kept") and not isinstance(value, bool):
            raise SelectionError(f"{name}={value!r:.80} is no yes or no.", f"Use {name}=True or False.")
    check_integer("visit", filters.get("visit"))
    check_texts(**{name: value for name, value in filters.items() if name not in _NO_TEXT})
