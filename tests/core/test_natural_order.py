"""Names in natural order."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tensortap.core.text import natural_ranks
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.index.query.search import snapshots

NAMES = ["AddN", "AddN_1", "AddN_2", "AddN_10", "block_2/a", "block_10/a"]


def test_numbers_count_and_equal_names_stand_at_one_place() -> None:
    shuffled = [NAMES[at] for at in (3, 0, 5, 2, 4, 1, 3)]
    assert natural_ranks(shuffled).tolist() == [3, 0, 5, 2, 4, 1, 3]
    assert natural_ranks([]).tolist() == []


def test_zeros_in_front_of_a_number_do_not_count() -> None:
    names = ["layer", "layer_0", "layer_00", "layer_01", "layer_1", "layer_1/a", "layer_2", "layer_010"]
    assert natural_ranks(names[::-1]).tolist() == [7, 6, 5, 4, 3, 2, 1, 0]


def test_snapshots_sort_by_name_in_natural_order_also_once_there_are_more(tmp_path: Path) -> None:
    """GIVEN a sorted list WHEN further tensors come THEN they stand at their places."""
    with DumpWriter(tmp_path, "r") as writer:
        log = LogIndex(tmp_path)
        for known in (NAMES[::2], NAMES):
            for name in known:
                writer.log(f"{name}:0", np.ones(2, np.float32), step=len(known))
            writer.flush()
            log.refresh()
            found = snapshots(log.runs[0], sort="tensor", steps=str(len(known))).rows
            assert [snapshot.node for snapshot in found] == known
