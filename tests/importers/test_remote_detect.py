"""Foreign formats at addresses are told by few reads, and in spite of objects that cannot be read."""

from __future__ import annotations

import errno
import uuid
from collections.abc import Iterable
from pathlib import Path

import fsspec
import pytest

from tensortap.core.errors import RemoteError
from tensortap.importers import remote_detect
from tensortap.importers.resolve import resolve_log_directories
from tensortap.storage.files import FileReader
from tensortap.storage.uri import address_of, path_of

MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")  # at the end of a checkpoint's index


def at_address(names: Iterable[str], content: bytes) -> Path:
    root = uuid.uuid4().hex
    for name in names:
        fsspec.filesystem("memory").pipe(f"/{root}/logs/{name}", content)
    return path_of(f"memory://{root}/logs")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what is read; names that begin with `locked` cannot be."""
    found: list[str] = []

    def read(path: Path) -> FileReader:
        found.append(path.name)
        if path.name.startswith("locked"):
            raise PermissionError(errno.EACCES, "Permission denied", path.name)
        return FileReader(path)

    monkeypatch.setattr(remote_detect, "FileReader", read)
    return found


def is_known(place: Path) -> bool:
    return remote_detect._is_known(remote_detect._foreign_files(place), place.name)


def test_one_object_that_cannot_be_read_does_not_close_the_rest(reads: list[str]) -> None:
    place = at_address(["locked.index", "notes.txt"], b"text")
    assert resolve_log_directories([place]) == [place]
    assert reads == ["locked.index"]
    assert is_known(at_address(["locked.index", "model-1.index"], b"table" + MAGIC))


def test_what_was_named_itself_must_be_readable(reads: list[str]) -> None:
    place = at_address(["locked.npz"], b"PK")
    with pytest.raises(RemoteError, match=r"locked\.npz cannot be read: Permission denied"):
        resolve_log_directories([path_of(f"{address_of(place)}/locked.npz")])
    assert reads == ["locked.npz"]


def test_of_many_objects_few_are_read(reads: list[str]) -> None:
    names = [f"model-{number:03}.index" for number in range(150)]
    place = at_address([*names, "below/deeper.index"], b"text")
    assert not is_known(place)
    assert reads == names[:100]
