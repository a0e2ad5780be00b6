"""The rules of ARCHITECTURE.md, enforced on every file."""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
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
MOST_MODULES = 15  # of a package, as a stranger takes them in at a glance; a command is a module
FILES = [
    path for folder in ("tensortap", "server", "plugin") for path in sorted((CHECKOUT / folder).rglob("*.py"))
]
TYPESCRIPT = [
    path
    for folder in ("state/tensors", "views/value", "model/value")
    for path in sorted((CHECKOUT / "frontend/src" / folder).glob("*.ts*"))
]
NAMES = [str(path.relative_to(CHECKOUT)) for path in FILES]
PACKAGES = sorted({path.parent for path in FILES})
ROW = re.compile(r"^\| `(\w+)` \| .* \| (.*) \|$", re.MULTILINE)  # package, job, imports


def test_the_arrows_of_the_document_are_those_of_the_code() -> None:
    """pyproject.toml (tool.importlinter) says which arrows there may be, the table which there are."""
    reported = {
        package: set(re.findall(r"\w+", imports))
        for package, imports in ROW.findall((CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    }
    found: dict[str, set[str]] = {}
    for path in FILES:
        package = package_of(path)
        if package is not None:
            found.setdefault(package, set()).update(
                target for target in imported_packages(path) if target != package
            )
    assert reported == found


def test_the_files_and_functions_of_the_document_exist() -> None:
    text = (CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:tensortap|server|frontend)/[\w/.]+)(?::([\w.]+))?`", text)
    assert len(named) > 30
    for path, name in named:
        assert (CHECKOUT / path).exists(), path
        if name:
            last = re.escape(name.split(".")[-1])
            code = (CHECKOUT / path).read_text(encoding="utf-8")
            assert re.search(
                rf"^ *(def|class|export (const|function)) {last}\b|^{last}\b", code, re.MULTILINE
            ), f"{path}:{name}"


HOP = re.compile(r"^(\d+)\. `([\w/.]+\.py):([\w.]+)`(.*)$", re.MULTILINE)


def test_each_hop_of_a_tensor_calls_the_next() -> None:
    """From `fit` to the pixel, by go-to-definition; where a hop is not a call, the document says so."""
    text = (CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    hops = HOP.findall(text)
    assert [int(number) for number, *_ in hops] == list(range(1, len(hops) + 1))
    assert len(hops) >= 14
    for (_, path, name, _), (number, _, following, how) in itertools.pairwise(hops):
        if "*(" not in how:
            used = names_used(CHECKOUT / path, name)
            assert following.rpartition(".")[2] in used, f"{name} does not call hop {number}, {following}"
    for number, _, _, how in hops:
        mentioned = re.findall(r"`(?:\w+\.)?(\w+)`", how)
        known = {each for other in (*FILES, *TYPESCRIPT) for each in words_of(other)}
        assert known.issuperset(mentioned), f"hop {number}"


def names_used(path: Path, name: str) -> set[str]:
    """What a function calls or names, through the functions of its own module that it calls."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    owner, _, last = name.rpartition(".")
    scope = next((n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == owner), tree)
    waiting = [next(n for n in ast.walk(scope) if isinstance(n, ast.FunctionDef) and n.name == last)]
    found: set[str] = set()
    while waiting:
        fresh = {
            each.attr if isinstance(each, ast.Attribute) else each.id
            for each in ast.walk(waiting.pop())
            if isinstance(each, ast.Attribute | ast.Name)
        } - found
        found |= fresh
        waiting += [functions[each] for each in fresh & functions.keys()]
    return found


@cache
def words_of(path: Path) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", path.read_text(encoding="utf-8")))


def test_files_that_packages_name_exist() -> None:
    """`module.py` and `folder/` in backticks, in the docstring of a package."""
    wrong = [
        f"{package.relative_to(CHECKOUT)}: {named}"
        for package in PACKAGES
        for named in re.findall(
            r"`([\w/]+(?:\.py|/))`",
            ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or "",
        )
        if not any((folder / named).exists() for folder in (package, *package.parents[:2], CHECKOUT))
    ]
    assert not wrong


def test_reading_begins_in_the_package() -> None:
    """The modules after "Begin with" in the docstring of a package lie in that package."""
    wrong = []
    for package in PACKAGES:
        text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
        for named in re.findall(r"`([\w/]+)(?:\.py|/)?`", text.partition("Begin with")[2]):
            if not any((package / f"{named}{end}").exists() for end in (".py", "")):
                wrong.append(f"{package.relative_to(CHECKOUT)}: {named}")
    assert not wrong


def test_names_that_packages_and_the_document_name_exist() -> None:
    """Modules, classes, functions and fields in backticks, in docstrings of packages and ARCHITECTURE.md."""
    doors = {package / "__init__.py" for package in PACKAGES}
    texts = {
        str(door.relative_to(CHECKOUT)): ast.get_docstring(ast.parse(door.read_text(encoding="utf-8"))) or ""
        for door in doors
    }
    texts["ARCHITECTURE.md"] = (CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    code = [path for path in FILES if path not in doors]
    known = {word for path in (*code, *(CHECKOUT / "frontend/src").rglob("*.ts*")) for word in words_of(path)}
    known |= {part.partition(".")[0] for path in code for part in path.relative_to(CHECKOUT).parts}
    wrong = [
        f"{source}: {named}"
        for source, text in texts.items()
        for named in re.findall(r"`([A-Za-z_]\w*(?:\.\w+)*)`", text)
        if named.rpartition(".")[2] not in known and not (CHECKOUT / named).exists()
    ]
    assert not wrong


def test_private_names_stay_in_their_module() -> None:
    wrong = [
        f"{path.relative_to(CHECKOUT)}:{node.lineno}: {alias.name}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]
    assert not wrong


def package_of(path: Path) -> str | None:
    """The part of tensortap that a file belongs to; None for what lies above all parts."""
    parts = path.relative_to(CHECKOUT).parts
    parts = parts[1:] if parts[0] == "tensortap" else parts
    return parts[0] if len(parts) > 1 else None


def imported_packages(path: Path) -> set[str]:
    """The parts of tensortap whose modules a file imports, but for what only a type checker reads."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    return {
        name.split(".")[1]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
        if name.startswith("tensortap.")
    }


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_a_package_is_small_and_says_what_lives_there(package: Path) -> None:
    modules = [path.name for path in package.glob("*.py") if path.name != "__init__.py"]
    assert len(modules) <= MOST_MODULES, "group what belongs together into a package, or merge it"
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert len(docstring.splitlines()) >= 3, "what lives here, what it may import, where to begin reading"


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
