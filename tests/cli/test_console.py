"""Tables and lines fit the terminal; what is piped is as long as it is."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from tensortap.cli import progress
from tensortap.cli.console import console, fitting_columns
from tensortap.cli.views.snapshots import _COLUMNS, _DROPPABLE

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("width", [40, 80, 120, 10_000])
def test_a_list_of_snapshots_fits_the_terminal(width: int) -> None:
    """The least telling columns go first; never the name, the step, or what it is sorted by."""
    cells = [dict.fromkeys(_COLUMNS, Text("1234567"))]
    droppable = [name for name in _DROPPABLE if name != "zero"]
    shown = fitting_columns(_COLUMNS, cells, width, droppable)
    assert [name for name in _COLUMNS if name in shown] == shown
    assert {"tensor", "step", "nan", "zero", "min", "max"} <= set(shown)
    assert (len(shown) == len(_COLUMNS)) == (width >= 9 * len(_COLUMNS))
    assert width < 80 or sum(len(name if len(name) > 7 else "1234567") + 2 for name in shown) <= width


def test_long_names_leave_room_for_numbers() -> None:
    cells = [{"run": Text("r" * 300), "steps": Text("0…2 (3)"), "non-finite": Text("1")}]
    assert fitting_columns(list(cells[0]), cells, 60, ["steps"]) == ["run", "steps", "non-finite"]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_lines_on_a_terminal_are_wrapped_between_words(monkeypatch: Any, is_terminal: bool) -> None:
    """Below what follows a label; names stay whole, so that they can be copied; nothing is cut."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("FORCE_COLOR", "1") if is_terminal else monkeypatch.delenv("FORCE_COLOR", False)
    out = console()
    out.file, out.width = io.StringIO(), 40
    name = "scope/" * 10
    out.print(Text(f"  helps   keep the operand off zero, such as in {name} and here", "red"))
    lines = re.sub(r"\x1b\[[0-9;]*m", "", out.file.getvalue()).splitlines()  # type: ignore[attr-defined]
    assert " ".join(" ".join(lines).split()) == f"helps keep the operand off zero, such as in {name} and here"
    if not is_terminal:
        assert len(lines) == 1
        return
    assert len(lines) == 4 and all(line.startswith(" " * 10) for line in lines[1:])
    assert lines[2].strip() == name and all(len(line) <= 40 for line in lines if name not in line)


@pytest.mark.parametrize("width", [30, 40, 60, 80])
def test_a_list_of_runs_fits_the_terminal(run: Run, logdir: Path, width: int, monkeypatch: Any) -> None:
    terminal = Console(width=width, file=io.StringIO(), force_terminal=True, color_system=None, markup=False)
    monkeypatch.setattr("tensortap.cli.console.console", lambda stderr=False: terminal)
    assert run("ls", logdir)[0] == 0
    lines = terminal.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert all(len(line) <= width for line in lines if "no room" not in line and "shows all" not in line)
    assert any(line.startswith("exp/first") for line in lines)
    assert ("created" in lines[0]) == (width >= 80)
    assert {"run", "non-finite"} <= set(lines[0].split())


def test_a_bar_is_drawn_where_there_is_something_to_wait_for(monkeypatch):
    """A run of a few KB is read at once, and no part of it is told."""
    out = io.StringIO()
    monkeypatch.setattr(progress, "console", lambda stderr: Console(file=out, force_terminal=True))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress.bytes_progress("reading") as show:
        show(1_000, 10_000)
        show(10_000, 10_000)
    assert out.getvalue() == ""
    with progress.bytes_progress("reading") as show:
        show(1_000_000, 10_000_000)
    assert "reading" in out.getvalue() and "1.0/10.0 MB" in out.getvalue()


def test_a_single_task_has_a_bar_without_percentage_until_it_is_done(monkeypatch):
    """GIVEN one task, which does not tell how far it is WHEN it begins THEN the bar does not say 0 %."""
    out = io.StringIO()
    terminal = Console(file=out, force_terminal=True, width=80, color_system=None)
    monkeypatch.setattr(progress, "console", lambda stderr: terminal)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress.part_progress("rules") as show:
        show(0, 1)
        drawn = out.getvalue()
    assert "rules" in drawn
    assert "%" not in drawn
    with progress.part_progress("rules") as show:
        show(0, 2)
        show(1, 2)
    assert "50%" in out.getvalue()
