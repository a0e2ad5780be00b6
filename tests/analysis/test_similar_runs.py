"""Which run is worth comparing with one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tensortap.analysis.compare.similar_runs import most_similar_run
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex


def write(logdir: Path, run: str, tensors: str) -> None:
    with DumpWriter(logdir, run) as writer:
        for name in tensors.split():
            writer.log(f"{name}:0", np.ones(2, np.float32), step=0)


def test_the_run_with_most_of_the_same_tensors_is_found(tmp_path: Path) -> None:
    write(tmp_path, "first", "a b c")
    write(tmp_path, "again", "a b c x")
    write(tmp_path, "wide", "a b c d e f g h")
    write(tmp_path, "newest", "y z")
    log = LogIndex(tmp_path)
    log.refresh()
    by_name = {run.name: run for run in log.runs}
    found = most_similar_run(by_name["first"], log.runs)
    assert found is not None and (found[0].name, found[1]) == ("again", 3)
    assert most_similar_run(by_name["newest"], log.runs) is None
    alone = most_similar_run(by_name["first"], [by_name["first"]])
    assert alone is None
