"""The rules of ARCHITECTURE.md, enforced on every file."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent
OTHER_WORDS = {  # what an identifier may not say -> ARCHITECTURE.md's word
    "log_dir": "logdir",
    "timestep": "step",
    "time_step": "step",
    "tensorname": "tensor_name",
    "nodename": "node",
    "tag": "tensor",
    "tags": "tensors",
}
TENSORBOARD_WORDS = {"tag", "tags"}  # theirs; at home where their formats are read


FILES = [
    path
    for room in ("tensortap", "server", "plugin")
    for path in sorted((CHECKOUT / room).rglob("*.py"))
    if "node_modules" not in path.parts and "static" not in path.parts
]
NAMES = [str(path.relative_to(CHECKOUT)) for path in FILES]


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_identifiers_are_the_words_of_the_glossary(path: Path) -> None:
    parts = path.relative_to(CHECKOUT).parts
    theirs = TENSORBOARD_WORDS if {"plugin", "importers"} & set(parts[:2]) else set()
    for line, name in identifiers(path):
        word = OTHER_WORDS.get(name.lower().strip("_"))
        allowed = word is None or name.lower() in theirs
        assert allowed, f"{path.relative_to(CHECKOUT)}:{line}: {name}; the word is {word}"


def identifiers(path: Path) -> Iterator[tuple[int, str]]:
    """(line, name) of what a file defines: functions, classes, arguments, variables."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id


HEAVY = ("tensorflow", "keras", "flask", "waitress", "pyarrow", "numba", "tensorboard", "rich")


@pytest.mark.parametrize(
    ("statement", "heavy"),
    [
        ("import tensortap", HEAVY),
        ("import tensortap; tensortap.__version__; dir(tensortap)", HEAVY),
        ("import tensortap; tensortap.open", ("tensorflow", "keras", "flask", "tensorboard")),
        ("import tensortap; tensortap.DumpWriter", ("tensorflow", "keras", "flask", "tensorboard")),
        ("import tensortap.server, tensortap.__main__", ("tensorflow", "keras", "tensorboard")),
        ("import tensortap.capture", ("flask", "tensorboard.plugins")),
    ],
)
def test_an_import_stays_light(statement: str, heavy: tuple[str, ...]) -> None:
    code = f"{statement}\nimport sys\nprint([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "[]"
