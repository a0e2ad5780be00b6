"""A small dump for TensorBoard to show."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_dump import write_dump


@pytest.fixture(scope="session")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("logs")
    write_dump(found)
    return found
