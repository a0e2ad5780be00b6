"""Processes of tensortap's own do without pandas; what asks for it by name gets it."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

_PROGRAM = """
import sys
from tensortap.system.pandas_guard import hide_pandas
hide_pandas()
import numpy, pyarrow
column = pyarrow.array(numpy.arange(3))
column.to_numpy()
assert "pandas" not in sys.modules
assert pyarrow.table({"a": column}).to_pandas()["a"].tolist() == [0, 1, 2]
import pandas
assert pyarrow.array(pandas.Series([1, None])).to_pylist() == [1, None]
hide_pandas()
"""


@pytest.mark.skipif(find_spec("pandas") is None, reason="pandas is not installed")
def test_pandas_is_spared_until_it_is_asked_for() -> None:
    subprocess.run([sys.executable, "-c", _PROGRAM], check=True)
