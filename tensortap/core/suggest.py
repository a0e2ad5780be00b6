"""Hints for names that do not exist: the closest ones that do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice

_MAX_COMPARED = 5_000  # difflib needs some 20 us a name


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """`"Did you mean 'a', 'b' or 'c'?"` if some known names are alike, else the other hint."""
    tail = name.rsplit("/", 1)[-1].partition(":")[0]
    candidates = [candidate for candidate in known if tail and tail in candidate] if tail else []
    close = difflib.get_close_matches(name, islice(candidates or known, _MAX_COMPARED), n=3, cutoff=0.5)
    if not close and not candidates:
        return otherwise
    quoted = [repr(candidate) for candidate in (close or candidates[:3])]
    return f"Did you mean {' or '.join(filter(None, (', '.join(quoted[:-1]), quoted[-1])))}?"
