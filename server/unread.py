"""Folders that could not be looked into, by names that the page may show."""

from __future__ import annotations

from pathlib import Path

from tensortap.dump import escaped
from tensortap.index import LogIndex


def unread_folders(log: LogIndex) -> list[dict[str, str]]:
    """Each as its own name below the log directory (`folder`), why (`reason`), and the way out (`hint`)."""
    return [
        {
            "folder": escaped(_name_of(log, folder)),
            "reason": error.strerror or type(error).__name__,
            "hint": "Let the user whom the server runs as read it"
            if isinstance(error, PermissionError)
            else "See what 'ls' of it says, and the system's log",
        }
        for folder, error in log.unread.items()
    ]


def _name_of(log: LogIndex, folder: Path) -> str:
    within = next((each for each in log.logdirs if each == folder or each in folder.parents), folder)
    return (within.name or str(within)) + str(folder)[len(str(within)) :]
