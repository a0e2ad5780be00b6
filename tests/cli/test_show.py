"""What `tensortap show` prints of one tensor, and of none."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tensortap
from tensortap.__main__ import main
from tensortap.cli.views.tensor import bars
from tensortap.core.errors import NotARunError
from tensortap.dump.write.writer import DumpWriter


def test_a_bin_with_a_bar_never_counts_0() -> None:
    """Linear bins take parts of native buckets, so that one may hold half an element."""
    lines = bars(np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([0.0, 0.3, 0.5, 12000.0]))
    assert [line.split()[-1] for line in lines] == ["0", "<1", "<1", "12,000"]
    assert ["▏" in line for line in lines] == [False, True, True, False]


def show(run: Path, tensor: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["show", str(run), tensor]) == 0
    return capsys.readouterr().out


def test_whole_values_are_counted_exactly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with DumpWriter(tmp_path, run="r") as writer:
        writer.log("x:0", np.array([1, 2, 3]), step=0)
    shown = show(tmp_path / "r", "x:0", capsys)
    counts = [line.split()[-1] for line in shown.splitlines() if " … " in line]
    assert [count for count in counts if count != "0"] == ["1", "1", "1"]


def test_what_has_no_numbers_has_no_statistics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with DumpWriter(tmp_path, run="r") as writer:
        writer.log("text:0", np.array([b"a"], object), step=0)
        writer.log("empty:0", np.zeros((0, 3)), step=0)
    assert "  text: no statistics or histogram" in show(tmp_path / "r", "text:0", capsys)
    shown = show(tmp_path / "r", "empty:0", capsys)
    assert "  no elements: no statistics or histogram" in shown
    assert "abs_max" not in shown


def test_a_list_of_nothing_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    DumpWriter(tmp_path, run="empty").close()
    assert main(["show", str(tmp_path / "empty")]) == 0
    assert "No tensors were captured" in capsys.readouterr().err
    with DumpWriter(tmp_path, run="r") as writer:
        writer.log("x:0", np.ones(3), step=0)
    assert main(["show", str(tmp_path / "r"), "--match", "y"]) == 0
    assert capsys.readouterr().err == "None of 1 tensor has a name that matches.\n"
    for options in ([], ["--kept"]):  # the same syntax with a filter and without
        with pytest.raises(SystemExit, match="2"):
            main(["show", str(tmp_path / "r"), "--match", "x(?=:0)", *options])
        assert "is not a regular expression" in capsys.readouterr().err


def test_an_empty_path_is_no_log_directory() -> None:
    with pytest.raises(NotARunError, match="path is empty"):
        tensortap.open("")


def test_odd_values_are_printed_as_what_they_are(run, tmp_path):
    """Text is text, complex numbers are pairs in JSON, columns of small floats are aligned."""
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("text", np.array(["h\u00e9llo", "\x1b[31m"], object), step=0)
        writer.log("complex", np.array([1 + 2j, complex("nan")], np.complex64), step=0)
        writer.log("small", np.array([[-1.5, 2], [10, -0.25]]).astype(ml_dtypes.bfloat16), step=0)
    out = run("show", tmp_path, "text", "--highlight", "1:")[1]
    assert "['h\u00e9llo' '\\x1b[31m']" in out and "  nan " not in out
    assert "text and complex numbers cannot be in a range" in out
    data = json.loads(run("show", tmp_path, "complex", "--json")[1])["values"]["data"]
    assert data == [[1.0, 2.0], ["NaN", 0.0]]
    assert "[[-1.5   2.  ]\n [10.   -0.25]]" in run("show", tmp_path, "small")[1]


def test_tensors_of_one_name_are_distinguished(run, tmp_path):
    """An eager op and a node of a graph may have one name (`Cast`), as in what tfdbg2 wrote."""
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("Cast", np.ones(2, np.int32), step=0)
        writer.log("Cast", np.ones((3, 3), np.float32), step=0, graph="run-1")
        writer.log("alone", np.ones(1), step=0)
    _, out, err = run("show", tmp_path)
    rows = [line.split() for line in out.splitlines()]
    assert rows[0][:2] == ["tensor", "graph"]
    assert rows[1:3] == [
        ["Cast:0", "-", "int32", "2", "1", "0"],
        ["Cast:0", "run-1", "float32", "3×3", "1", "0"],
    ]
    assert "'Cast:0' stands for tensors of several graphs; choose one with --graph" in err
    assert [row["graph"] for row in json.loads(run("show", tmp_path, "--json")[1])] == ["-", "run-1", "-"]
    _, out, err = run("show", tmp_path, "--step", "0", "--match", "Cast")
    assert [line.split()[1] for line in out.splitlines()] == ["graph", "-", "run-1"] and "--graph" in err
    eager = run("show", tmp_path, "Cast", "--graph", "-")[1]
    assert "int32 2, step 0" in eager and "of no graph; use --graph for run-1" in eager
    assert "graph" not in run("show", tmp_path, "--match", "alone")[1]
    assert "--graph" not in run("show", tmp_path, "alone")[1]


def test_options_choose_what_is_listed_or_are_refused(run, tmp_path):
    """Nothing that was asked for is passed over in silence."""
    with DumpWriter(tmp_path, "r") as writer:
        for visit in (0, 1):
            writer.log("nan", np.ones(2), step=visit, visit=visit)
        writer.log("nan", np.ones(2), step=0, graph="run-1")
    for option, value in (("--out", tmp_path / "x.npy"), ("--selection", "0"), ("--highlight", "nan")):
        status, out, err = run("show", tmp_path, "--match", "nan", option, value)
        assert (status, out) == (2, "") and f"{option} needs a TENSOR" in err
    status, _, err = run("show", tmp_path, "nan", "--where", "nan > 0")
    assert status == 2 and "--where only applies to lists; remove TENSOR" in err
    for options in (("--worker", "zz"), ("--graph", "zz")):
        assert "zz" in run("show", tmp_path, *options)[2]

    def listed(*options):
        return [
            (row["graph"], row["snapshots"], row["last_step"])
            for row in json.loads(run("show", tmp_path, "--json", *options)[1])
        ]

    assert listed() == [("-", 2, 1), ("run-1", 1, 0)]
    assert listed("--graph", "-") == [("-", 2, 1)] and listed("--graph", "run-1") == [("run-1", 1, 0)]
    assert listed("--visit", "1") == [("-", 1, 1)] and listed("--visit", "5") == []
    assert "No tensors were captured there." in run("show", tmp_path, "--visit", "5")[2]
    assert len(json.loads(run("show", tmp_path, "--json", "--visit", "0", "--sort", "step")[1])) == 2
    found = json.loads(run("show", tmp_path, "--json", "--where", "graph == '-'")[1])
    assert [row["graph"] for row in found] == ["-", "-"]


def test_workers_are_compared_the_worst_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rank in range(40):
        with DumpWriter(tmp_path, run="job", rank=rank) as writer:
            for step in range(4 - (rank == 5)):
                writer.log("w:0", np.full(3, step + (rank == 7 and step > 1)), step=step)
    command = ["show", str(tmp_path / "job"), "w", "--workers"]
    assert main(command) == 0
    printed = capsys.readouterr()
    rows = [line.split() for line in printed.out.splitlines()]
    assert [row[0] for row in rows[1:5]] == ["7", "5", "0", "1"]
    assert rows[1][2:] == ["4", "2", "2", "4", "3"]
    assert (len(rows), printed.err) == (31, "10 more workers; all with --json\n")
    assert main([*command, "max", "--step", "0:2", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [each["differs at"] for each in listed] == [0] * 40


def test_statistics_of_exchanged_workers_are_not_shown(run, tmp_path):
    for value in (1.0, 2.0):
        with DumpWriter(tmp_path, "r") as writer:
            writer.log("a:0", value, step=0)
    one, other = tmp_path.glob("r/*/stats-000000.arrows")
    texts = one.read_bytes(), other.read_bytes()
    one.write_bytes(texts[1])
    other.write_bytes(texts[0])
    _, out, err = run("show", tmp_path / "r")
    assert out == ""
    assert "its commits are skipped. It belongs to worker '" in err
    assert "'tensortap check' lists all damage" in err
    assert "No tensors can be read, because the run is damaged." in err


def test_dropped_snapshots_are_reported_by_each_command(run, tmp_path):
    """GIVEN a full disk WHEN all or some snapshots were dropped THEN no command blames the watches."""
    for name, logged in (("all", 0), ("some", 1)):
        with DumpWriter(tmp_path, name) as writer:
            for step in range(logged):
                writer.log("a:0", np.arange(4.0), step=step)
            writer.dropped(1200)
    said = "1,200 snapshots or recordings were dropped: the disk was full or too slow"
    err = run("show", tmp_path / "all")[2]
    assert f"No tensors can be read: {said}" in " ".join(err.split())
    assert "watched" not in err
    for command in ("show", "nan", "rules", "ledger"):
        assert f"some is incomplete: {said}" in " ".join(run(command, tmp_path / "some")[2].split()), command
    answer = run("sql", tmp_path / "some", "SELECT count(*) FROM snapshots")
    assert f"some is incomplete: {said}" in " ".join(answer[2].split())
    assert said in " ".join(run("check", tmp_path / "some")[1].split())
    assert run("ls", tmp_path)[1].count("1,200 dropped") == 2
    assert {row["dropped"] for row in json.loads(run("ls", tmp_path, "--json")[1])} == {1200}


def test_json_says_why_a_value_is_missing(run, tmp_path):
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("a:0", np.arange(1000.0), step=0)
        writer.log("b:0", 1.0, step=0, keep="summary")
    (values,) = tmp_path.glob("r/*/values-*")
    values.write_bytes(values.read_bytes()[:-9])
    status, out, _ = run("show", tmp_path / "r", "a:0", "--json")
    assert (status, json.loads(out)["values"]) == (1, None)
    assert "values-000000.safetensors ends at byte" in json.loads(out)["missing"]
    status, out, _ = run("show", tmp_path / "r", "b:0", "--json")
    assert status == 0
    assert json.loads(out)["missing"].startswith("not stored")
