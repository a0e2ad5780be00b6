"""The records of the benchmarks: no figure may be ten times what was recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
sys.path.append(str(BENCHMARKS))
from _records import RESULTS, Figure, environment_of, orders_apart, recorded, report, turns  # noqa: E402


def test_records_hold_figures() -> None:
    records = sorted(RESULTS.glob("*.json"))
    assert records
    for path in records:
        assert (BENCHMARKS / f"{path.stem}.py").exists()
        figures = json.loads(path.read_text(encoding="utf-8"))
        assert figures
        for entry in figures.values():
            assert entry.keys() == {"unit", "now", "limit", "peer"}
            assert entry["now"] > 0


def test_a_record_is_written_and_printed_beside_the_one_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("_records.RESULTS", tmp_path)
    report("made", [Figure("a", "us", 2.0, limit=1.0)], tmp_path / "made.json")
    assert recorded("made", tmp_path) == {"a": 2.0}
    assert orders_apart({"a": 2.0, "gone": 1.0}, {"a": 21.0}) == ["a", "gone"]
    assert orders_apart({"a": 2.0}, {"a": 19.0, "new": 1.0}) == []
    assert capsys.readouterr().out.split()[-4:] == ["a", "us", "1", "2"]


def test_another_checkout_is_measured_in_turn_and_printed_as_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "tensortap"
    package.mkdir()
    with pytest.raises(FileNotFoundError, match="not a checkout"):
        environment_of(tmp_path)
    (package / "__init__.py").touch()
    script = (
        tmp_path / "benchmarks" / "script.py"
    )  # its folder comes before all others, as that of a benchmark
    script.parent.mkdir()
    script.write_text("import tensortap; print(tensortap.__file__)")
    found = subprocess.check_output([sys.executable, str(script)], env=environment_of(tmp_path), text=True)
    assert Path(found.strip()) == package / "__init__.py"
    assert turns(None) == [None]
    assert turns(tmp_path) == [tmp_path, None, tmp_path, None]
    report("capture", [Figure("a", "us", 2.0, limit=1.0)], None, {"a": 3.0})
    assert capsys.readouterr().out.split()[-5:] == ["a", "us", "1", "3", "2"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("benchmark", "options", "measured"),
    [
        ("write", [], ""),
        ("loops", ["--rounds", "1", "--program", "LSTM"], "LSTM"),
    ],
)
def test_nothing_takes_ten_times_what_it_took(
    tmp_path: Path, benchmark: str, options: list[str], measured: str
) -> None:
    script = [sys.executable, str(BENCHMARKS / f"{benchmark}.py"), "--quick", *options]
    subprocess.run(
        [*script, "--json", str(tmp_path / f"{benchmark}.json")],
        check=True,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    before = {name: now for name, now in recorded(benchmark).items() if name.startswith(measured)}
    assert before
    assert orders_apart(before, recorded(benchmark, tmp_path)) == []
