"""`check --repair`: a copy with what can be read, beside the run, which stays as it is."""

from __future__ import annotations

import json

import numpy as np
import pytest
from dump_tools import read_all, stats_files, values_files
from hypothesis import given, settings
from hypothesis import strategies as st

from tensortap.__main__ import main
from tensortap.dump import DumpWriter, Graph, InvalidNameError, Node, repair_run


def write(logdir):
    with DumpWriter(logdir, "r", compression=None) as writer:
        writer.graph(Graph("g", [Node("a", "Const")]))
        for step in range(6):
            writer.log("a", np.arange(500.0) + step, step=step)
            writer.log("b", np.arange(3), step=step)
            writer.flush()


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rows_of(logdir):
    return {(row["node"], row["step"]): row for row in read_all(logdir).rows}


def test_a_damaged_run_is_repaired_beside(tmp_path, capsys):
    write(tmp_path)
    run = tmp_path / "r"
    sound = rows_of(tmp_path)
    (stats,), (values,) = stats_files(tmp_path), values_files(tmp_path)
    data = bytearray(stats.read_bytes())
    starts = [
        i
        for i in range(len(data))
        if data[i : i + 4] == b"\xff\xff\xff\xff" and data[i + 4 : i + 8] != bytes(4)
    ]
    data[starts[3] + 500] ^= 1  # a commit
    stats.write_bytes(data[:-8] + data[-8:][:3])  # and a torn end
    data = bytearray(values.read_bytes())
    data[262_144 + 4000 * 4 + 10] ^= 1  # the value of step 4
    values.write_bytes(data)
    (next((run / "graphs").glob("*.arrows"))).write_bytes(b"broken")
    before = contents(run)
    assert main(["check", str(tmp_path), "--repair"]) == 1
    said = capsys.readouterr().out
    assert "repaired copy" in said
    assert contents(run) == before
    assert main(["check", str(tmp_path / "r.repaired")]) == 0
    found = read_all(tmp_path / "r.repaired")
    assert not found.damage
    assert not found.bad_values
    repaired = rows_of(tmp_path / "r.repaired")
    assert len(repaired) == len(sound) - 2
    for key, row in repaired.items():
        lost = (
            {"value_file", "value_offset", "value_length", "value_crc32c", "value_codec"}
            if key == ("a", 4)
            else set()
        )
        for name in row.keys() - lost:
            assert repr(row[name]) == repr(sound[key][name]), (key, name)
    assert repaired["a", 4]["value_codec"] == ""
    assert repaired["a", 5]["value_codec"] == "raw"
    assert main(["check", str(run), "--repair"]) == 1  # never over what is there
    assert "exists" in capsys.readouterr().err


def test_a_sound_run_is_not_copied(tmp_path, capsys):
    write(tmp_path)
    assert main(["check", str(tmp_path), "--repair", "--json"]) == 0
    (report,) = json.loads(capsys.readouterr().out)["runs"]
    assert report["repaired"] is None
    assert not (tmp_path / "r.repaired").exists()
    (tmp_path / "taken").mkdir()
    with pytest.raises(InvalidNameError):
        repair_run(tmp_path / "r", tmp_path / "taken")


@settings(max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2**20), st.integers(1, 255)), min_size=1, max_size=5))
def test_a_repaired_run_is_sound(tmp_path_factory, damages):
    folder = tmp_path_factory.mktemp("repair")
    write(folder)
    sound = rows_of(folder)
    for in_values, at, flip in damages:
        (path,) = values_files(folder) if in_values else stats_files(folder)
        data = bytearray(path.read_bytes())
        data[at % len(data)] ^= flip
        path.write_bytes(data)
    repair_run(folder / "r", folder / "out" / "r")
    found = read_all(folder / "out")
    assert not found.damage
    assert not found.bad_values
    for key, row in rows_of(folder / "out").items():
        assert repr(row["mean"]) == repr(sound[key]["mean"])
        assert row["visit"] == sound[key]["visit"]
