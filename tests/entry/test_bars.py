"""The histogram that `tensortap show` prints."""

from __future__ import annotations

import numpy as np

from tensortap.tensor_view import bars


def test_a_bin_with_a_bar_never_counts_0() -> None:
    """Linear bins take parts of native buckets, so that one may hold half an element."""
    lines = bars(np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([0.0, 0.3, 0.5, 12000.0]))
    assert [line.split()[-1] for line in lines] == ["0", "<1", "<1", "12,000"]
    assert ["▏" in line for line in lines] == [False, True, True, False]
