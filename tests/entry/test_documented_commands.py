"""Every `tensortap …` line of README and docs is understood; those that only read are run on a small dump."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tensortap.command_line import build_parser
from tensortap.dump import DumpWriter, Graph, Node

Run = Callable[..., tuple[int, str, str]]
CHECKOUT = Path(__file__).resolve().parents[2]
DOCUMENTS = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md"))]
READ = ("ls", "show", "nan", "rules", "ledger", "info", "check", "export")
STEPS = 31


def _plain(text: str) -> str:
    """Without an explanation behind it, and without what a shell does with the output."""
    return re.split(r" \| | > [a-z]\S*$", re.split(r" {2,}(?=\S+ )", text)[0])[0].strip()


def documented() -> list[str]:
    """The lines of code blocks that call the command; without what follows in a pipe, and comments."""
    found: dict[str, None] = {}
    for document in DOCUMENTS:
        for line in document.read_text(encoding="utf-8").splitlines():
            match = re.match(r"(?: {4}|\$ )?(tensortap [a-z].*)", line)
            if match and (line.startswith((" ", "$")) or "`" not in line):
                found.setdefault(_plain(match[1]))
    return [line for line in found if "://" not in line and not line.startswith("tensortap serves")]


LINES = documented()


def arguments_of(line: str) -> list[str]:
    return shlex.split(line, comments=True)[1:]


@pytest.mark.parametrize("line", LINES)
def test_it_is_understood(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        build_parser().parse_args(arguments_of(line))
    except SystemExit as end:
        assert end.code == 0, capsys.readouterr().err


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`logs` with the runs that the documents speak of."""
    folder = tmp_path_factory.mktemp("documented")
    for run in ("digits", "digits-nan"):
        with DumpWriter(folder / "logs", run) as writer:
            nodes = [
                Node("conv1/Relu", "Relu"),
                Node("dense/MatMul", "MatMul"),
                Node("kernel", "VarHandleOp"),
            ]
            graph = writer.graph(Graph("train", nodes))
            for step in range(STEPS):
                value = np.ones((2, 4, 4, 4), np.float32)
                if step > 20:
                    value[0] = np.nan
                for node in nodes:
                    writer.log(f"{node.name}:0", value, step=step, graph=graph, keep="value")
    return folder


@pytest.mark.parametrize("line", [line for line in LINES if line.split()[1] in READ])
def test_it_runs(line: str, run: Run, logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(logs)
    arguments = arguments_of(line)
    named = [
        Path(name)
        for name in arguments
        if name.endswith((".toml", ".tap.zip", ".tapbundle", ".safetensors")) and "--out" not in line
    ]
    folders = [Path(name) for name in arguments[1:] if name.startswith("logs")]
    if not all(map(Path.exists, (*named, *folders))):
        pytest.skip("about files that another document makes")
    if "--follow" in arguments:
        pytest.skip("never ends")
    status, out, err = run(*arguments)
    assert status == 0 or (status == 1 and ("--fail-on" in line or "dense_2" in line)), err
    assert out or "--out" in line
