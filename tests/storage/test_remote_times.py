"""Stores that tell neither ETag nor time: a file is another one when its size is, not at every look."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex
from tensortap.storage import fsspec_folder
from tensortap.storage.fsspec_folder import RemoteFolder
from tensortap.storage.uri import path_of


class _Silent:
    """A store that tells names and sizes, and no more."""

    protocol = "silent"

    def __init__(self) -> None:
        self.size = 5

    def invalidate_cache(self, path: str) -> None:
        """There is none."""

    def ls(self, path: str, detail: bool) -> list[dict[str, Any]]:
        return [{"name": f"{path}/run.json", "size": self.size, "type": "file"}]

    def info(self, path: str) -> dict[str, Any]:
        return {"name": path, "size": self.size, "type": "file"}


@pytest.mark.parametrize("web", [False, True])
def test_a_file_stays_the_same_while_its_size_does(web: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fsspec_folder, "LISTING_TTL", -1.0)  # every look asks
    store = _Silent()
    folder = RemoteFolder(store, "root", "silent://root", web)
    seen = folder.stat("run.json")
    assert seen.mtime_ns > 0
    assert not seen.is_dated  # nobody knows when it was written
    assert folder.stat("run.json") == seen
    folder.scan("")
    assert folder.stat("run.json") == seen
    store.size = 6
    grown = folder.stat("run.json")
    assert grown.mtime_ns > seen.mtime_ns
    assert grown.is_dated
    assert folder.stat("run.json") == grown


def test_a_run_in_an_archive_that_fsspec_opens_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fsspec_folder, "LISTING_TTL", -1.0)
    with DumpWriter(tmp_path / "logs", "r") as writer:
        writer.log("x", 1.0, step=0)
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        for path in sorted((tmp_path / "logs").rglob("*")):
            archive.write(path, path.relative_to(tmp_path / "logs"))
    log = LogIndex(path_of(f"zip://::{tmp_path / 'logs.zip'}"), use_cache=False)
    assert log.refresh()
    assert not log.refresh()
    assert [(run.generation, run.catalog.rows) for run in log.runs] == [(1, 1)]
