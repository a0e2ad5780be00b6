"""The tutorial: its notebook is that of the document, and does what the document says."""

from __future__ import annotations

import json
import os
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from documents import CHECKOUT, blocks

DOCS = CHECKOUT / "docs"
NOTEBOOK = json.loads((DOCS / "tutorial.ipynb").read_text(encoding="utf-8"))
INSTALLS = "!python -m pip install"  # needs a network
MAGIC = "%%writefile "


def test_the_notebook_is_made_of_the_document() -> None:
    rendered = runpy.run_path(str(CHECKOUT / ".ci" / "tutorial_notebook.py"))["rendered"]
    assert (DOCS / "tutorial.ipynb").read_text(encoding="utf-8") == rendered(), "run .ci/tutorial_notebook.py"


def run_cells(folder: Path) -> str:
    """Runs the code cells in a folder, as Jupyter does; returns what commands printed."""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "TENSORTAP_CACHE": str(folder / "cache")}
    printed = []
    for cell in NOTEBOOK["cells"]:
        source = cell["source"]
        if cell["cell_type"] != "code" or source.startswith(INSTALLS):
            continue
        if source.startswith(MAGIC):
            head, _, program = source.partition("\n")
            (folder / head.removeprefix(MAGIC)).write_text(program, encoding="utf-8")
            continue
        if source.startswith("!"):
            words = (shlex.split(line.removeprefix("!")) for line in source.splitlines())
            commands = [words[1:] if words[0] == "python" else ["-m", *words] for words in words]
        else:
            commands = [["-c", source]]
        for command in commands:
            done = subprocess.run(
                [sys.executable, *command],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=300,
            )
            assert done.returncode == 0, done.stderr
            printed.append(done.stdout)
    return "".join(printed)


@pytest.mark.slow
def test_it_leads_to_the_line_and_to_a_finite_loss(tmp_path: Path) -> None:
    printed = run_cells(tmp_path).replace(f"{tmp_path}/", "")
    training, report, *_ = printed.partition("first, step 28")
    assert "loss: nan" in training and report
    (shown,) = (block.text for block in blocks("tutorial.md") if block.text.startswith("first, step 28"))
    for line in shown.splitlines()[1:]:
        assert line in printed
    after = printed.rpartition("Epoch 1/4")[2]
    assert "nan" not in after.partition("fixed:")[0] and "fixed: no NaN or infinity" in after
