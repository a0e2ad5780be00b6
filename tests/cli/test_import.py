"""`tensortap import`, and foreign formats in the place of a log directory."""

from __future__ import annotations

import json
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from range_server import serving

import tensortap
from tensortap.core.errors import NotARunError
from tensortap.importers.resolve import resolve_log_directories

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An .npz file, and a cache of one's own."""
    monkeypatch.setenv("TENSORTAP_CACHE", str(tmp_path / "cache"))
    tensortap.importers.resolve._cache.cache_clear()
    np.savez(tmp_path / "weights-3.npz", w=np.arange(6.0), objects=np.array([{}], object))
    return tmp_path / "weights-3.npz"


def test_a_source_becomes_a_run(run: Run, source: Path, tmp_path: Path) -> None:
    status, out, err = run("import", source, tmp_path / "logs", "--run", "first")

    assert status == 0
    assert out.startswith("1 snapshot, 0 graphs in ")
    assert "Python objects" in err
    found = tensortap.open(tmp_path / "logs").runs["first"]
    assert found.tensor("w", step=3)[:].tolist() == list(range(6))
    assert "Python objects" in found.info["notes"]


def test_no_secret_of_the_command_gets_into_a_run(
    run: Run, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path) as server:
        address = f"http://me:hunter2@127.0.0.1:{server.server_port}/{source.name}?X-Amz-Signature=hunter2"
        monkeypatch.setattr(sys, "argv", ["tensortap", "import", address, str(tmp_path / "logs")])
        assert run(*sys.argv[1:])[0] == 0
    monkeypatch.setattr(sys, "argv", ["tensortap", "serve", str(source), "--to", "hunter2"])
    (cached,) = resolve_log_directories([source])

    (imported,) = (tmp_path / "logs").rglob("run.json")
    plain = address.replace("me:hunter2@", "…@").partition("?")[0]
    recorded = ["tensortap", "import", f"{plain}?…", str(tmp_path / "logs")]
    assert json.loads(imported.read_text())["info"]["command"] == recorded
    for path in [*(tmp_path / "logs").rglob("*"), *cached.rglob("*")]:
        assert path.is_dir() or b"hunter2" not in path.read_bytes()


def test_json_says_what_was_made(run: Run, source: Path, tmp_path: Path) -> None:
    status, out, _ = run("import", source, tmp_path / "logs", "--json")

    made = json.loads(out)
    assert (status, made["format"], made["runs"], made["snapshots"]) == (0, "npz", ["weights-3.npz"], 1)


def test_failures_are_sentences(run: Run, source: Path, tmp_path: Path) -> None:
    run("import", source, tmp_path / "logs")
    status, _, err = run("import", source, tmp_path / "logs")
    assert (status, "already exists" in err) == (1, True)
    status, _, err = run("import", tmp_path / "none", tmp_path / "logs")
    assert (status, "does not exist" in err) == (1, True)
    status, _, err = run("import", source, tmp_path / "logs", "--run", "b", "--format", "keras")
    assert (status, "HDF5" in err) == (1, True)


def test_the_formats_are_listed_and_documented(run: Run) -> None:
    status, out, _ = run("import", "--formats")

    assert status == 0
    guide = (Path(__file__).parents[2] / "docs" / "import.md").read_text()
    names = {line.split()[0] for line in out.splitlines()}
    assert len(names) == 14
    assert {name for name in names if f"`{name}`" not in guide} == {"safetensors_shards"}


def test_commands_read_a_source_in_place(run: Run, source: Path) -> None:
    status, out, err = run("show", source, "w")
    assert (status, "float64 6, step 3" in out, "imported into the cache (1 snapshot)" in err) == (
        0,
        True,
        True,
    )

    assert "unchanged; read from the cache" in run("ls", source)[2]

    np.savez(source, w=np.zeros((2, 2)), more=np.ones(3))
    status, out, err = run("show", source)
    assert (status, "imported into the cache (2 snapshots)" in err) == (0, True)
    assert "2×2" in out


def test_open_reads_a_source_in_place(source: Path) -> None:
    (found,) = tensortap.open(source).runs.values()

    assert set(found.tensors) == {"w:0"}


def test_without_a_cache_it_is_imported_for_the_process(
    source: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TENSORTAP_CACHE", "off")
    tensortap.importers.resolve._cache.cache_clear()

    assert len(tensortap.open(source).runs) == 1
    assert not (tmp_path / "cache").exists()


def test_a_server_keeps_a_foreign_folder_as_a_log_directory(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "arrays"
    folder.mkdir()
    source.rename(folder / source.name)

    cached, own = resolve_log_directories([folder])

    assert own == folder and cached.is_dir()
    assert resolve_log_directories([tmp_path / "not yet"]) == [tmp_path / "not yet"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("graph.pbtxt", "as_text=False"),
        ("v1.ckpt", "Supported formats: a log directory"),
        ("odd.txt", "a SavedModel, "),
        ("odd.tar.gz", "unpack it"),
    ],
)
def test_a_file_that_nobody_can_read_is_not_called_missing(
    run: Run, source: Path, tmp_path: Path, name: str, hint: str
) -> None:
    (tmp_path / name).write_text("node {}")
    status, _, err = run("ls", tmp_path / name)
    assert status == 1
    assert "has an unknown format" in err
    assert hint in err
    with pytest.raises(NotARunError, match="has an unknown format"):
        resolve_log_directories([tmp_path / name])
    with pytest.raises(NotARunError, match="has an unknown format"):
        tensortap.open(tmp_path / name)


def test_a_tar_under_another_name_is_to_be_unpacked(run: Run, source: Path, tmp_path: Path) -> None:
    packed = tmp_path / "arrays.tar.npz"
    with tarfile.open(packed, "w") as archive:
        archive.add(source, source.name)
    status, _, err = run("ls", packed)
    assert status == 1
    assert "has an unknown format" in err and "unpack it" in err


def test_a_failed_import_leaves_no_log_directory(run: Run, source: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "none.npz", objects=np.array([{}], object))
    assert run("import", tmp_path / "none.npz", tmp_path / "new" / "logs")[0] == 1
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    assert run("import", tmp_path / "none.npz", tmp_path / "old")[0] == 1
    assert list((tmp_path / "old").iterdir()) == []


def test_one_of_several_imported_runs_is_named_so_that_it_opens(
    run: Run, source: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "several"
    folder.mkdir()
    for name in ("a-1", "b-1"):
        np.savez(folder / f"{name}.npz", w=np.arange(3.0))
    status, _, err = run("nan", folder)
    assert status == 1
    first = err.split("Pass one of them: ")[1].split(", ")[0]
    assert run("nan", first.strip())[0] == 0


def test_what_was_skipped_is_reported_from_the_cache_too(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSORTAP_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "some"
    source.mkdir()
    np.save(source / "a.npy", np.ones(3))
    np.save(source / "b.npy", np.ones(4))
    (source / "b.npy").write_bytes((source / "b.npy").read_bytes()[:-5])
    first, again = run("show", source)[2], run("nan", source)[2]
    assert "imported into the cache" in first and "read from the cache" in again
    for err in (first, again):
        assert "Skipped: b: b.npy is truncated" in err
