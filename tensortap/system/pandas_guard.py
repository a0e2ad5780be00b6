"""Keeps pyarrow from importing pandas, in processes that do not need it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

import pyarrow as pa


def hide_pandas() -> None:
    """Hides pandas from pyarrow, for our own processes, which pass it no Series.

    pyarrow looks for pandas when it first converts anything, and that import is 0.4 s of one query and 45 MB.
    It looks once; code that requests pandas by name (`to_pandas`, an `import`) finds it all the same.
    """
    if "pandas" in sys.modules:
        return
    nowhere = _Nowhere()
    sys.meta_path.insert(0, nowhere)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(nowhere)


class _Nowhere(MetaPathFinder):
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        """Finds no pandas; all else is for the next finder."""
        if fullname == "pandas":
            raise ModuleNotFoundError("not needed here", name=fullname)
