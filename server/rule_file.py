"""The file of rule settings that a server was given: read again when it changes."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tensortap.analysis.rules.registry import all_rules
from tensortap.analysis.rules.settings import parse_settings, read_table
from tensortap.core.errors import TensortapError


@dataclass(frozen=True, slots=True)
class Rules:
    """What a file says.

    Attributes:
        table: as `parse_settings` takes it. read: how often something was read that could be used.
        told: what answers say of the file: its name, and what is wrong with it; None without one.
    """

    table: Mapping[str, Any] = field(default_factory=dict)
    read: int = 0
    told: Mapping[str, str | None] | None = None


class RuleFile:
    """Reads a file whenever it is another one than before. Any number of threads may ask.

    While it cannot be read, or says something impossible, what it said before holds.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._state: tuple[int, int, int] | None = None
        self._rules = Rules()
        self._lock = threading.Lock()

    def read(self) -> Rules:
        """What it says now."""
        if self._path is None:
            return self._rules
        with self._lock:
            try:
                found = self._path.stat()
                state = (found.st_mtime_ns, found.st_size, found.st_ino)
                if state != self._state:
                    self._state = state
                    self._take(read_table(self._path))
            except TensortapError as error:
                self._refuse(error.message, error.hint)
            except OSError as error:
                self._state = None
                self._refuse(
                    f"{self._path.name} cannot be read: {error.strerror or 'the system said no'}.", ""
                )
            return self._rules

    def _take(self, table: Mapping[str, Any]) -> None:
        assert self._path is not None
        parse_settings(table).apply(all_rules())
        told = {"name": self._path.name, "error": None, "hint": ""}
        self._rules = Rules(table, self._rules.read + 1, told)

    def _refuse(self, message: str, hint: str) -> None:
        assert self._path is not None
        message = message.replace(str(self._path), self._path.name)
        told = {"name": self._path.name, "error": message, "hint": hint}
        self._rules = Rules(self._rules.table, self._rules.read, told)
