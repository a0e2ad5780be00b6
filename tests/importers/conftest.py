"""One of everything that is imported, made once by the real programs, and importing it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared_folder import shared_folder

from tensortap.api.logdir import Log, open_logdir
from tensortap.api.run import Run
from tensortap.importers.importing import import_source
from tensortap.importers.run_builder import Imported

MAKER = Path(__file__).with_name("make_artefacts.py")


@pytest.fixture(scope="session")
def artefacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with them (see make_artefacts.py)."""

    def make(folder: Path) -> None:
        command = [sys.executable, str(MAKER), str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr[-4000:]

    return shared_folder(tmp_path_factory, "artefacts", make)


@pytest.fixture(scope="session")
def expected(artefacts: Path) -> dict[str, Any]:
    """The values that must come back."""
    with np.load(artefacts / "expected.npz") as arrays:
        return dict(arrays)


class Importing:
    """Imports sources into one log directory."""

    def __init__(self, artefacts: Path, logdir: Path) -> None:
        self.artefacts, self.logdir = artefacts, logdir
        self.last: Imported | None = None

    def __call__(self, source: str, run: str = "run") -> Run:
        """The run that a source became."""
        self.last = import_source(self.artefacts / source, self.logdir, run)
        return self.log.runs[self.last.runs[0]]

    @property
    def log(self) -> Log:
        return open_logdir(self.logdir)

    @property
    def notes(self) -> str:
        assert self.last is not None
        return " ".join(self.last.notes)


@pytest.fixture
def importing(artefacts: Path, tmp_path: Path) -> Importing:
    return Importing(artefacts, tmp_path / "logs")


Import = Callable[..., Run]
