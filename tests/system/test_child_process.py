"""Processes that tensortap starts: they find tensortap, and nothing else of the folder they start in."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tensortap.core import errors, progress
from tensortap.system import child_bootstrap, subprocess_worker

HELLO = "import json, sys; print(json.dumps(['hello', *sys.argv[1:]]))"
ASKING = (
    "import json; from tensortap.system.subprocess_worker import own_command;"
    "print(json.dumps(own_command('hello')))"
)


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """A folder with the package in it, as `pip install --target .` makes it, and a module of somebody's."""
    package = tmp_path / "tensortap"
    for module in (subprocess_worker, child_bootstrap, errors, progress):
        folder = package / module.__name__.split(".")[1]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").touch()
        shutil.copy(module.__file__, folder)
    (package / "__init__.py").touch()
    (package / "hello.py").write_text(HELLO)
    return tmp_path


def run(folder: Path, *arguments: str) -> str:
    """What Python prints there; `-S`: what is installed, tensortap too, is not to be found."""
    command = [sys.executable, "-S", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=60).stdout


def test_a_package_beside_the_script_is_found_and_no_module_beside_it(beside: Path) -> None:
    command = json.loads(run(beside, "-c", ASKING))
    assert str(beside) in command
    (beside / "json.py").write_text("open('planted', 'w').close()")
    assert json.loads(run(beside, *command[1:], "more")) == ["hello", "more"]
    assert not (beside / "planted").exists()


def test_a_place_that_python_does_not_look_at_is_not_added(
    beside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of an editable install, whose parent may hold anything."""
    monkeypatch.setattr(subprocess_worker, "_ROOT", beside)
    assert subprocess_worker.own_command("hello")[-2:] == ["", "tensortap.hello"]
    monkeypatch.chdir(beside)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert subprocess_worker.own_command("hello")[-2:] == [str(beside), "tensortap.hello"]
