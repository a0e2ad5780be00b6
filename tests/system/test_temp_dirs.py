"""Folders of a process: those of killed ones go, those in use stay, whoever can see whom."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tensortap.core.names import new_worker_name
from tensortap.system.temp_dirs import remove_stale_folders, scratch_folder

CHECKOUT = Path(__file__).parents[2]


def test_a_folder_in_use_stays_although_its_process_is_not_to_be_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a container that has the host's name: processes of the other one look gone."""
    monkeypatch.setattr(sys.modules[scratch_folder.__module__], "is_gone", lambda host, pid: True)
    with scratch_folder(tmp_path, "making") as folder:
        remove_stale_folders(tmp_path, "making")
        assert folder.is_dir()
    assert not list(tmp_path.iterdir())
    folder.mkdir()
    remove_stale_folders(tmp_path, "making")
    assert not folder.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="has no locks of folders")
def test_what_a_process_of_the_same_number_left_goes(tmp_path: Path) -> None:
    """A server in a container is number 1, and so is the one that takes the place of a killed one."""
    left = tmp_path / f".making-{new_worker_name()}"
    left.mkdir()
    with scratch_folder(tmp_path, "making") as folder:
        assert list(tmp_path.iterdir()) == [folder]
        remove_stale_folders(tmp_path, "making")
        assert folder.is_dir()


FORKED = """
import os, sys
from tensortap.system.temp_dirs import temp_folder_until_exit
folder = temp_folder_until_exit()
fork = os.fork()
if not fork:
    sys.exit()
os.waitpid(fork, 0)
print(folder.is_dir())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="has no fork")
def test_a_fork_that_ends_leaves_its_parents_folder() -> None:
    assert subprocess.check_output([sys.executable, "-c", FORKED], text=True, timeout=60) == "True\n"


BESIDE_A_FIFO = """
import os, sys
from pathlib import Path
from tensortap.core.names import new_worker_name
from tensortap.system.temp_dirs import scratch_folder, remove_stale_folders
sys.modules[scratch_folder.__module__].is_gone = lambda host, pid: True
os.mkfifo(Path(sys.argv[1], f".making-{new_worker_name()}"))
remove_stale_folders(Path(sys.argv[1]), "making")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no FIFO")
def test_a_fifo_that_is_called_like_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    """Everybody may put one into the folder for temporary files."""
    subprocess.run([sys.executable, "-c", BESIDE_A_FIFO, str(tmp_path)], check=True, timeout=60)
    assert [path.is_fifo() for path in tmp_path.iterdir()] == [True]


def test_folders_of_others_and_what_a_link_leads_to_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among temporary files everybody may put something that is called like a folder of a killed process."""
    monkeypatch.setattr(sys.modules[scratch_folder.__module__], "is_gone", lambda host, pid: True)
    target = tmp_path / "mine" / "file"
    target.parent.mkdir()
    target.touch()
    (tmp_path / f".making-{new_worker_name()}").symlink_to(target.parent)
    left = tmp_path / f".making-{new_worker_name()}"
    left.mkdir()
    with monkeypatch.context() as patched:
        patched.setattr("os.geteuid", lambda: left.stat().st_uid + 1)
        remove_stale_folders(tmp_path, "making")
        assert left.is_dir() == hasattr(os, "geteuid")
    remove_stale_folders(tmp_path, "making")
    assert not left.exists() and target.exists()


def test_temporary_folders_are_made_in_one_place() -> None:
    """What a killed process leaves goes; a spool stays, as it has what was not uploaded."""
    rooms = [path.parent for path in CHECKOUT.glob("*/__init__.py") if path.parent.name != "tests"]
    made = re.compile(r"\b(mkdtemp|mkstemp|TemporaryDirectory|gettempdir)\(")
    found = {
        str(path.relative_to(CHECKOUT))
        for room in rooms
        for path in room.rglob("*.py")
        if made.search(path.read_text("utf-8"))
    }
    assert found == {"tensortap/system/temp_dirs.py", "tensortap/dump/write/spool.py"}
