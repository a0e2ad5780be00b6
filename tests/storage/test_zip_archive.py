"""Zips that nothing is known of: read in place, or refused in a sentence."""

from __future__ import annotations

import io
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensortap.__main__ import main
from tensortap.core.errors import DamagedError, TensortapError
from tensortap.dump.read.runs import RunReader, find_runs
from tensortap.dump.read.values_reader import read_value, value_ref
from tensortap.dump.write.writer import DumpWriter
from tensortap.storage import zip_archive as archives
from tensortap.storage.filesystem import (
    exists,
    is_folder,
    open_file,
    scan,
    stat_path,
)
from tensortap.storage.zip_archive import Archive


def zipped(folder, path, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder))
    return path


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    with DumpWriter(folder, "deep/run") as writer:
        for step in range(3):
            writer.log("a", np.arange(1000) + step, step=step)
    return folder


@pytest.fixture
def archive(logs, tmp_path):
    return zipped(logs, tmp_path / "x.tap.zip")


def test_runs_in_an_archive_are_found_and_read(archive):
    ((name, path),) = find_runs(archive)
    assert name == "deep/run"
    reader = RunReader(path)
    (worker,) = reader.workers()
    tail = reader.tail(worker.worker)
    commits = tail.poll()
    assert tail.closed
    values = [
        read_value(value_ref(path, worker.worker, commit.batch, row))
        for commit in commits
        for row in range(commit.batch.num_rows)
    ]
    assert [value[5] for value in values] == [5, 6, 7]


def test_an_archive_may_be_named_by_a_link(archive, tmp_path):
    link = tmp_path / "link.tap.zip"
    link.symlink_to(archive)
    ((_, path),) = find_runs(link)
    reader = RunReader(path)
    assert not reader.info().damage
    assert len(reader.tail(reader.workers()[0].worker).poll()) > 0


def test_folders_and_files_of_an_archive(archive):
    assert is_folder(archive)
    assert is_folder(archive / "deep")
    assert not is_folder(archive / "deep" / "run" / "run.json")
    assert exists(archive / "deep" / "run" / "run.json")
    assert not exists(archive / "deep" / "ran")
    assert [entry.name for entry in scan(archive)] == ["deep"]
    found = {entry.name: entry for entry in scan(archive / "deep" / "run")}
    assert found["run.json"].is_file
    assert found["run.json"].size == stat_path(archive / "deep" / "run" / "run.json").size > 50
    with pytest.raises(OSError, match=r"run\.json"):
        scan(archive / "deep" / "run" / "run.json")
    with pytest.raises(OSError):
        stat_path(archive.parent / "no.zip" / "x")


def test_an_archive_that_is_replaced_is_read_anew(archive, tmp_path):
    assert exists(archive / "deep")
    (tmp_path / "other" / "b").mkdir(parents=True)
    (tmp_path / "other" / "b" / "file").write_text("x")
    zipped(tmp_path / "other", archive)
    assert not exists(archive / "deep")
    assert exists(archive / "b" / "file")


def made(members, path, **changes):
    """A zip with such members; `changes` are made to each entry of the list of members."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name)
            for key, value in changes.items():
                setattr(info, key, value)
            archive.writestr(info, data)
    return path


@pytest.mark.parametrize(
    ("members", "changes", "sentence"),
    [
        ([("../up", "x")], {}, "not valid"),
        ([("/root", "x")], {}, "not valid"),
        ([("a//b", "x")], {}, "not valid"),
        ([("c:evil", "x")], {}, "not valid"),
        ([("a/" * 20 + "b", "x")], {}, "not valid"),
        ([("n" * 2000, "x")], {}, "not valid"),
        ([("a", "x" * 500)], {"compress_type": zipfile.ZIP_DEFLATED}, "compressed"),
        ([("a", "target")], {"external_attr": 0o120777 << 16}, "a link"),
        ([("a", "x"), ("a/b", "y")], {}, "same name"),
    ],
)
def test_what_cannot_be_read_in_place_is_refused(tmp_path, members, changes, sentence):
    path = made(members, tmp_path / "x.zip", **changes)
    with pytest.raises(DamagedError, match=sentence):
        Archive(path)
    with pytest.raises(DamagedError, match="tensortap export"):
        is_folder(path)
    assert find_runs(path) == []


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_there_twice_is_refused(tmp_path):
    with pytest.raises(DamagedError, match="twice"):
        Archive(made([("a", "x"), ("a", "y")], tmp_path / "x.zip"))


def test_members_that_overlap_are_refused(tmp_path):
    """A list of members that names one member's bytes again and again: a small file that claims much."""
    path = made([("a", b"x" * 10_000), ("b", b"y")], tmp_path / "x.zip")
    data = path.read_bytes()
    start = data.index(b"PK\x01\x02")
    entry = data[start : data.index(b"PK\x01\x02", start + 1)]
    entries = b"".join(entry.replace(b"a", bytes([65 + i]), 1) if i else entry for i in range(26))
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 26, 26, len(entries), start, 0)
    path.write_bytes(data[:start] + entries + end)
    with pytest.raises(DamagedError, match=r"overlap|read"):
        Archive(path)


def test_a_member_within_another_one_is_refused(tmp_path):
    """Together they have fewer bytes than the archive, which other members make large."""
    path = made([("big", b"x" * 100_000), ("a", b"y" * 1_000), ("b", b"z" * 100)], tmp_path / "x.zip")
    data = bytearray(path.read_bytes())
    first, last = data.rindex(b"PK\3\4", 0, data.rindex(b"PK\3\4")), data.rindex(b"PK\1\2")
    data[last + 42 : last + 46] = struct.pack("<I", first + 200)  # where `b` begins
    path.write_bytes(data)
    with pytest.raises(DamagedError, match=r"'a' and 'b' of x\.zip overlap"):
        Archive(path)


def test_a_member_whose_own_header_is_longer_than_it_may_be(tmp_path):
    path = made([("a", b"y" * 1_000), ("b", b"z" * 1_000), ("c", b"z" * 1_000)], tmp_path / "x.zip")
    data = bytearray(path.read_bytes())
    data[28:30] = struct.pack("<H", 500)  # of the extra field of `a`: its bytes would reach into `b`
    path.write_bytes(data)
    with pytest.raises(DamagedError, match="truncated or changed"):
        open_file(path / "a")


def test_a_member_that_the_list_has_lost_is_reported(tmp_path):
    """`zipfile` reads the list without it, so that the file would just be missing."""
    path = made([("a", b"y"), ("b", b"z")], tmp_path / "x.zip")
    data = path.read_bytes()
    first, last, end = data.index(b"PK\1\2"), data.rindex(b"PK\1\2"), data.index(b"PK\5\6")
    shorter = bytearray(data[end:])
    shorter[12:16] = struct.pack("<I", end - last)  # bytes of the list
    path.write_bytes(data[:first] + data[last:end] + shorter)
    with pytest.raises(DamagedError, match="lists 1 members, and claims 2"):
        Archive(path)


def test_a_list_of_members_that_is_too_long_is_not_read(tmp_path, monkeypatch):
    path = made([(f"{i}", "x") for i in range(10)], tmp_path / "x.zip")
    monkeypatch.setattr(archives, "MAX_MEMBERS", 5)
    monkeypatch.setattr(zipfile, "ZipFile", None)  # not even tried
    with pytest.raises(DamagedError, match="claims 10 members"):
        Archive(path)


@pytest.mark.parametrize("data", [b"", b"PK", b"not a zip" * 100, b"PK\x05\x06" + bytes(3)])
def test_no_zip_at_all(tmp_path, data):
    path = tmp_path / "x.zip"
    path.write_bytes(data)
    with pytest.raises(DamagedError, match="zip"):
        is_folder(path)
    assert find_runs(path) == []


@settings(max_examples=150)
@given(st.data())
def test_damage_is_found_or_harmless(logs, tmp_path_factory, data):
    path = tmp_path_factory.mktemp("fuzz") / "x.zip"
    buffer = io.BytesIO()
    zipped(logs, buffer)
    content = bytearray(buffer.getvalue())
    start = content.index(b"PK\x01\x02")
    for _ in range(data.draw(st.integers(1, 4))):
        where = st.integers(start, len(content) - 1) | st.integers(0, len(content) - 1)
        content[data.draw(where)] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.sampled_from([len(content), len(content) - 7, start]))])
    for _, run_dir in find_runs(path):
        try:
            reader = RunReader(run_dir)
            for worker in reader.workers():
                for commit in reader.tail(worker.worker).poll():
                    for row in range(commit.batch.num_rows):
                        ref = value_ref(run_dir, worker.worker, commit.batch, row)
                        assert ref is not None
                        step = commit.batch.column("step")[row].as_py()
                        assert (read_value(ref) == np.arange(1000) + step).all()
        except (TensortapError, FileNotFoundError):
            continue


def test_check_says_what_to_do_with_an_archive(archive, tmp_path, capsys):
    assert main(["check", str(archive), "--repair"]) == 1
    assert "Unzip it and repair the folder." in capsys.readouterr().err
    cut = tmp_path / "cut.tap.zip"
    cut.write_bytes(archive.read_bytes()[:-200])
    assert main(["check", str(cut)]) == 1
    assert "if it was truncated, copy it again" in capsys.readouterr().err
