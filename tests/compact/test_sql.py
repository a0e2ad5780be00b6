"""SQL over a run: compacted or not, from Python and the command line, and nothing but the run."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from compacted import compact, rows_of, write_worker

import tensortap
from tensortap.__main__ import main
from tensortap.compact import compactor
from tensortap.compact.queries import query_run
from tensortap.core.errors import DamagedError, SelectionError
from tensortap.dump.format.run_files import STARTED
from tensortap.dump.write.writer import DumpWriter

QUERIES = {
    "snapshots": "SELECT * FROM snapshots ORDER BY tensor, step, visit, worker",
    "histograms": "SELECT * FROM histograms ORDER BY tensor, step, visit, worker",
    "by_step": "SELECT * FROM by_step ORDER BY tensor, step",
    "by_tensor": "SELECT * EXCLUDE (mean, std, l2) FROM by_tensor ORDER BY tensor",
    "workers": "SELECT * FROM workers ORDER BY rank",
    "joined": "SELECT w.rank, count(*) FROM snapshots JOIN workers w USING (worker) GROUP BY 1 ORDER BY 1",
}


@pytest.mark.parametrize("name", QUERIES)
def test_answers_are_the_same_compacted_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(compactor, "PART_BYTES", 5000)
    run_dir = tmp_path / "r"
    write_worker(tmp_path, range(10))
    write_worker(tmp_path, range(3, 8), rank=1)
    fresh = query_run(run_dir, QUERIES[name])
    compact(run_dir)
    assert rows_of(query_run(run_dir, QUERIES[name])) == rows_of(fresh)
    write_worker(tmp_path, range(5, 12), rank=2)
    half = query_run(run_dir, QUERIES[name])
    assert half.num_rows > fresh.num_rows or name == "by_tensor"
    compact(run_dir)
    assert rows_of(query_run(run_dir, QUERIES[name])) == rows_of(half)
    assert query_run(run_dir, QUERIES[name]).schema.names == fresh.schema.names


def test_tensors_without_a_finite_element_are_skipped_compacted_or_not(tmp_path: Path) -> None:
    with DumpWriter(tmp_path, run="r") as writer:
        for step in range(3):
            for name, value in (("a:0", 2.0), ("b:0", np.nan), ("c:0", 1.0)):
                writer.log(name, np.full(4, value, np.float32), step=step, keep="summary")
    queries = ["SELECT max(abs_max), count(abs_max), count(*) FROM by_tensor"]
    queries += ["SELECT tensor FROM by_tensor ORDER BY l2 DESC LIMIT 1"]
    queries += ["SELECT count(*) FROM snapshots WHERE abs_max > 1.5"]
    expected = [[[2.0, 2, 3]], [["a:0"]], [[3]]]

    def answers(query: str) -> list[list[object]]:
        return [list(row.values()) for row in rows_of(query_run(tmp_path / "r", query))]

    assert list(map(answers, queries)) == expected
    compact(tmp_path / "r")
    assert list(map(answers, queries)) == expected


def test_from_python(tmp_path: Path) -> None:
    write_worker(tmp_path, range(4))
    run = tensortap.open(tmp_path).runs["r"]
    found = run.sql("SELECT step, count(*) AS n, sum(nan) AS nan FROM snapshots GROUP BY step ORDER BY step")
    assert found.columns == ["step", "n", "nan"]
    assert [row["n"] for row in found] == [8, 8, 8, 8]
    assert "step" in repr(found) and "nan" in repr(found)
    assert found.to_arrow().num_rows == 4
    assert len(run.sql("SELECT * FROM snapshots WHERE time > '2020-01-01' AND step = 2")) == 8
    with pytest.raises(SelectionError, match="not a string"):
        run.sql(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM read_csv('/etc/hostname')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM '/etc/hostname'",
        "SELECT * FROM read_text('{run}/run.json')",
        "SELECT 1; SELECT 2",
        "COPY snapshots TO '{run}/out.csv'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{rows}' (FORMAT parquet, USE_TMP_FILE false)",
        "EXPLAIN COPY (SELECT 1) TO '{rows}'",
        "/* SELECT */ COPY (SELECT 1) TO '{rows}'",
        "WITH a AS (SELECT 1) SELECT * FROM a; COPY snapshots TO '{rows}'",
        "WITH a AS (SELECT * FROM read_csv('/etc/passwd')) SELECT * FROM a",
        "SELECT * FROM query('COPY (SELECT 1) TO ''{rows}''')",
        "FROM '/etc/passwd'",
        "FROM 'run.json'",
        "SELECT getenv('HOME')",
        "SELECT * FROM sniff_csv('/etc/passwd')",
        "EXPORT DATABASE '{run}/out'",
        "LOAD json",
        "PRAGMA enable_profiling",
        "PRAGMA profiling_output = '{run}/out.json'",
        "CALL enable_logging()",
        "DROP VIEW snapshots",
        "SET enable_external_access = true",
        "ATTACH '{run}/x.db'",
        "INSTALL httpfs",
        "SELECT nothing FROM snapshots",
        "SELECT",
        "",
    ],
)
def test_what_is_refused(tmp_path: Path, query: str) -> None:
    write_worker(tmp_path, range(1))
    compact(tmp_path / "r")
    before = _contents(tmp_path)
    with pytest.raises(SelectionError) as refused:
        query_run(tmp_path / "r", _with_paths(query, tmp_path / "r"))
    assert "\n" not in refused.value.message
    assert _contents(tmp_path) == before


@pytest.mark.parametrize(
    "call",
    [
        "enable_profiling(save_location = '{run}/out.txt')",
        "enable_logging(storage = 'file', storage_path = '{run}/out')",
        "enable_logging(storage = 'file', storage_path = '{rows}', level = 'trace')",
    ],
)
def test_functions_of_a_select_write_nothing(tmp_path: Path, call: str) -> None:
    write_worker(tmp_path, range(1))
    compact(tmp_path / "r")
    before = _contents(tmp_path)
    query = f"SELECT write_log(tensor) FROM snapshots WHERE (SELECT count(*) FROM {call}) = 0"
    assert query_run(tmp_path / "r", _with_paths(query, tmp_path / "r")).num_rows == 8
    assert _contents(tmp_path) == before


def _with_paths(query: str, run_dir: Path) -> str:
    (rows,) = (run_dir / "compact").glob("rows-*.parquet")
    return query.replace("{run}", str(run_dir)).replace("{rows}", str(rows))


def _contents(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def test_a_removed_worker_is_reported_with_its_fix(tmp_path: Path) -> None:
    write_worker(tmp_path, range(1))
    removed = tmp_path / "r" / write_worker(tmp_path, range(1), rank=1)
    shutil.rmtree(removed)
    damage: list[str] = []
    query_run(tmp_path / "r", "SELECT 1", damage=damage.extend)
    sentence = (
        f"{removed.name}: its folder is missing. Copy it again, or remove {removed.name}{STARTED}, too."
    )
    assert damage == [sentence]
    with pytest.raises(DamagedError) as refused:
        compact(tmp_path / "r")
    assert refused.value.message == sentence


def test_errors_suggest_tables_of_the_run(tmp_path: Path) -> None:
    write_worker(tmp_path, range(1))
    for name, hint in [("snapshot", "Did you mean"), ("tensors", "by_tensor"), ("pg_enumx", "")]:
        with pytest.raises(SelectionError) as refused:
            query_run(tmp_path / "r", f"SELECT * FROM {name}")
        assert hint in refused.value.message
        assert not re.search("pg_|sqlite|_rows", refused.value.message.partition("exist")[2])


@pytest.mark.parametrize("name", ["odd [1] *'name?", "ü {a}"])
def test_folders_of_odd_names(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    write_worker(folder, range(2))
    compact(folder / "r")
    assert query_run(folder / "r", "SELECT count(*) AS n FROM snapshots").to_pylist() == [{"n": 16}]


def test_an_empty_run(tmp_path: Path) -> None:
    write_worker(tmp_path, [])
    assert compact(tmp_path / "r").snapshots == 0
    for name in QUERIES.values():
        query_run(tmp_path / "r", name)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_worker(tmp_path, range(3))
    assert main(["compact", str(tmp_path)]) == 0
    assert "r: 24 snapshots in 1 part" in capsys.readouterr().out
    assert main(["compact", str(tmp_path), "--json"]) == 0
    done = json.loads(capsys.readouterr().out)["runs"]["r"]
    assert (done["snapshots"], done["added"], done["written"]) == (24, 0, 0)
    query = "SELECT step, max(nan) AS bad, NULL AS nothing FROM snapshots GROUP BY step ORDER BY step"
    assert main(["sql", str(tmp_path / "r"), query]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["step", "bad", "nothing"]
    assert lines[2].split() == ["1", "1", "NULL"]
    assert main(["sql", str(tmp_path), query, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[1] == {"step": 1, "bad": 1, "nothing": None}
    assert main(["sql", str(tmp_path), "SELECT nosuch FROM snapshots"]) == 1
    assert "nosuch" in capsys.readouterr().err
    assert main(["compact", str(tmp_path / "no")]) == 1
    assert "No run found" in capsys.readouterr().err
    assert main(["compact", str(tmp_path), "--engine", "spark"]) == 1
    assert "There is no engine 'spark'" in capsys.readouterr().err


def test_times_and_lists_are_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_worker(tmp_path, range(1))
    assert main(["sql", str(tmp_path), "SELECT * FROM snapshots LIMIT 1", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["time"].endswith("+00:00")
    assert np.prod(row["shape"]) == row["size"]
    query = "SELECT sum(size) AS n, sum(size) / 3.0 AS part, time::DATE AS day, 1::DECIMAL(4, 1) AS one"
    assert main(["sql", str(tmp_path), f"{query} FROM snapshots GROUP BY day", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (type(row["n"]), row["one"], len(row["day"])) == (int, 1, 10)


def test_a_damaged_or_foreign_worker_is_reported(tmp_path: Path) -> None:
    write_worker(tmp_path, range(2))
    mine, other = write_worker(tmp_path, range(2)), write_worker(tmp_path / "else", range(2), rank=1)
    run_dir = tmp_path / "r"
    (run_dir / mine / "worker.json").write_text("{}")
    shutil.copytree(tmp_path / "else/r" / other, run_dir / other)
    (run_dir / "gone-1-00000000.started").touch()
    damage: list[str] = []
    query_run(run_dir, "SELECT * FROM workers", damage.extend)
    text = "\n".join(damage)
    assert f"{mine}: worker.json names no worker." in text
    assert f"{other}: worker.json belongs to another run." in text
    assert "gone-1-00000000: its folder is missing." in text
