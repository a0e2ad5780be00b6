"""News is seen soon, also where files are only ever replaced as a whole."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.server import log_reader

CHECKOUT = Path(__file__).resolve().parents[2]


def test_a_directory_that_only_replaces_whole_files_is_followed(tmp_path):
    """As a synchronized folder does: each changed file appears anew, with another inode, of another size."""
    copy = tmp_path / "copy"
    followed = LogIndex(copy)

    def synchronise() -> None:
        for source in sorted((tmp_path / "logs").rglob("*")):
            target = copy / source.relative_to(tmp_path / "logs")
            if source.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            elif not target.exists() or target.read_bytes() != source.read_bytes():
                fresh = target.with_name(f".{target.name}.part")
                fresh.write_bytes(source.read_bytes())
                fresh.replace(target)

    with DumpWriter(tmp_path / "logs", "r") as writer:
        for step in range(4):
            writer.log("x", np.full(1000, step, np.float32), step=step)
            writer.flush()
            synchronise()
            followed.refresh()
            (run,) = followed.runs
            assert run.catalog.rows == step + 1
    synchronise()
    followed.refresh()
    (run,) = followed.runs
    assert run.workers[0].closed
    assert run.workers[0].damage == []
    assert run.generation == 1  # never taken for another run


def test_what_is_committed_is_on_the_page_within_a_second_and_a_half():
    """The server looks again after so long, and the page asks so often: together the promise."""
    source = (CHECKOUT / "frontend" / "src" / "state" / "live.ts").read_text(encoding="utf-8")
    asked = int(re.search(r"VISIBLE_MS = ([\d_]+);", source)[1])
    assert log_reader.REFRESH_INTERVAL + asked / 1000 <= 1.5
