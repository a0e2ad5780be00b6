"""Links below a folder that the user named lead nowhere, unless the user wants them to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tensortap.__main__ import main
from tensortap.core.errors import DamagedError
from tensortap.core.records import Graph, Node
from tensortap.dump.read.runs import RunReader, find_runs
from tensortap.dump.write.writer import DumpWriter
from tensortap.storage.filesystem import open_file, scan, stat_path
from tensortap.storage.links import FOLLOW_LINKS, follow_links, trust

pytestmark = pytest.mark.skipif(not hasattr(os, "symlink") or os.name == "nt", reason="makes links")
SECRET = 42424242.0


@pytest.fixture(autouse=True)
def not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLLOW_LINKS, "")


def write_run(logdir: Path, mark: str, value: float) -> Path:
    with DumpWriter(logdir, run="run", info={"who": mark}) as writer:
        graph = writer.graph(Graph("train", [Node("x", "Placeholder"), Node(mark, "Identity")]))
        writer.log("x", np.full(1000, value, np.float32), step=1, graph=graph, keep="value")
        writer.event("batch", step=1, ids=[mark], files=[mark], count=1)
    return logdir / "run"


def worker_of(run: Path) -> Path:
    return next(path.parent for path in run.glob("*/worker.json"))


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    return write_run(tmp_path / "private", "SECRET", SECRET)


@pytest.fixture
def run(tmp_path: Path, secret: Path) -> Path:
    """A run with the names of the secret one."""
    run = write_run(tmp_path / "logs", "harmless", 1.0)
    worker_of(run).rename(run / worker_of(secret).name)
    (mine,), (theirs,) = run.glob("graphs/*"), secret.glob("graphs/*")
    theirs.rename(theirs.with_name(mine.name))
    return run


def parts(run: Path) -> list[Path]:
    return sorted(path.relative_to(run) for path in run.rglob("*"))


def shown(capsys: pytest.CaptureFixture[str], run: Path, *options: str) -> str:
    """Everything that commands print about a run, and what they export."""
    capsys.readouterr()
    out = run.parent.parent / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    main(["ls", str(run.parent), *options])
    main(["show", str(run), "x:0", *options])
    main(["info", str(run), *options])
    main(["info", str(run), "--batch", "1", *options])
    for name in ("run.tap.zip", "run.npz", "run.csv", "run.safetensors"):
        main(["export", str(run), "--out", str(out / name), *options])
    printed = capsys.readouterr().out
    exported = [file.read_bytes().decode("latin-1") for file in out.iterdir() if file.suffix != ".npz"]
    return "".join([printed, *exported]).replace(np.float32(SECRET).tobytes().decode("latin-1"), "SECRET")


def test_no_file_or_folder_of_a_run_leads_out_of_it(
    run: Path, secret: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(run, whole)
    for part in parts(whole):
        shutil.rmtree(run)
        shutil.copytree(whole, run)
        place = run / part
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()
        place.symlink_to(os.path.relpath(secret / part, place.parent))
        assert "SECRET" not in shown(capsys, run), part


def test_a_folder_that_becomes_a_link_after_it_was_found(run: Path, secret: Path) -> None:
    """As somebody does who waits for the moment between the search for runs and the read."""
    ((_, found),) = find_runs(run.parent)
    reader = RunReader(found)
    tail = reader.tail(worker_of(found).name)
    worker = worker_of(found)
    (values,) = worker.glob("values-*")
    shutil.rmtree(worker)
    worker.symlink_to(worker_of(secret))

    assert tail.poll() == []
    assert RunReader(found).workers() == []
    with pytest.raises((DamagedError, OSError)):
        open_file(values)
    with pytest.raises(OSError, match=r"."):
        stat_path(values)
    with pytest.raises(OSError, match=r"."):
        scan(worker)


def test_the_run_itself_may_become_no_link_either(run: Path, secret: Path) -> None:
    ((_, found),) = find_runs(run.parent)
    shutil.rmtree(run)
    run.symlink_to(secret)

    assert find_runs(run.parent) == []
    with pytest.raises((DamagedError, OSError)):
        open_file(found / "run.json")


def test_a_link_that_the_user_names_is_followed(run: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(run.parent)

    ((name, found),) = find_runs(tmp_path / "link")

    assert name == "run" and RunReader(found).workers()


def test_links_are_followed_if_the_user_says_so(
    secret: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "linked").symlink_to(secret)

    assert main(["ls", str(logs)]) == 1
    assert main(["ls", str(logs), "--follow-links"]) == 0
    assert "linked" in capsys.readouterr().out
    assert find_runs(logs) == [("linked", logs / "linked")]


def test_worker_processes_follow_links_like_the_one_that_started_them() -> None:
    follow_links()
    code = "from tensortap.storage.links import links_are_followed as found; raise SystemExit(not found())"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture
def circle(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "again").symlink_to(tmp_path / "logs")
    (tmp_path / "logs" / "itself").symlink_to("itself")
    yield tmp_path / "logs"


def test_links_in_a_circle_end(circle: Path) -> None:
    follow_links()

    assert find_runs(circle) == []


def test_a_relative_folder_is_trusted_where_it_is(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.parent)
    trust(Path("run"))
    monkeypatch.chdir(tmp_path)

    file, _, size = open_file(run / "run.json")
    file.close()
    assert size
