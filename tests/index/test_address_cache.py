"""What a bucket is asked when a log directory is opened again."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tensortap.index.cache import address_cache
from tensortap.index.cache.address_cache import AddressCache
from tensortap.storage.fsspec_folder import SMALL, RemoteFolder


class _Bucket:
    """A store of a few files; counts what it is asked."""

    protocol = "s3"

    def __init__(self, age: float) -> None:
        self.files = {"logs/run/run.json": b"{}", "logs/run/large": b"x" * (SMALL + 1)}
        self.changed = {name: time.time() - age for name in self.files}
        self.asked: list[str] = []

    def invalidate_cache(self, path: str) -> None:
        """Nothing is cached."""

    def ls(self, path: str, detail: bool) -> list[dict[str, object]]:
        self.asked.append(f"list {path}")
        below = {name.removeprefix(f"{path}/") for name in self.files if name.startswith(f"{path}/")}
        folders = {name.partition("/")[0] for name in below if "/" in name}
        found: list[dict[str, object]] = [{"name": f"{path}/{name}", "type": "directory"} for name in folders]
        for name in (f"{path}/{name}" for name in below if "/" not in name):
            size, changed = len(self.files[name]), self.changed[name]
            found.append({"name": name, "type": "file", "size": size, "mtime": changed})
        return found

    def cat_file(self, path: str, start: int, end: int) -> bytes:
        self.asked.append(f"read {path}")
        return self.files[path][start:end]


def _read(folder: RemoteFolder, *names: str) -> list[bytes]:
    return [folder.open(name)[0].read() for name in names]


def _opened(bucket: _Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RemoteFolder:
    """As a new process opens the address; returns its folder, after it read all files."""
    folder = RemoteFolder(bucket, "logs", "s3://logs", False)
    monkeypatch.setattr(address_cache, "remote_of", lambda path: (folder, ""))
    bucket.asked.clear()
    cache = AddressCache(tmp_path, Path("/logs"))
    cache.recall()
    folder.scan("")
    assert _read(folder, "run/run.json", "run/large") == list(bucket.files.values())
    cache.store()
    return folder


def test_small_files_are_read_again_only_if_they_changed(tmp_path, monkeypatch) -> None:
    bucket = _Bucket(age=60)
    folder = _opened(bucket, tmp_path, monkeypatch)
    assert bucket.asked == ["list logs", "list logs/run", "read logs/run/run.json", "read logs/run/large"]
    assert _read(folder, "run/run.json") == [b"{}"]
    assert bucket.asked.count("read logs/run/run.json") == 1
    _opened(bucket, tmp_path, monkeypatch)
    assert sorted(bucket.asked) == ["list logs", "list logs/run", "read logs/run/large"]
    bucket.files["logs/run/run.json"] = b"[]"  # of the same size
    bucket.changed["logs/run/run.json"] += 1
    _opened(bucket, tmp_path, monkeypatch)
    assert "read logs/run/run.json" in bucket.asked


def test_a_file_that_was_written_just_now_is_read_again(tmp_path, monkeypatch) -> None:
    bucket = _Bucket(age=0)  # the next write may get the same time
    folder = _opened(bucket, tmp_path, monkeypatch)
    bucket.files["logs/run/run.json"] = b"[]"
    assert _read(folder, "run/run.json") == [b"[]"]


def test_a_damaged_file_of_the_cache_is_not_used(tmp_path, monkeypatch) -> None:
    bucket = _Bucket(age=60)
    _opened(bucket, tmp_path, monkeypatch)
    (path,) = tmp_path.rglob("address.index")
    data = bytearray(path.read_bytes())
    data[-64] ^= 1  # the first byte of `{}`
    path.write_bytes(data)
    _opened(bucket, tmp_path, monkeypatch)
    assert "read logs/run/run.json" in bucket.asked
