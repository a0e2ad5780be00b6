"""A run of which only `compact/` was copied: the same answers as of the whole run, but for its values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow.fs
import pytest
from compacted import compact, copied, write_worker
from s3_server import s3_server
from small_dump import Api

from tensortap.compact import compactor
from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter
from tensortap.storage import fsspec_folder, uri
from tensortap.storage.arrow_filesystem import arrow_bucket
from tensortap.storage.uri import path_of

Opened = Callable[..., Api]
STATISTICS = ("abs_max", "nan_share", "std", "zero_share")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compactor, "PART_BYTES", 2500)


def questions(api: Api) -> list[str]:
    """What can be asked about the only run: every route that reads statistics, with most parameters."""
    run = f"/api/runs/{api.run_id('r')}"
    graphs = [f"{run}/graphs/{graph['id']}" for graph in api.json(f"{run}/graphs")["graphs"]]
    rows = api.json(f"{run}/snapshots?limit=1000")["rows"]
    tensors, steps, workers = (sorted({row[name] for row in rows}) for name in ("tensor", "step", "worker"))
    found = [run, *(f"{run}/{name}" for name in ("graphs", "samples", "logs", "batches", "recordings"))]
    for graph in graphs:
        found += [graph, f"{graph}/timeline", f"{graph}/trends?nodes=0,1", f"{graph}/sources"]
        found += [f"{graph}/timeline?statistic={name}&columns=4" for name in STATISTICS]
        found += [f"{graph}/range?statistic={name}" for name in STATISTICS]
        for step in steps[::3]:
            found += [f"{graph}/steps/{step}", f"{graph}/steps/{step}/histograms?tensors=0:0,1:0"]
    for sort in ("step", "-step", "tensor", "-abs_max", "mean", "-time", "worker", "-visit", "flow"):
        page = f"{run}/snapshots?sort={sort}&limit=50&histograms=1&trend=max"
        found += [f"{page}&offset={offset}" for offset in (0, 30)]
    for condition in ("nan > 0", "abs_max > 100", "std > mean and step > 2", "dtype == 'string'"):
        found.append(f"{run}/snapshots?where={quote(condition)}&sort=-l2")
    for tensor in tensors:
        found += [f"{run}/snapshots?tensor={tensor}", f"{run}/nodes?node={tensor.rpartition(':')[0]}"]
        found += [f"{run}/{what}?tensor={tensor}" for what in ("history", "histograms")]
        found += [f"{run}/history?tensor={tensor}&worker={worker}" for worker in workers]
        found += [f"{run}/value?tensor={tensor}&step={step}" for step in steps[:2]]
    return found + [f"{run}/snapshots?worker={worker}&step=1:4" for worker in workers]


def answers(api: Api, asked: list[str]) -> dict[str, tuple[int, bytes]]:
    found = {}
    for question in asked:
        answer = api.client.get(question)
        found[question] = (answer.status_code, answer.data)
    return found


def three_workers(logdir: Path) -> None:
    for rank in range(3):
        write_worker(logdir, range(rank, 12), rank=rank)


def steps_that_come_again(logdir: Path) -> None:
    write_worker(logdir, [5, 6, 7, 0, 1, 2, 6, 7, 8], tensors=3)


def with_a_graph(logdir: Path) -> None:
    nodes = [
        Node("x", "Placeholder"),
        Node("log", "Log", inputs=["x:0"]),
        Node("sum", "Sum", inputs=["log:0"]),
    ]
    with DumpWriter(logdir, run="r") as writer:
        graph = writer.graph(Graph("step", nodes))
        for step in range(9):
            with np.errstate(all="ignore"):
                x = np.arange(6.0) - step / 2
                for name, value in (("x", x), ("log", np.log(x)), ("sum", np.log(x).sum())):
                    writer.log(name, value, step=step, graph=graph, keep="summary")


@pytest.mark.parametrize("write", [three_workers, steps_that_come_again, with_a_graph])
def test_answers_are_those_of_the_whole_run(
    tmp_path: Path, opened: Opened, write: Callable[[Path], None]
) -> None:
    write(tmp_path / "whole")
    compact(tmp_path / "whole/r")
    whole = opened(tmp_path / "whole")
    asked = questions(whole)
    assert len(asked) > 60
    expected = answers(whole, asked)
    refused = {
        question: answer for question, (status, answer) in expected.items() if status not in (200, 404)
    }
    assert refused == {}
    copy = copied(tmp_path / "whole", tmp_path / "copy")
    found = answers(opened(copy), asked)
    assert [question for question in asked if found[question] != expected[question]] == []


def put(logdir: Path, address: str) -> None:
    """Copies a log directory into a bucket."""
    bucket, place = arrow_bucket(address) or pytest.fail(address)
    for path in logdir.rglob("*"):
        if path.is_file() and path.name != "lock":
            bucket.put_file(str(path), f"{place}/{path.relative_to(logdir).as_posix()}")


@pytest.mark.parametrize("only_compacted", [False, True])
def test_answers_from_a_bucket_are_those_of_the_disk(
    tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch, only_compacted: bool
) -> None:
    """GIVEN a run in a bucket WHEN a first server asks it, and one that finds what the first cached, and one
    that has no cache THEN their answers are those of a server on the disk."""
    three_workers(tmp_path / "whole")
    compact(tmp_path / "whole/r")
    logdir = copied(tmp_path / "whole", tmp_path / "copy") if only_compacted else tmp_path / "whole"
    local = opened(logdir)
    asked = questions(local)
    expected = answers(local, asked)
    monkeypatch.setattr(fsspec_folder, "_SETTLED", -10.0)  # files that were put just now are cached, too
    with s3_server() as server:
        for name, value in server.items():
            monkeypatch.setenv(name, value)
        endpoint = server["AWS_ENDPOINT_URL"].removeprefix("http://")
        store = pyarrow.fs.S3FileSystem(scheme="http", endpoint_override=endpoint, allow_bucket_creation=True)
        store.create_dir("bucket")
        put(logdir, "s3://bucket/logs")
        for cache in (str(tmp_path / "cache"), str(tmp_path / "cache"), "off"):
            monkeypatch.setenv("TENSORTAP_CACHE", cache)
            monkeypatch.setattr(uri, "_MOUNTS", {})  # as in a new process
            found = answers(opened(path_of("s3://bucket/logs")), asked)
            assert [question for question in asked if found[question] != expected[question]] == []
        assert list((tmp_path / "cache").rglob("address.index"))
