"""Dumps at addresses: fsspec's memory, a web server with ranges; what is secret stays so."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import traceback
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path

import fsspec
import numpy as np
import pytest
import tensorflow as tf
from polling import until
from range_server import Server, serving

import tensortap
from tensortap.capture.tap import Tap
from tensortap.capture.watching.watch import Watch
from tensortap.core.errors import RemoteError, TensortapError
from tensortap.dump.read.runs import find_runs
from tensortap.dump.write.writer import DumpWriter
from tensortap.importers.resolve import resolve_log_directories
from tensortap.index.logdir_index import LogIndex
from tensortap.server.app import create_app
from tensortap.storage.entry import Entry
from tensortap.storage.filesystem import is_folder, scan
from tensortap.storage.fsspec_folder import RemoteFolder
from tensortap.storage.uri import path_of, shown_path

SECRET = "hunter2"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs `exp/big`, of 8 MB of values, and `deep run`."""
    folder = tmp_path_factory.mktemp("elsewhere")
    with DumpWriter(folder, "exp/big") as writer:
        for step in range(2):
            writer.log("big", np.arange(2**20, dtype=np.float32) + step, step=step, keep="value")
    with DumpWriter(folder, "deep run") as writer:
        writer.log("a/b", np.ones(3), step=0)
        writer.event("batch", step=0, ids=["7"], files=["a.png"], count=1)
    return folder


@pytest.fixture
def memory(logs: Path) -> str:
    address = f"memory://{uuid.uuid4().hex}/logs"
    fsspec.filesystem("memory").put(f"{logs}/", address.removeprefix("memory:/"), recursive=True)
    return address


@pytest.fixture
def web(logs: Path) -> Iterator[Server]:
    with serving(logs) as server:
        yield server


def test_memory_is_read_as_a_disk_is(memory: str, run) -> None:
    log = tensortap.open(memory)
    assert set(log.runs) == {"exp/big", "deep run"}
    assert repr(log).startswith("<log 'logs'")
    assert log.runs["exp/big"].tensor("big", step=1)[:3].tolist() == [1, 2, 3]
    assert log.runs["deep run"].steps_of(id="7") == [0]
    assert list(tensortap.open(f"{memory}/exp/big").runs) == ["big"]
    status, out, _ = run("ls", memory, "--json")
    assert status == 0
    assert {found["path"] for found in json.loads(out)} == {f"{memory}/exp/big", f"{memory}/deep run"}
    assert all(found["bytes"] > 500 for found in json.loads(out))
    for command in (["check", memory], ["info", f"{memory}/exp/big"], ["show", f"{memory}/deep run", "a/b"]):
        assert run(*command)[0] == 0
    assert "cannot be repaired in place" in run("check", memory, "--repair")[2]


def test_the_page_shows_it(memory: str) -> None:
    client = create_app(path_of(memory)).test_client()
    names = {found["name"] for found in client.get("/api/runs").get_json()["runs"]}
    assert names == {"exp/big", "deep run"}


def test_what_is_added_is_seen(tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    root = f"/{uuid.uuid4().hex}"
    address = f"memory:/{root}"
    with DumpWriter(tmp_path, "live") as writer:
        writer.log("x", np.ones(3), step=0)
        writer.flush()
        memory.put(f"{tmp_path}/", root, recursive=True)
        log = tensortap.open(address)
        assert log.runs["live"].steps.tolist() == [0]
        writer.log("x", np.ones(3), step=1)
        writer.flush()
        memory.put(f"{tmp_path}/", root, recursive=True)
        until(lambda: log.refresh() and log.runs["live"].steps.tolist() == [0, 1], "the second step")
    with DumpWriter(tmp_path, "second") as writer:
        writer.log("x", np.ones(3), step=0)
    memory.put(f"{tmp_path}/", root, recursive=True)
    until(lambda: log.refresh() and "second" in log.runs, "the second run")


def test_a_saved_index_is_used_again(tmp_path: Path) -> None:
    with DumpWriter(tmp_path / "logs", "r") as writer:
        for step in range(4200):
            writer.log("x", np.ones(3), step=step, keep="summary")
    for path in tmp_path.rglob("*"):
        os.utime(path, (1e9, 1e9))  # what was written a moment ago is proven by its checksum instead
    with serving(tmp_path) as server:
        first = LogIndex(f"{server.address}/logs", cache=tmp_path / "cache")
        first.refresh()
        read, server.sent = server.sent, 0
        again = LogIndex(f"{server.address}/logs", cache=tmp_path / "cache")
        again.refresh()
        assert [found.runs[0].catalog.rows for found in (first, again)] == [4200, 4200]
        assert server.sent < read / 10


def test_a_list_without_times_makes_no_old_run_live(tmp_path: Path) -> None:
    with DumpWriter(tmp_path / "written", "r") as writer:
        writer.log("x", 1.0, step=0)
        writer.flush()
        for name in ("old", "fresh"):
            shutil.copytree(tmp_path / "written", tmp_path / name)  # as if it was killed
    for path in (tmp_path / "old").rglob("*"):
        os.utime(path, (1e9, 1e9))
    with serving(tmp_path) as server:
        live = {}
        for name in ("old", "fresh"):
            log = LogIndex(path_of(f"{server.address}/{name}"), use_cache=False)
            log.refresh()
            live[name] = log.runs[0].live
    assert live == {"old": False, "fresh": True}


def test_only_the_ranges_that_are_needed_are_read(web: Server) -> None:
    big = tensortap.open(f"{web.address}/exp/big").runs["big"]
    web.sent = 0
    assert big.tensor("big", step=1)[1000:1003].tolist() == [1001, 1002, 1003]
    assert 0 < web.sent < 300_000
    assert np.asarray(big.tensor("big", step=0)).sum() == np.arange(2**20, dtype=np.float32).sum()


def test_an_archive_on_a_web_server_is_read_in_place(logs: Path, tmp_path: Path, run) -> None:
    assert run("export", logs / "exp" / "big", "--out", tmp_path / "big.tap.zip")[0] == 0
    with serving(tmp_path) as server:
        address = f"{server.address}/big.tap.zip?X-Signature={SECRET}"
        found = tensortap.open(address).runs["big"]
        assert found.tensor("big", step=1)[-1] == 2**20
        assert server.sent < 600_000
        status, out, err = run("ls", address, "--json")
        assert status == 0
        assert SECRET not in out + err
        assert run("export", address, "--out", tmp_path / "copy.tap.zip")[0] == 0
    with (
        zipfile.ZipFile(tmp_path / "copy.tap.zip") as copy,
        zipfile.ZipFile(tmp_path / "big.tap.zip") as whole,
    ):
        assert copy.namelist() == whole.namelist()
    assert "big" in tensortap.open(f"zip://::{tmp_path / 'copy.tap.zip'}").runs


def test_a_server_without_ranges_is_refused_with_a_way_out(web: Server, run) -> None:
    log = tensortap.open(f"{web.address}/exp/big")
    web.ranges, web.sent = False, 0
    with pytest.raises(OSError, match="does not support range requests; copy the run to a local disk") as why:
        np.asarray(log.runs["big"].tensor("big", step=1))
    assert "exp/big" in str(why.value.filename)
    status, _, err = run("show", f"{web.address}/exp/big", "big", "--step", "1")
    assert (status, "copy the run to a local disk" in err) == (1, True)


def test_an_archive_on_a_server_without_ranges_is_refused_with_a_way_out(
    logs: Path, tmp_path: Path, run
) -> None:
    assert run("export", logs / "exp" / "big", "--out", tmp_path / "big.tap.zip")[0] == 0
    with serving(tmp_path) as server:
        server.ranges = False
        status, _, err = run("ls", f"{server.address}/big.tap.zip")
    assert (status, "copy the run to a local disk" in err) == (1, True)


@pytest.mark.parametrize(
    "address",
    [
        "http://me:{secret}@127.0.0.1:{port}/forbidden/?token={secret}",
        "http://me:{secret}@127.0.0.1:{port}/none.tap.zip?token={secret}#{secret}",
        "http://me:{secret}@127.0.0.1:9/closed?token={secret}",
        "s4://me:{secret}@bucket/x?token={secret}",
        "zip://run::s4://me:{secret}@bucket/x?token={secret}",
    ],
)
def test_what_is_secret_is_in_no_error(web: Server, run, address: str) -> None:
    address = address.format(port=web.server_port, secret=SECRET)
    with pytest.raises(RemoteError) as caught:
        tensortap.open(address)
    assert caught.value.hint
    # What Python prints of it: the error, and those that it comes from.
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in "".join(traceback.format_exception_only(error))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    status, out, err = run("show", address)
    assert status != 0
    assert err
    assert SECRET not in out + err.split("invalid", 1)[0]
    assert SECRET not in err


def test_two_signatures_are_two_paths_with_one_face() -> None:
    one, two = (path_of(f"http://127.0.0.1/logs?signature={text}") for text in "ab")
    assert one != two
    assert shown_path(one / "run") == shown_path(two / "run") == "http://127.0.0.1/logs/run"
    assert path_of("http://127.0.0.1/logs?signature=a") == one


def test_a_local_address_is_a_path(tmp_path: Path) -> None:
    assert path_of(f"file://{tmp_path}") == tmp_path
    assert path_of("logs/a") == Path("logs/a")


class _Hostile:
    """A store that lists what it should not."""

    protocol = "http"

    def invalidate_cache(self, path: str) -> None:
        """Nothing is cached."""

    def ls(self, path: str, detail: bool) -> list[dict[str, object]]:
        names = ["..", "%2e%2e", "a%2Fb", "a%00", "fine", "", "x%3Fy"]
        return [{"name": f"root/{name}", "size": 3, "type": "file"} for name in names]

    def info(self, path: str) -> dict[str, object]:
        raise ValueError(f"a text with {SECRET}")

    def cat_file(self, path: str, start: int, end: int) -> bytes:
        return b"x" * 1000


def test_names_that_leave_their_folder_are_skipped() -> None:
    folder = RemoteFolder(_Hostile(), "root", "http://shown", True)
    assert [entry.name for entry in folder.scan("")] == ["fine"]
    with pytest.raises(OSError, match=r"cannot be read \(ValueError\)") as caught:
        folder.stat("fine")
    assert SECRET not in str(caught.value)
    with pytest.raises(OSError, match="longer than the requested range"):
        RemoteFolder(_Hostile(), "root", "s3://shown", False).read(
            "fine", Entry("fine", True, False, 500, 0, 0), 0, 10
        )


def test_what_is_read_only_is_not_written_to(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for address in ("https://me:secret@host/logs", "zip://logs::memory://a.zip", "memory://logs?x=1"):
        with pytest.raises(RemoteError, match="Cannot write to") as caught:
            DumpWriter(address, "r")
        assert "secret" not in str(caught.value)
    with pytest.raises(TensortapError, match="Cannot write to"):
        Tap("https://host/logs/r", Watch())
    with pytest.raises(TensortapError, match="does not name a run"):
        Tap("memory://r", Watch())
    for limit in ({"record": 3}, {"keep_last": 3}, {"max_bytes": 1 << 20}):
        with pytest.raises(TensortapError, match="does not work with a remote run"):
            Tap("memory://logs/r", Watch(), **limit)
    with pytest.raises(TensortapError, match="remote values are never deleted"):
        DumpWriter("memory://logs", "r", keep_last=3)
    status, _, err = run("export", tmp_path, "--out", "https://me:secret@host/x.tap.zip")
    assert (status, "Cannot write to" in err, "secret" in err) == (2, True, False)
    assert list(tmp_path.iterdir()) == []


def test_commands_that_work_on_addresses_and_those_that_say_why_not(memory: str, run, tmp_path: Path) -> None:
    big = f"{memory}/exp/big"
    assert "big:0" in run("diff", big, "--step", "0", "--step-b", "1", "--all")[1]
    assert run("rules", big)[0] == run("nan", big)[0] == 0
    for command, why in (
        (["prune", big, "--keep-last", "1"], "remote runs cannot be pruned"),
        (["watch", big], "do not read watch.json"),
        (["replay", big], "only local runs"),
        (["demo", "--logdir", memory], "only local paths"),
    ):
        status, _, err = run(*command)
        assert (status, why in err) == (2, True), err
    assert "has no recording" in run("bundle", big, "--out", tmp_path / "x.tapbundle")[2]


@pytest.mark.parametrize("format", ["tap.zip", "csv", "tensorboard"])
def test_a_run_is_exported_to_an_address(memory: str, run, monkeypatch, format: str) -> None:
    out = f"{memory}/mail/deep.{format}"
    status, reported, err = run("export", f"{memory}/deep run", "--out", out, "--format", format)
    assert (status, reported.startswith(f"{out}: 1 snapshot")) == (0, True), err
    assert tensortap.open(memory).runs["deep run"].steps.tolist() == [0]
    if format != "csv":
        assert "a/b" in run("show", out)[1]
    assert "exists" in run("export", f"{memory}/deep run", "--out", out, "--format", format)[2]
    monkeypatch.setattr(RemoteFolder, "write_file", _refuse)
    status, _, err = run("export", f"{memory}/deep run", "--out", f"{memory}/x.csv")
    assert (status, err.splitlines()[0]) == (1, f"tensortap: {memory}/x.csv: No space left.")


def _refuse(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left")


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """Foreign files: an .npz, a checkpoint of two files beside another one, a folder of arrays."""
    folder = tmp_path / "weights"
    (folder / "arrays" / "3").mkdir(parents=True)
    np.savez(folder / "w-3.npz", w=np.arange(6.0))
    np.save(folder / "arrays" / "3" / "kernel.npy", np.arange(4.0))
    for name in ("model-1", "model-12"):
        tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).write(str(folder / name))
    return folder


def test_what_lies_at_an_address_is_imported(weights: Path, run, tmp_path: Path) -> None:
    address = f"memory://{uuid.uuid4().hex}"
    fsspec.filesystem("memory").put(f"{weights}/", address.removeprefix("memory:/"), recursive=True)
    with serving(weights) as server:
        for source, name in (
            (f"{address}/w-3.npz", "npz"),
            (f"{address}/model-1", "checkpoint"),
            (f"{address}/model-1.index", "checkpoint-2"),
            (f"{address}/arrays", "folder"),
            (f"{server.address}/w-3.npz?token={SECRET}", "web"),
        ):
            status, out, err = run("import", source, tmp_path / "logs", "--run", name, "--json")
            assert status == 0, err
            assert json.loads(out)["snapshots"] >= 1
            assert SECRET not in out + err
    log = tensortap.open(tmp_path / "logs")
    assert log.runs["web"].tensor("w", step=3)[:].tolist() == list(range(6))
    assert log.runs["checkpoint"].find("v").to_arrow().num_rows == 1
    assert log.runs["checkpoint"].steps.tolist() == log.runs["checkpoint-2"].steps.tolist() == [1]
    status, _, err = run("import", f"{address}/arrays", tmp_path / "more", "--max-bytes", "100")
    assert (status, "above 100 bytes" in err) == (1, True)
    assert "does not exist" in run("import", f"{address}/none", tmp_path / "more")[2]


def test_without_fsspec_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(RemoteError, match=r"tensortap\[remote\]"):
        tensortap.open("sftp://host/logs")


def test_a_folder_that_is_no_address_of_ours(tmp_path: Path) -> None:
    """The path that stands for an address means nothing in another process."""
    assert not is_folder(Path("/tensortap-address/0123456789abcdef/logs"))
    assert find_runs("/tensortap-address/0123456789abcdef/logs") == []
    with pytest.raises(OSError):
        scan(Path("/tensortap-address/x/y"))


def test_what_lies_at_an_address_is_opened_as_it_is(weights: Path, run, monkeypatch, tmp_path: Path) -> None:
    """GIVEN foreign formats in a bucket or on a web server WHEN they take a log directory's place THEN they
    are imported into the cache, once."""
    monkeypatch.setenv("TENSORTAP_CACHE", str(tmp_path / "cache"))
    root = f"/{uuid.uuid4().hex}"
    memory = fsspec.filesystem("memory")
    memory.put(f"{weights}/", root, recursive=True)
    for name, tensor in (("w-3.npz", "w"), ("model-1", "v"), ("model-1.index", "v"), ("arrays", "kernel")):
        (status, out, err), again = (run("show", f"memory:/{root}/{name}") for _ in range(2))
        assert (status, tensor in out, "imported into the cache" in err) == (0, True, True), err
        assert "unchanged; read from the cache" in again[2]
        assert again[1] == out
    memory.put(str(weights / "arrays/3/kernel.npy"), f"{root}/arrays/3/other.npy")
    until(lambda: "other" in run("show", f"memory:/{root}/arrays")[1], "the new file")
    with serving(weights) as server:
        found = tensortap.open(f"{server.address}/w-3.npz?token={SECRET}")
        assert found.runs["w-3.npz"].tensor("w", step=3)[:].tolist() == list(range(6))
    logdir, place = resolve_log_directories([path_of(f"memory:/{root}/arrays")])
    assert find_runs(logdir) and place == path_of(f"memory:/{root}/arrays")
    memory.pipe(f"{root}/read.me", b"no tensors")
    assert "has an unknown format" in run("ls", f"memory:/{root}/read.me")[2]
