"""ARCHITECTURE.md's import table and its rules, enforced on every file."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent
ROW = re.compile(r"^\| (\w+) \| (tensortap[.\w]*) \| .* \| (.*) \|$", re.MULTILINE)
MAX_LINES = 400
MAX_FUNCTION = 60
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
FRONTEND = {  # folder of frontend/src -> what it may import
    "lib": {"lib"},
    "model": {"lib", "model"},
    "api": {"lib", "model", "api"},
    "layout": {"lib", "model", "layout"},
    "render": {"lib", "model", "layout", "render"},
    "state": {"lib", "model", "api", "layout", "state"},
}


def read_table() -> dict[str, tuple[str, set[str]]]:
    """Room -> (package, what it may import), from the table's rows."""
    rows = ROW.findall((CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    return {
        room: (package, set(re.findall(r"\w+", re.sub(r"\(.*?\)", "", allowed))))
        for room, package, allowed in rows
    }


TABLE = read_table()
PACKAGES = {package: room for room, (package, _) in TABLE.items()}
FILES = [
    path
    for room in ("tensortap", "server", "plugin")
    for path in sorted((CHECKOUT / room).rglob("*.py"))
    if "node_modules" not in path.parts and "static" not in path.parts
]
NAMES = [str(path.relative_to(CHECKOUT)) for path in FILES]
ALL_FILES = [
    path
    for folder in ("tensortap", "server", "plugin", "tests", "benchmarks", ".ci")
    for path in (CHECKOUT / folder).rglob("*.py")
]


def imported(path: Path) -> Iterator[tuple[int, str, int]]:
    """(line, module or "", relative level) of every import anywhere in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or "", node.level


def room_of_module(module: str) -> str:
    """The room that holds a module of the package."""
    return PACKAGES.get(".".join(module.split(".")[:2]), "entry")


@pytest.mark.skip(reason="ARCHITECTURE.md has no table of the new packages yet")
def test_the_table_names_every_room_that_is_packaged() -> None:
    packaged = re.findall(
        r'"(tensortap[.\w]*)": "(\w+)"', (CHECKOUT / "setup.py").read_text(encoding="utf-8")
    )
    assert {room: package for package, room in packaged} == {
        room: package for room, (package, _) in TABLE.items()
    }


@pytest.mark.skip(reason="ARCHITECTURE.md has no table of the new packages yet")
@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_a_file_imports_only_what_its_room_may(path: Path) -> None:
    room = path.relative_to(CHECKOUT).parts[0]
    package, allowed = TABLE[room]
    for line, module, level in imported(path):
        where = f"{path.relative_to(CHECKOUT)}:{line}: {module}"
        if level:
            depth = len(path.relative_to(CHECKOUT / room).parts)
            assert level <= depth, f"{where} leaves its room; write 'from tensortap.… import …'"
        elif module.split(".")[0] == "tensortap":
            target = room_of_module(module)
            assert target != room or module == package, f"{where} is in the same room; import it relatively"
            assert target in allowed, f"{where}: {room} may not import {target}"
            assert module.count(".") <= 1, f"{where} reaches into a room; use the names of its __init__.py"
        elif module.split(".")[0] not in sys.stdlib_module_names | {"_typeshed"}:
            assert module.split(".")[0] in allowed, f"{where}: not in the table's row of {room}"


@pytest.mark.skip(reason="ARCHITECTURE.md has no table of the new packages yet")
@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_only_public_names_cross_a_wall(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.ImportFrom)
            and not node.level
            and (node.module or "").startswith("tensortap.")
        ):
            init = CHECKOUT / room_of_module(node.module or "") / "__init__.py"
            public = exported(init)
            private = [alias.name for alias in node.names if alias.name not in public]
            assert not private, (
                f"{path.relative_to(CHECKOUT)}:{node.lineno}: {private} not in {init.parent.name}'s __all__"
            )


def exported(init: Path) -> set[str]:
    """The strings of `__all__`."""
    for node in ast.parse(init.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets
        ):
            return set(ast.literal_eval(node.value))
    return set()


@pytest.mark.parametrize("path", ALL_FILES, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_a_file_and_its_functions_are_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= MAX_LINES, f"{path.relative_to(CHECKOUT)} is too long: split it by concept"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= MAX_FUNCTION, (
                f"{path.relative_to(CHECKOUT)}:{node.lineno}: {node.name} is too long"
            )


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


SCRIPTS = [
    path
    for folder in FRONTEND
    for path in sorted((CHECKOUT / "frontend" / "src" / folder).rglob("*.ts*"))
    if ".test." not in path.name  # a test may use the mock
]


@pytest.mark.parametrize(
    "path", SCRIPTS, ids=lambda path: str(path.relative_to(CHECKOUT / "frontend" / "src"))
)
def test_a_folder_of_the_frontend_imports_only_what_it_may(path: Path) -> None:
    source = CHECKOUT / "frontend" / "src"
    folder = path.relative_to(source).parts[0]
    for relative in re.findall(
        r"""(?:from|import)\s*\(?\s*['"](\.[^'"]*)['"]""", path.read_text(encoding="utf-8")
    ):
        target = (path.parent / relative).resolve().relative_to(source)
        assert target.parts[0] in FRONTEND[folder], f"{path.relative_to(source)} may not import {target}"


def test_the_median_file_is_short() -> None:
    lengths = sorted(path.read_text(encoding="utf-8").count("\n") for path in FILES)
    assert lengths[len(lengths) // 2] <= 150


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
