"""No code block of README and docs escapes: a test named here runs it, or it is told to be no code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documents import DOCUMENTS, Block, blocks

TESTS = Path(__file__).parent
PYTHON = {  # document -> the test that runs all its Python
    "README.md": "test_readme.py",
    "capture.md": "capture/test_docs.py",
    "how-to/": "capture/test_examples.py",
    "hunts.md": "cli/test_hunts.py",
    "problems.md": "cli/test_documented_code.py",
    "python.md": "index/test_documented.py",
    "remote.md": "cli/test_documented_code.py",
    "replay.md": "replay/test_documented.py",
    "server.md": "cli/test_documented_code.py",
    "store.md": "cli/test_documented_code.py",
    "tutorial.md": "test_tutorial.py",
}
TOML = {"problems.md": "cli/test_documented_code.py"}
NO_CODE = {  # (document, how the block begins): layouts, addresses, figures, printed text, what needs Slurm
    ("diff.md", "$ tensortap diff logs/first"),
    ("how-to/run-on-a-cluster.md", "from dask_jobqueue import"),
    ("hunts.md", "$ tensortap "),  # compared with what is printed: cli/test_hunts.py
    ("import.md", "dumps/step_12/dense/kernel.npy"),
    ("page.md", "#run="),
    ("problems.md", "$ tensortap nan demo-logs/digits-nan"),
    ("replay.md", "not finite after the step"),
    ("server.md", "tensortap serves logs at"),  # compared: cli/test_documented_code.py
    ("store.md", " " * 40 + "1  "),
    ("tutorial.md", "first, step 28"),  # compared: test_tutorial.py
}
# Lines of a shell: `tensortap …` is test_documented_commands.py's, `curl` test_documented_code.py's, the
# targets of make are looked up here; the others need another machine, an engine or a terminal.
SHELL = r"tensortap |make\b|docker (run|compose|build) |kubectl "
SHELL += r"|ssh |curl |python (-[mc]|train\.py|fixed\.py)|export |echo "
BLOCKS = [block for document in DOCUMENTS for block in blocks(document)]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.document}:{block.line}")
def test_a_block_is_run_or_no_code(block: Block) -> None:
    if block.language == "python":
        assert runner_of(block.document), "name the test that runs it"
    elif block.language == "toml":
        assert block.document in TOML, "name the test that reads it"
    else:
        assert block.language in (None, "text"), "a fence says its language"
        if not any(block.document == name and block.text.startswith(begin) for name, begin in NO_CODE):
            lines = [line for line in block.text.splitlines() if line]
            assert lines and [line for line in lines if not re.match(SHELL, line)] == []


def runner_of(document: str) -> str | None:
    """The test that runs the Python of a document, or of all in its folder."""
    return PYTHON.get(document) or PYTHON.get(f"{document.partition('/')[0]}/")


def test_what_is_named_is_there() -> None:
    for document, test in {**PYTHON, **TOML}.items():
        assert document.rstrip("/") in (TESTS / test).read_text(encoding="utf-8") or document == "hunts.md"
        assert any(block.document.startswith(document) and block.language for block in BLOCKS), document
    for document, begin in NO_CODE:
        assert any(block.document == document and block.text.startswith(begin) for block in BLOCKS), begin


def test_the_targets_of_make_are_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (TESTS.parent / "Makefile").read_text(), re.MULTILINE))
    lines = [line for block in BLOCKS for line in block.text.splitlines() if line.startswith("make ")]
    assert len(lines) >= 3
    assert {line.split()[1] for line in lines} <= targets
