"""Which files are the user's, and how much of them is embedded."""

from __future__ import annotations

import json
from pathlib import Path

import keras
import pytest

from tensortap.capture.tracing import source_stacks
from tensortap.capture.tracing.source_stacks import is_user_file, sources_of


def test_files_of_libraries_are_not_the_users(tmp_path: Path) -> None:
    for path in (keras.__file__, json.__file__, source_stacks.__file__, "<string>", "<frozen runpy>", ""):
        assert not is_user_file(path), path
    for folder in ("site-packages", "dist-packages"):
        assert not is_user_file(str(tmp_path / "lib" / folder / "package" / "module.py"))
    assert is_user_file(str(tmp_path / "train.py"))
    assert is_user_file(__file__)


def test_files_of_ours_are_not_the_users() -> None:
    package = Path(source_stacks.__file__).parents[2]
    own = [file for name in ("capture", "tf", "replay") for file in (package / name).rglob("*.py")]
    assert {
        package / "capture/step.py",
        package / "tf/internals.py",
        package / "replay/execution/loaded_call.py",
    } <= {*own}
    assert [file for file in own if is_user_file(str(file))] == []
    assert is_user_file(str(package / "cli/demo_model.py"))


@pytest.mark.parametrize("folder", ["capture", "tf", "replay/execution", "server", "tensortap/capture"])
def test_folders_of_the_user_may_have_the_names_of_ours(tmp_path: Path, folder: str) -> None:
    assert is_user_file(str(tmp_path / folder / "model.py"))


def test_embedded_text_has_a_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_stacks, "MAX_SOURCE", 100)
    monkeypatch.setattr(source_stacks, "MAX_SOURCES", 150)
    for name, size in (("large", 101), ("first", 90), ("second", 80), ("third", 40)):
        (tmp_path / f"{name}.py").write_text("#" * size)
    stack = tuple((str(tmp_path / f"{name}.py"), 1, "f") for name in ("large", "first", "second", "third"))
    found = sources_of([stack, stack])
    assert [Path(path).stem for path in found] == ["first", "third"]
    assert not sources_of([((str(tmp_path / "nowhere.py"), 1, "f"),)])
