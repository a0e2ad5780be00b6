"""The type of the fixture `run_named`."""

from __future__ import annotations

from collections.abc import Callable

from tensortap.index.run_index import RunIndex

Get = Callable[[str], RunIndex]
