"""Timelines: a flat graph has more rows than a page takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from small_dump import Api

from tensortap.dump.write.writer import DumpWriter
from tensortap.server.routes.timelines import MAX_ROWS


def test_rows_beyond_what_a_page_takes_are_counted(tmp_path: Path, opened: Callable[[Path], Api]) -> None:
    with DumpWriter(tmp_path, "flat") as writer:
        for i in range(MAX_ROWS + 5):
            writer.log(f"op{i}x:0", np.float32(i), step=0)
    api = opened(tmp_path)
    meta, found = api.columns(f"/api/runs/{api.run_id('flat')}/graphs/-/timeline?opened=…")
    assert meta["left_out"] == 6  # the row that was opened is one, too
    assert len(found["path"]) == len(found["value"]) == MAX_ROWS
