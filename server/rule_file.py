"""The server's file of rule settings, read again whenever it changes."""

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
    """Rule settings of a file.

    Attributes:
        table: as `parse_settings` takes it. version: how often usable settings were read.
        status: the file's name and its error, as answers report them; None without a file.
    """

    table: Mapping[str, Any] = field(default_factory=dict)
    version: int = 0
    status: Mapping[str, str | None] | None = None


class RuleFile:
    """Reads a file again whenever it has changed; thread-safe.

    While it is unreadable or invalid, the settings read before stay in force.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._state: tuple[int, int, int] | None = None
        self._rules = Rules()
        self._lock = threading.Lock()

    def read(self) -> Rules:
        """The current settings."""
        if self._path is None:
            return self._rules
        with self._lock:
            try:
                found = self._path.stat()
                state = (found.st_mtime_ns, found.st_size, found.st_ino)
                if state != self._state:
                    self._state = state
                    self._apply(read_table(self._path))
            except TensortapError as error:
                self._report(error.message, error.hint)
            except OSError as error:
                self._state = None
                self._report(
                    f"{self._path.name} cannot be read: {error.strerror or 'the system said no'}.", ""
                )
            return self._rules

    def _apply(self, table: Mapping[str, Any]) -> None:
        assert self._path is not None
        parse_settings(table).apply(all_rules())
        status = {"name": self._path.name, "error": None, "hint": ""}
        self._rules = Rules(table, self._rules.version + 1, status)

    def _report(self, message: str, hint: str) -> None:
        assert self._path is not None
        message = message.replace(str(self._path), self._path.name)
        status = {"name": self._path.name, "error": message, "hint": hint}
        self._rules = Rules(self._rules.table, self._rules.version, status)
