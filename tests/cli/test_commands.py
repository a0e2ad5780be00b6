"""The commands that print: what they say, for people and as JSON, and how they fail."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from small_dump import ODD_NODES, WEIGHTS, write_dump

import tensortap
from tensortap.cli.argument_types import memory_size, size
from tensortap.cli.main import COMMANDS
from tensortap.core.errors import IncompleteWarning
from tensortap.dump.write.writer import DumpWriter
from tensortap.server.app import create_app

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(run: Run, command: str) -> None:
    status, out, _ = run(command, "--help")
    assert status == 0
    assert f"example: tensortap {command}" in out


@pytest.mark.parametrize(
    ("command", "prefix", "seconds", "memory"),
    [("serve", "replay-", 300, 8), ("replay", "", 600, 16), ("step", "", 600, 16)],
)
def test_the_limits_of_a_replay_name_units_and_defaults(
    run: Run, command: str, prefix: str, seconds: int, memory: int
) -> None:
    reported = " ".join(run(command, "--help")[1].split())
    assert f"--{prefix}seconds S time limit of a replay in seconds (default: {seconds})" in reported
    assert f"in GB (10^9 bytes), e.g. 0.5 (default: {memory})" in reported
    for refused in ("nan", "0", "-1", "2P", "1e9", "1000001", "9" * 400):
        status, _, err = run(command, "logs", f"--{prefix}memory={refused}")
        assert status == 2 and f"'{refused[:40]}' is not a size" in err


def test_limits_of_memory_have_units() -> None:
    assert [memory_size(text) for text in ("0.5", "2G", "1.5 GB", "300MB", "300m")] == [
        500_000_000,
        2_000_000_000,
        1_500_000_000,
        300_000_000,
        300_000_000,
    ]
    assert [size(text) for text in ("0", "5B", "2G", "1.5 kb", "1.5KiB")] == [0, 5, 2 * 10**9, 1500, 1536]


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - {"serve", "demo", "step"}))
def test_what_prints_data_prints_json(run: Run, command: str) -> None:
    assert "--json" in run(command, "--help")[1]


def test_the_version(run: Run) -> None:
    assert run("--version")[:2] == (0, "tensortap 0.1.0\n")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nothing"],
        ["ls"],
        ["ls", "a", "b"],
        ["show", "x", "--match", "("],
        ["show", "x", "t", "--step", "first"],
        ["show", "x", "--where", "__import__('os')"],
        ["show", "x", "--sort", "nothing"],
        ["show", "x", "--nothing", "t"],
        ["export", "x", "--out", "y.csv", "--step", "1:2:3"],
        ["serve", "x", "--port", "70000"],
        ["demo", "--steps", "0"],
    ],
)
def test_wrong_usage_is_status_2(run: Run, arguments: list[str]) -> None:
    status, out, err = run(*arguments)
    assert status == 2
    assert "usage: tensortap" in err
    assert not out


def test_a_misspelt_command_is_corrected(run: Run) -> None:
    status, _, err = run("lss", "logs")
    assert (status, "There is no command 'lss'. Did you mean 'ls'" in err) == (2, True)


@pytest.mark.parametrize("command", ["ls", "show", "info", "check"])
def test_no_runs_is_status_1_and_a_sentence(run: Run, tmp_path: Path, command: str) -> None:
    for path in (tmp_path, tmp_path / "none"):
        status, out, err = run(command, path)
        assert status == 1
        assert err.startswith(("tensortap: No run found in ", "tensortap: There is no directory "))
        assert not out


def test_a_misspelt_run_is_corrected(run: Run, tmp_path: Path) -> None:
    (tmp_path / "digits").mkdir()
    status, _, err = run("nan", tmp_path / "digist")
    assert status == 1
    assert "Did you mean 'digits'?" in err


def test_ls(run: Run, logdir: Path) -> None:
    status, out, _ = run("ls", logdir)
    assert status == 0
    line = next(line for line in out.splitlines() if line.startswith("exp/first"))
    assert "0…2 (3)" in line
    assert f" {3 * (2 + len(ODD_NODES))} " in line


def test_ls_json(run: Run, logdir: Path) -> None:
    rows = json.loads(run("ls", logdir, "--json")[1])
    by_name = {row["name"]: row for row in rows}
    assert by_name["exp/first"]["nonfinite"] == 4
    assert by_name["exp/first"]["steps"] == {"first": 0, "last": 2, "count": 3}
    files = [path for path in (logdir / "numpy").rglob("*") if path.is_file()]
    assert by_name["numpy"]["bytes"] == sum(path.stat().st_size for path in files)


def test_info(run: Run, logdir: Path) -> None:
    status, out, _ = run("info", logdir / "exp" / "first")
    assert status == 0
    for text in ("train.py", "train_step", "closed"):
        assert text in out
    facts = json.loads(run("info", logdir / "numpy", "--json")[1])
    assert facts["tensors"] == 2
    assert facts["steps"] == [0]


def test_one_of_several_runs_must_be_named(run: Run, logdir: Path) -> None:
    status, _, err = run("show", logdir)
    assert status == 1
    assert str(logdir / "exp" / "first") in err


def test_show_lists_tensors(run: Run, logdir: Path) -> None:
    out = run("show", logdir / "exp" / "first", "--match", "^dense/")[1]
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["dense/MatMul:0", "dense/Relu:0"]
    rows = json.loads(run("show", logdir / "exp" / "first", "--json")[1])
    assert {row["tensor"] for row in rows} >= {f"{name}:0" for name in ODD_NODES}


def test_show_a_tensor(run: Run, logdir: Path) -> None:
    status, out, _ = run("show", logdir / "exp" / "first", "dense/MatMul:0", "--step", "1")
    assert status == 0
    assert "float32 3×4, step 1 (one of 3 steps, 0…2)" in out
    assert "█" in out
    assert "nan" in out
    assert "values" in out


def test_show_takes_the_last_step(run: Run, logdir: Path) -> None:
    assert json.loads(run("show", logdir / "exp" / "first", "dense/MatMul:0", "--json")[1])["step"] == 2


def test_show_a_selection_as_json(run: Run, logdir: Path) -> None:
    arguments = ("dense/MatMul:0", "--step", "1", "--selection", "0", "--json")
    shown = json.loads(run("show", logdir / "exp" / "first", *arguments)[1])
    assert shown["values"]["shape"] == [4]
    assert shown["values"]["data"][1] == "NaN"
    assert shown["values"]["data"][0] == pytest.approx(2 * float(WEIGHTS[0, 0]))
    assert sum(shown["histogram"]["counts"]) == 11


def test_show_what_was_not_kept(run: Run, logdir: Path) -> None:
    status, out, _ = run("show", logdir / "exp" / "first", "dense/Relu:0")
    assert status == 0
    assert 'values: not stored: only the summary was captured. Capture it again with keep="value".' in out
    assert run("show", logdir / "exp" / "first", "dense/Relu:0", "--selection", "0")[0] == 1


def test_show_reads_little_of_a_large_value(run: Run, logdir: Path) -> None:
    out = run("show", logdir / "numpy", "big:0")[1]
    assert "values[:8,:]" in out


@pytest.mark.parametrize(
    "arguments",
    [["dense/MatMull:0"], ["dense/MatMul:0", "--step", "9"], ["dense/MatMul:0", "--selection", "9"]],
)
def test_show_what_is_not_there(run: Run, logdir: Path, arguments: list[str]) -> None:
    status, out, err = run("show", logdir / "exp" / "first", *arguments)
    assert status == 1
    assert err.startswith("tensortap: ")
    assert "Traceback" not in err
    assert not out


def test_control_characters_are_escaped(run: Run, tmp_path: Path) -> None:
    with DumpWriter(tmp_path, run="r") as writer:
        writer.log("red\x1b[31m\u202eevil:0", np.ones(1), step=0, keep="value")
    for arguments in (
        ["show", tmp_path],
        ["show", tmp_path, "red\x1b[31m\u202eevil:0"],
        ["show", tmp_path, "\x1b:0"],
    ):
        status, out, err = run(*arguments)
        assert "\x1b" not in out + err
        assert "\u202e" not in out + err
        assert "\\x1b" in out + err, status


def test_long_names_are_never_cut(run: Run, tmp_path: Path) -> None:
    name = "scope/" * 300 + "node:0"
    with DumpWriter(tmp_path, run="r") as writer:
        writer.log(name, np.ones(1), step=0)
    assert name in run("show", tmp_path)[1]


def test_numbers_are_aligned_to_the_right(run: Run, logdir: Path) -> None:
    lines = run("ls", logdir)[1].splitlines()
    ends = {line.index(size) + len(size) for line in lines[1:] for size in re.findall(r"[\d.]+ [KM]B", line)}
    assert ends == {lines[0].index("size") + len("size")}


def test_check_a_good_dump(run: Run, logdir: Path) -> None:
    status, out, _ = run("check", logdir)
    assert status == 0
    assert out.count(" ok") == 2
    report = json.loads(run("check", logdir, "--json")[1])
    assert report["ok"] is True
    first = next(entry for entry in report["runs"] if entry["run"] == "exp/first")
    assert first["snapshots"] == 3 * (2 + len(ODD_NODES))
    assert first["values"] == 3 * (1 + len(ODD_NODES))
    assert first["graphs"] == 1


def damaged_copy(logdir: Path, target: Path, pattern: str, at: int) -> Path:
    """A copy of the dump with one byte of one file turned over."""
    shutil.copytree(logdir, target)
    file = next(path for path in sorted(target.rglob(pattern)) if path.stat().st_size > 2000)
    data = bytearray(file.read_bytes())
    data[at] ^= 0xFF
    file.write_bytes(data)
    return target


@pytest.mark.parametrize(
    ("pattern", "at"),
    [
        ("numpy/*/values-*.safetensors", -500),
        ("*/first/*/stats-*.arrows", 3500),
        ("graphs/*.arrows", -300),
    ],
)
def test_check_finds_one_flipped_byte(run: Run, logdir: Path, tmp_path: Path, pattern: str, at: int) -> None:
    damaged = damaged_copy(logdir, tmp_path / "copy", pattern, at)
    status, out, err = run("check", damaged)
    assert status == 1
    assert "damaged" in out
    assert "1 of 2 runs are damaged" in err
    report = json.loads(run("check", damaged, "--json")[1])
    assert report["ok"] is False
    assert sum(len(entry["damage"]) for entry in report["runs"]) >= 1


def test_check_changes_nothing(run: Run, logdir: Path, tmp_path: Path) -> None:
    damaged = damaged_copy(logdir, tmp_path / "copy", "numpy/*/values-*.safetensors", -500)
    before = {path: path.read_bytes() for path in damaged.rglob("*") if path.is_file()}
    run("check", damaged)
    assert {path: path.read_bytes() for path in damaged.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("command", ["ls", "show", "info", "check"])
def test_piped_output_has_no_colours(logdir: Path, command: str) -> None:
    path = logdir if command in ("ls", "check") else logdir / "numpy"
    done = subprocess.run(
        [sys.executable, "-m", "tensortap", command, str(path)], capture_output=True, text=True, check=True
    )
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stdout


def test_a_reader_that_stops_reading_is_no_error(logdir: Path) -> None:
    command = [sys.executable, "-m", "tensortap", "show", str(logdir / "exp" / "first"), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 0


def test_a_late_visit_of_a_long_loop_is_shown(run: Run, tmp_path: Path) -> None:
    with DumpWriter(tmp_path) as writer:
        for visit in range(250):
            writer.log("loop", np.full(2, visit), step=0)
    status, out, _ = run("show", tmp_path, "loop", "--visit", "200", "--json")
    shown = json.loads(out)
    assert (status, shown["visit"], shown["min"], sum(shown["histogram"]["counts"])) == (0, 200, 200, 2)


@pytest.mark.parametrize(
    ("option", "name", "reported"),
    [
        ("--op", "Matmul", "The run has no op type 'Matmul'. Did you mean 'MatMul'?"),
        ("--dtype", "flot32", "The run has no dtype 'flot32'. Did you mean 'float32'?"),
        ("--dtype", "bool", "The run has no dtype 'bool'. It has "),
    ],
)
def test_show_corrects_a_misspelt_op_type_or_dtype(
    run: Run, logdir: Path, option: str, name: str, reported: str
) -> None:
    status, out, _ = run("show", logdir / "exp" / "first", option, name)
    assert (status, reported in " ".join(out.split())) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--where", "nan > 0"], ["dense/MatMul:0", "dense/Relu:0"]),
        (["--where", "tensor ~ '^dense/M'", "--step", "1"], ["dense/MatMul:0"]),
        (["--match", "^dense/", "--sort", "max", "--reverse", "--limit", "2"], 2),
        (["--where", "step > 1000"], []),
        (["--match", "^dense/", "--step", "0"], ["dense/MatMul:0", "dense/Relu:0"]),
        (["--kept", "--dtype", "float32", "--nonfinite"], ["dense/MatMul:0"]),
    ],
)
def test_show_lists_the_snapshots_that_fit(
    run: Run, logdir: Path, arguments: list[str], names: list[str] | int
) -> None:
    status, text, _ = run("show", logdir / "exp" / "first", *arguments, "--json")
    rows = json.loads(text)
    assert status == 0
    assert all("step" in row for row in rows)
    if isinstance(names, int):
        assert len(rows) == names
        assert rows[0]["max"] >= rows[-1]["max"]
        return
    assert sorted({row["tensor"] for row in rows}) == names
    assert all(name in run("show", logdir / "exp" / "first", *arguments)[1] for name in names)


def test_show_refuses_what_it_cannot_read(run: Run, logdir: Path) -> None:
    first = logdir / "exp" / "first"
    assert "Unknown field" in run("show", first, "--where", "__import__('os')")[2]
    assert "abs_max" in run("show", first, "--sort", "nothing")[2]
    status, _, err = run("show", first, "dense/MatMul:0", "--step", "0:2")
    assert (status, "one step" in err) == (1, True)
    status, _, err = run("show", first, "--step", "-9")
    assert (status, "It has 3 steps" in err) == (1, True)


@pytest.mark.parametrize(("steps", "found"), [("1:3", [1, 2]), ("1:", [1, 2]), (":1", [0]), ("-1", [2])])
def test_show_takes_ranges_of_steps_and_steps_from_the_end(
    run: Run, logdir: Path, steps: str, found: list[int]
) -> None:
    arguments = ["--match", "^dense/Relu", "--step", steps, "--json"]
    _, out, _ = run("show", logdir / "exp" / "first", *arguments)
    assert [row["step"] for row in json.loads(out)] == found


def test_a_file_that_is_there_is_not_written_over(run: Run, logdir: Path, tmp_path: Path) -> None:
    (tmp_path / "w.npy").write_bytes(b"mine")
    status, _, err = run(
        "show", logdir / "exp" / "first", "dense/MatMul:0", "--step", "0", "--out", tmp_path / "w.npy"
    )
    assert (status, "w.npy already" in err, "Choose another name" in err) == (1, True, True)
    assert (tmp_path / "w.npy").read_bytes() == b"mine"


def test_arguments_stand_in_any_order(run: Run, logdir: Path) -> None:
    first, tensor = logdir / "exp" / "first", "dense/MatMul:0"
    expected = run("show", first, tensor, "--step", "-3", "--json")
    assert json.loads(expected[1])["step"] == 0
    for asked in (
        [first, "--json", tensor, "--step", "0"],
        [first, "--json", "--step", "0", tensor],
        ["--step", "0", first, tensor, "--json"],
        ["--json", "--step", "0", "--", first, tensor],
    ):
        assert run("show", *asked) == expected


def test_a_list_of_tensors_has_a_limit(run: Run, logdir: Path) -> None:
    _, out, err = run("show", logdir / "exp" / "first", "--match", "^dense", "--limit", "1")
    assert "1 more tensor; show all with --limit 2" in err
    assert ("dense/MatMul:0" in out, "dense/Relu:0" in out) == (True, False)
    assert len(json.loads(run("show", logdir / "exp" / "first", "--limit", "1", "--json")[1])) == 1


@pytest.mark.parametrize("limit", ["0", "-1", "x"])
def test_a_list_of_no_snapshots_is_not_asked_for(run: Run, logdir: Path, limit: str) -> None:
    status, _, err = run("show", logdir / "exp" / "first", "--sort", "max", "--limit", limit)
    assert status == 2
    assert "--limit" in err


def test_show_highlights_and_saves(run: Run, logdir: Path, tmp_path: Path) -> None:
    saved = tmp_path / "value.npy"
    arguments = ["dense/MatMul:0", "--step", "1", "--highlight", "nan", "--highlight", "0:", "--out", saved]
    status, out, _ = run("show", logdir / "exp" / "first", *arguments)
    values = np.load(saved)
    assert status == 0
    wanted = int(np.sum(np.isnan(values) | (values >= 0)))
    assert f"{wanted} of {values.size} elements highlighted" in out
    status, _, err = run("show", logdir / "exp" / "first", *arguments)
    assert status == 1
    assert str(saved) in err


@pytest.mark.parametrize("text", ["a", "2:1", "", "1:2:3", "nan:1"])
def test_what_is_no_range_to_highlight(run: Run, logdir: Path, text: str) -> None:
    assert run("show", logdir / "exp" / "first", "dense/MatMul:0", "--highlight", text)[0] == 2


@pytest.mark.parametrize("command", [("show",), ("nan",), ("rules",), ("ledger",), ("diff",), ("sql",)])
def test_an_answer_from_a_damaged_run_says_what_is_missing(
    run: Run, logdir: Path, tmp_path: Path, command: tuple[str]
) -> None:
    damaged = damaged_copy(logdir, tmp_path / "copy", "*/first/*/stats-*.arrows", 3500) / "exp/first"
    more = {"diff": [logdir / "exp/first"], "sql": ["SELECT count(*) FROM snapshots"]}.get(command[0], [])
    _, _, err = run(*command, damaged, *more)
    assert "first is damaged, so data are missing here: " in err
    assert "stats-000000.arrows, byte " in err
    assert "tensortap check" in err
    _, _, sound = run(*command, logdir / "exp/first", *([logdir / "numpy"] if command[0] == "diff" else more))
    assert "damaged" not in sound


@pytest.mark.parametrize("command", ["nan", "rules", "ledger", "diff", "info"])
def test_what_is_missing_from_an_answer_is_in_its_json(
    run: Run, logdir: Path, tmp_path: Path, command: str
) -> None:
    damaged = damaged_copy(logdir, tmp_path / "copy", "exp/first/graphs/*.arrows", 2000) / "exp/first"
    more = [logdir / "exp/first"] if command == "diff" else []
    _, out, _ = run(command, damaged, *more, "--json")
    (sentence,) = json.loads(out)["damage"]
    assert "graph train_step-" in sentence


@pytest.mark.parametrize(
    ("command", "pattern", "at"),
    [
        (["show", "--op", "MatMul"], "graphs/*.arrows", 2000),
        (["show", "--where", "op == 'MatMul'"], "graphs/*.arrows", 2000),
        (["export", "--where", "op == 'MatMul'", "--out", "none.csv"], "graphs/*.arrows", 2000),
        (["info", "--batch", "1"], "events-*", 60),
        (["info", "--saw", "a.png"], "events-*", 60),
    ],
)
def test_what_is_not_found_because_of_damage_is_reported(
    run: Run, tmp_path: Path, command: list[str], pattern: str, at: int
) -> None:
    write_dump(tmp_path / "logs")
    (file,) = (tmp_path / "logs/exp/first").rglob(pattern)
    data = bytearray(file.read_bytes())
    data[at] ^= 0xFF
    file.write_bytes(data)
    name, *options = [str(tmp_path / word) if word == "none.csv" else word for word in command]
    _, out, err = run(name, tmp_path / "logs/exp/first", *options)
    assert "dense/MatMul" not in out
    assert "first is damaged, so data are missing here: " in err


def test_an_incomplete_commit_of_a_stopped_worker_is_reported(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tensortap.dump.format.run_files.is_gone", lambda *_: True)
    write_dump(tmp_path)
    folder = tmp_path / "exp/first"
    (stats,) = folder.rglob("stats-*")
    os.truncate(stats, stats.stat().st_size - 100)
    next(folder.rglob("closed.json")).unlink()
    for path in stats.parent.iterdir():
        os.utime(path, (1, 1))
    os.utime(stats.parent, (1, 1))
    listed = json.loads(run("ls", tmp_path, "--json")[1])
    assert {row["name"]: (row["damaged"], row["unfinished"]) for row in listed} == {
        "exp/first": (False, True),
        "numpy": (False, False),
    }
    assert "incomplete" in run("ls", tmp_path)[1]
    for command in (["show"], ["nan"], ["rules"], ["sql", "SELECT count(*) FROM snapshots"]):
        _, _, err = run(command[0], folder, *command[1:])
        assert "not committed yet: their write is unfinished, or they are damaged." in err
    client = create_app(tmp_path).test_client()
    runs = {each["name"]: each for each in client.get("/api/runs").get_json()["runs"]}
    (sentence,) = client.get(f"/api/runs/{runs['exp/first']['id']}").get_json()["damage"]
    assert "not committed yet" in sentence
    answer = client.get(f"/api/runs/{runs['exp/first']['id']}/snapshots")
    assert answer.headers["X-Tensortap-Damage"] == sentence


def test_missing_statistics_of_a_killed_worker_are_reported(run: Run, tmp_path: Path) -> None:
    write_dump(tmp_path)
    for pattern in ("stats-*", "closed.json"):
        next((tmp_path / "numpy").rglob(pattern)).unlink()
    status, _, err = run("show", tmp_path / "numpy")
    assert (status, "stats-000000.arrows is missing." in err) == (0, True)
    assert "No tensors can be read, because the run is damaged." in err
    (listed,) = [row for row in json.loads(run("ls", tmp_path, "--json")[1]) if row["name"] == "numpy"]
    assert listed["damaged"]
    status, _, err = run("sql", tmp_path / "numpy", "SELECT count(*) FROM snapshots")
    assert (status, "stats-000000.arrows is missing." in err) == (0, True)
    with pytest.warns(IncompleteWarning, match="stats-000000.arrows is missing"):
        tensortap.open(tmp_path).runs["numpy"].sql("SELECT count(*) FROM snapshots")


def test_a_graph_without_values_is_no_run_that_captured_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "g.pb").write_bytes(b"\n\x0a\n\x01a\x12\x05Const")
    _, _, err = run("show", tmp_path / "g.pb")
    assert "The imported source has no tensors." in err
    assert "watched" not in err


def test_a_query_without_rows_prints_its_columns(run: Run, logdir: Path) -> None:
    status, out, _ = run("sql", logdir / "numpy", "SELECT step, mean FROM snapshots WHERE step > 99")
    assert (status, out.split()) == (0, ["step", "mean"])


def test_rules_that_could_not_read_all_fail_in_ci(run: Run, logdir: Path, tmp_path: Path) -> None:
    assert run("rules", logdir / "numpy", "--fail-on", "high")[0] == 0
    damaged = damaged_copy(logdir, tmp_path / "copy", "numpy/*/stats-*.arrows", 3500) / "numpy"
    assert run("rules", damaged, "--fail-on", "high")[0] == 1
