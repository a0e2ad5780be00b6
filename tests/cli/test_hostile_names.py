"""Commands over a dump whose every text is a weapon: neither terminal nor spreadsheet obeys."""

from __future__ import annotations

import csv
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hostile_dump import RUN, WEAPONS, unchecked, write_hostile_dump

import tensortap

Run = Callable[..., tuple[int, str, str]]
FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
COMMANDS = (
    ("ls",),
    ("info",),
    ("check",),
    ("show",),
    ("show", "--step", "1", "--where", "nan > 0"),
    ("nan",),
    ("rules",),
    ("ledger", "--all"),
    ("watch",),
    ("diff", "--step", "0", "--step-b", "1", "--all"),
    *(("show", f"{weapon}:0", "--step", "1") for weapon in WEAPONS.values()),
    ("show", "texts:0"),
    ("show", f"{WEAPONS['terminal']} is not there"),
    ("show", "--where", WEAPONS["terminal"]),
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logdir = tmp_path_factory.mktemp("hostile")
    write_hostile_dump(logdir)
    return logdir


def obeyed(text: str) -> set[str]:
    """Characters that a terminal would obey: controls, direction marks, what is not shown."""
    text = text.replace(WEAPONS["emoji"], "")  # joined
    return {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Co", "Cs")}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: ascii(" ".join(command))[:40])
def test_a_terminal_is_reported_nothing(run: Run, hostile: Path, command: tuple[str, ...]) -> None:
    name, *arguments = command
    path = hostile if name in ("ls", "check") else hostile / RUN
    status, out, err = run(name, path, *arguments)
    assert status in (0, 1, 2)  # 2: a name that begins with "-" is taken for an option
    assert obeyed(out + err) == set()
    assert "Traceback" not in err


def test_no_name_is_too_long_for_an_archive(run: Run, tmp_path: Path) -> None:
    with unchecked(), tensortap.DumpWriter(tmp_path, "run") as writer:
        for name in ("x" * 100_000 + ":0", "short:0"):
            writer.log(name, [1.0], step=0)
    status, out, _ = run("export", tmp_path / "run", "--out", tmp_path / "all.npz")
    assert status == 0
    assert "is too long for a zip file" in out.replace("\n", " ")
    with np.load(tmp_path / "all.npz") as arrays:
        assert list(arrays) == ["short:0@0"]


@pytest.mark.parametrize("name", ["ls", "info", "show", "nan", "rules"])
def test_json_holds_them_as_they_are(run: Run, hostile: Path, name: str) -> None:
    out = run(name, hostile if name == "ls" else hostile / RUN, "--json")[1]
    assert obeyed(out) == set()
    found = json.loads(out, parse_constant=pytest.fail)
    assert WEAPONS["image" if name == "info" else "script"] in str(found) or name == "ls"


def test_a_spreadsheet_computes_nothing(run: Run, hostile: Path, tmp_path: Path) -> None:
    assert run("export", hostile / RUN, "--out", tmp_path / "all.csv")[0] == 0
    with (tmp_path / "all.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert len(rows) == len(tensortap.open(hostile).runs[RUN].find())
    texts = [cell for row in rows for cell in row if not number(cell)]
    assert any(cell == "'" + WEAPONS["formula"] for cell in texts)
    assert [cell for cell in (*header, *texts) if cell.startswith(FORMULA) and cell != "-"] == []
    assert {c for cell in texts for c in cell if unicodedata.category(c) == "Cc"} <= set("\t\n\r")


def number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
