"""Folders that could not be looked into, by names that the page may show."""

from __future__ import annotations

from tensortap.dump import escaped
from tensortap.index import LogIndex


def unread_folders(log: LogIndex) -> list[dict[str, str]]:
    """Each as what the list of runs calls its log directory, and the way from there (`folder`), why
    (`reason`), and the way out (`hint`)."""
    return [
        {
            "folder": escaped(log.name_of(folder)),
            "reason": error.strerror or type(error).__name__,
            "hint": "Let the user whom the server runs as read it"
            if isinstance(error, PermissionError)
            else "See what 'ls' of it says, and the system's log",
        }
        for folder, error in log.unread.items()
    ]
