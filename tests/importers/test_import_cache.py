"""The cache of imports: several processes at a time, sources that change, what is removed and what stays."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import tensortap
from tensortap.api.logdir import open_logdir
from tensortap.importers import cache_lock, import_cache, resolve
from tensortap.importers.cache_lock import LOCK, FolderLease, remove_unused
from tensortap.importers.errors import RefusedError
from tensortap.importers.import_cache import CachedImport, CacheNotWritableError, cached_copy, cached_import
from tensortap.importers.importing import import_source
from tensortap.importers.safe_io import files_below
from tensortap.storage.links import FOLLOW_LINKS

MONTHS = 90 * 86_400


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "weights"
    folder.mkdir()
    np.save(folder / "a.npy", np.ones(3))
    return folder


def import_meanwhile(source: Path, cache: Path, gate: Any, answers: Any) -> None:
    """Imports as soon as all processes are there."""
    gate.wait(60)
    try:
        answers.put(str(cached_import(source, cache).logdir))
    except BaseException as error:
        answers.put(f"{type(error).__name__}: {error}")


def test_processes_import_one_source_at_a_time(source: Path, tmp_path: Path) -> None:
    for number in range(40):
        np.save(source / f"t{number}.npy", np.ones(10))
    context = multiprocessing.get_context("fork")
    gate, answers = context.Barrier(3), context.Queue()
    arguments = (source, tmp_path / "cache", gate, answers)
    processes = [context.Process(target=import_meanwhile, args=arguments) for _ in range(3)]
    for process in processes:
        process.start()
    reported = {answers.get(timeout=100) for _ in processes}
    for process in processes:
        process.join(60)
        process.close()
    answers.close()
    answers.join_thread()

    (logdir,) = reported
    assert len(list(open_logdir(Path(logdir)).runs)) == 1
    assert [folder.name for folder in Path(logdir).parent.parent.iterdir()] == [Path(logdir).parent.name]


def changed(source: Path, cache: Path) -> CachedImport:
    np.save(source / f"b{len(list(source.iterdir()))}.npy", np.ones(3))
    return cached_import(source, cache)


def test_an_import_stays_as_long_as_a_process_uses_it(source: Path, tmp_path: Path) -> None:
    first = cached_import(source, tmp_path / "cache")
    log = open_logdir(first.logdir)

    second = changed(source, tmp_path / "cache")

    assert second.logdir != first.logdir and first.logdir.exists()
    assert np.asarray(log.runs["weights"].tensor("a:0")).tolist() == [1, 1, 1]


def test_former_states_go_when_nobody_uses_them(source: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tensortap.importers.import_cache import cached_import;"
        "print(cached_import(Path(sys.argv[1]), Path(sys.argv[2])).logdir)"
    )
    command = [sys.executable, "-c", code, str(source), str(tmp_path / "cache")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    first = Path(done.stdout.strip())
    assert first.exists()

    second = changed(source, tmp_path / "cache")

    assert not first.exists()
    assert list(second.logdir.parent.parent.iterdir()) == [second.logdir.parent]
    assert not changed(source, tmp_path / "cache").logdir.samefile(second.logdir)


def test_what_was_not_used_for_long_goes_and_what_is_damaged_is_made_again(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "a.npy", np.ones(3))
    old = cached_import(tmp_path / "old", cache).logdir
    given_up(old.parent)
    killed = old.parent.parent / ".making-123"
    killed.mkdir()
    os.utime(killed, (1, 1))

    new = cached_import(tmp_path / "new", cache)

    assert not old.exists() and not killed.exists()
    given_up(new.logdir.parent, ago=0)
    (new.logdir / "imported.json").write_text("{")
    assert cached_import(tmp_path / "new", cache).fresh
    assert not cached_import(tmp_path / "new", cache).fresh


def given_up(state: Path, ago: float = MONTHS) -> None:
    """As after the end of the process that imported it."""
    from tensortap.importers.import_cache import _uses

    _uses.pop(state).end()
    os.utime(state / LOCK, (time.time() - ago,) * 2)


def test_a_folder_of_another_host_is_left_alone_for_a_week(tmp_path: Path) -> None:
    folder = tmp_path / "used"
    folder.mkdir()
    use = FolderLease(folder)
    assert not remove_unused(folder)
    os.utime(folder / LOCK, (1, 1))  # used for months
    assert not remove_unused(folder)
    use.end()
    (folder / LOCK).write_text("another")
    assert not remove_unused(folder)
    os.utime(folder / LOCK, (1, 1))
    assert remove_unused(folder) and not list(tmp_path.iterdir())


def test_what_a_killed_import_left_is_removed_by_the_next(source: Path, tmp_path: Path) -> None:
    logdir = tmp_path / "logs"
    killed, running = logdir / ".importing-1", logdir / ".importing-2"
    for folder in (killed, running):
        folder.mkdir(parents=True)
        (folder / "values").write_bytes(bytes(1000))
    FolderLease(killed).end()
    use = FolderLease(running)

    import_source(source, logdir)

    assert sorted(path.name for path in logdir.iterdir()) == [".importing-2", "weights"]
    use.end()


def safetensors(number: float) -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return len(header).to_bytes(8, "little") + header + np.float32(number).tobytes()


def value_of(found: CachedImport) -> float:
    (run,) = open_logdir(found.logdir).runs.values()
    return float(np.asarray(run.tensor("w:0"))[0])


def test_a_shard_that_changed_is_noticed_whatever_its_name(tmp_path: Path) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"w": "part1.safetensors"}}))
    (tmp_path / "part1.safetensors").write_bytes(safetensors(1))
    assert value_of(cached_import(index, tmp_path / "cache")) == 1

    (tmp_path / "part1.safetensors").write_bytes(safetensors(2))
    os.utime(tmp_path / "part1.safetensors", (1, 1))

    assert value_of(cached_import(index, tmp_path / "cache")) == 2


def test_links_to_files_are_followed_and_have_their_own_names(tmp_path: Path) -> None:
    blob, snapshot = tmp_path / "blobs" / "0a1b", tmp_path / "snapshot"
    blob.parent.mkdir()
    snapshot.mkdir()
    blob.write_bytes(safetensors(7))
    (snapshot / "model.safetensors").symlink_to("../blobs/0a1b")
    (snapshot / "blobs").symlink_to("../blobs")
    (snapshot / "gone.safetensors").symlink_to("../nowhere")
    (snapshot / "circle.safetensors").symlink_to("circle.safetensors")

    folder = cached_import(snapshot, tmp_path / "cache")
    file = cached_import(snapshot / "model.safetensors", tmp_path / "cache")

    assert value_of(folder) == value_of(file) == 7
    assert file.imported.runs == ["model.safetensors"]
    blob.write_bytes(safetensors(8))
    os.utime(blob, (1, 1))
    assert value_of(cached_import(snapshot, tmp_path / "cache")) == 8


def test_locks_that_a_file_system_lacks_do_not_stop_an_import(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(fd: int, kind: int) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(cache_lock.fcntl, "flock", flock)

    assert cached_import(source, tmp_path / "cache").fresh
    second = changed(source, tmp_path / "cache")
    assert len(list(second.logdir.parent.parent.iterdir())) == 2


@pytest.fixture
def read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes the cache refuse every write with an errno, also to root."""

    def refuse(code: int) -> None:
        def check(path: Any) -> None:
            if os.fspath(path).startswith(str(tmp_path / "cache")):
                raise OSError(code, os.strerror(code), os.fspath(path))

        def open_(path: Any, flags: int, *rest: Any, real: Any = os.open, **options: Any) -> int:
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                check(path)
            return int(real(path, flags, *rest, **options))

        def of(real: Any) -> Callable[..., Any]:
            def call(path: Any, *rest: Any, **options: Any) -> Any:
                check(path)
                return real(path, *rest, **options)

            return call

        monkeypatch.setattr(os, "open", open_)
        for name in ("mkdir", "rename", "rmdir", "unlink"):
            monkeypatch.setattr(os, name, of(getattr(os, name)))

    return refuse


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_a_cache_that_cannot_be_written_to_is_read(
    source: Path, tmp_path: Path, read_only: Callable[[int], None], code: int
) -> None:
    first = cached_import(source, tmp_path / "cache")
    in_use_here = import_cache._uses.pop(first.logdir.parent)
    in_use_here.end()
    read_only(code)
    again = cached_import(source, tmp_path / "cache")
    assert (again.fresh, again.logdir) == (False, first.logdir)
    np.save(source / "a.npy", np.ones(4))
    with pytest.raises(CacheNotWritableError, match="Imports cannot be written to"):
        cached_import(source, tmp_path / "cache")


def test_a_cache_that_cannot_be_written_to_has_nothing_copied(
    tmp_path: Path, read_only: Callable[[int], None]
) -> None:
    def source() -> NoReturn:
        raise AssertionError("the source is copied")

    read_only(errno.EROFS)
    with pytest.raises(CacheNotWritableError, match="Imports cannot be written to"):
        cached_copy("s3://b/a.npy", "state", "a.npy", tmp_path / "cache", source)


def test_a_copy_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    def source() -> NoReturn:
        raise ConnectionResetError("gone")

    with pytest.raises(ConnectionResetError):
        cached_copy("s3://b/a.npy", "state", "a.npy", tmp_path / "cache", source)
    assert [path for path in (tmp_path / "cache").rglob("*") if not path.is_dir()] == []
    assert not list((tmp_path / "cache").rglob(".making-*"))


def test_what_a_read_only_cache_lacks_is_imported_for_this_time(
    source: Path,
    tmp_path: Path,
    read_only: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TENSORTAP_CACHE", str(tmp_path / "cache"))
    resolve._cache.cache_clear()
    read_only(errno.EROFS)
    assert len(tensortap.open(source).runs) == 1
    said = capsys.readouterr().err
    assert "Imports cannot be written to" in said and "not cached" in said
    assert not (tmp_path / "cache").exists()
    resolve._cache.cache_clear()


@pytest.mark.parametrize("what", ["link", "fifo"])
def test_a_lock_that_is_no_file_is_neither_written_nor_waited_for(tmp_path: Path, what: str) -> None:
    precious, folder = tmp_path / "precious", tmp_path / ".importing-x"
    precious.write_text("important" * 50)
    folder.mkdir()
    if what == "link":
        (folder / LOCK).symlink_to(precious)
    else:
        os.mkfifo(folder / LOCK)
    alone = "import sys; from pathlib import Path; from tensortap.importers.cache_lock import remove_unused\n"
    alone += "print(remove_unused(Path(sys.argv[1])))"
    said = subprocess.run([sys.executable, "-c", alone, str(folder)], capture_output=True, timeout=60)
    assert said.stdout.split() == [b"False"]
    with pytest.raises(OSError):
        FolderLease(folder)
    assert precious.read_text() == "important" * 50


def test_an_import_of_another_user_is_not_taken(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    made = cached_import(source, cache).logdir
    levels = [made, *made.parents[:3]]
    assert levels[-1] == cache / "imports"
    assert [level.stat().st_mode & 0o077 for level in levels] == [0] * 4
    if os.geteuid() == 0:  # whose folders all users take
        os.chown(made, 54_321, -1)
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    with pytest.raises(CacheNotWritableError, match="another user"):
        cached_import(source, cache)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="gives a link to another user")
def test_links_of_others_do_not_lead_to_private_files(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "secret.npy", np.ones(2))
    (source / "harmless.npy").symlink_to(tmp_path / "secret.npy")
    (source / "mine.npy").symlink_to(tmp_path / "secret.npy")
    os.chown(source / "harmless.npy", 54_321, -1, follow_symlinks=False)
    assert [path.name for path in files_below(source)] == ["a.npy"]
    monkeypatch.setenv(FOLLOW_LINKS, "1")
    assert [path.name for path in files_below(source)] == ["a.npy", "mine.npy"]
    assert cached_import(source, tmp_path / "cache").imported.snapshots == 2


@pytest.mark.parametrize("kind", ["a file", "a folder", "a link to a link"])
def test_links_lead_nowhere_outside_of_the_source(source: Path, tmp_path: Path, kind: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    np.save(outside / "secret.npy", np.ones(2))
    target = outside if kind == "a folder" else outside / "secret.npy"
    if kind == "a link to a link":
        (source / ".hop").symlink_to(target)
        target = source / ".hop"
    (source / "secret.npy").symlink_to(target)

    found = cached_import(source, tmp_path / "cache").imported

    assert found.snapshots == 1
    assert "link" in found.notes[0] and "--follow-links" in found.notes[0]


def test_shards_behind_a_link_that_leads_out_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    (tmp_path / "w.safetensors").write_bytes(safetensors(7))
    (folder / "m.safetensors").symlink_to(tmp_path / "w.safetensors")
    (folder / "m.safetensors.index.json").write_text(json.dumps({"weight_map": {"w": "m.safetensors"}}))

    with pytest.raises(RefusedError, match="leads out"):
        import_source(folder, tmp_path / "logs")
