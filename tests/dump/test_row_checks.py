"""A summary that readers would refuse is refused: it would take its whole commit along."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dump_tools import read_all

from tensortap.core.errors import InvalidValueError
from tensortap.core.histogram import Histogram
from tensortap.dump.write.writer import DumpWriter
from tensortap.stats.summarize import summarize

IDS, COUNTS = np.array([0, 3], np.uint16), np.array([1, 2])


@pytest.mark.parametrize(
    "wrong",
    [
        {"shape": (1,) * 255},
        {"shape": (-1,)},
        {"shape": (2.5,)},
        {"size": -1},
        {"size": 1 << 63},
        {"nan": 0.5},
        {"std": "wide"},
        {"dtype": "x" * 5000},
        {"histogram": Histogram(IDS + np.uint16(511), COUNTS)},
        {"histogram": Histogram(IDS[::-1], COUNTS)},
        {"histogram": Histogram(IDS, COUNTS[:1])},
        {"histogram": Histogram(IDS, COUNTS - 1)},
    ],
)
def test_what_readers_refuse_is_not_written(tmp_path: Path, wrong: dict[str, Any]) -> None:
    good = summarize(np.arange(3.0))
    with DumpWriter(tmp_path) as writer:
        writer.log_summary("good", good, step=0)
        with pytest.raises(InvalidValueError):
            writer.log_summary("bad", replace(good, **wrong), step=0)
    found = read_all(tmp_path)
    assert found.damage == []
    assert [row["node"] for row in found.rows] == ["good"]


def test_the_most_that_readers_take_is_written(tmp_path: Path) -> None:
    most = replace(summarize(np.ones(3)), shape=(1,) * 254, size=(1 << 63) - 1, mean=float("nan"))
    with DumpWriter(tmp_path) as writer:
        writer.log_summary("most", most, step=0)
    assert [row["shape"] for row in read_all(tmp_path).rows] == [[1] * 254]
