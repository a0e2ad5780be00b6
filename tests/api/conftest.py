"""The shared dump, for `tensortap.open`."""

from __future__ import annotations

import pytest
from indexed_dump import write_indexed_dump


@pytest.fixture(scope="session")
def logdir(tmp_path_factory):
    return write_indexed_dump(tmp_path_factory.mktemp("logs"))
