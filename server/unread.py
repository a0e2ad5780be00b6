"""Folders that could not be looked into, by names that the page may show."""

from __future__ import annotations

from itertools import islice

from tensortap.core.text import escaped
from tensortap.index.logdir_index import LogIndex

MOST = 10  # folders that are told: each poll of each page carries them, and others' may be thousands


def unread_folders(log: LogIndex) -> list[dict[str, str]]:
    """The first `MOST`, each as what the list of runs calls its log directory, and the way from there
    (`folder`), why (`reason`), and the way out (`hint`)."""
    return [
        {
            "folder": escaped(log.name_of(folder)),
            "reason": error.strerror or type(error).__name__,
            "hint": "Let the user whom the server runs as read it"
            if isinstance(error, PermissionError)
            else "See what 'ls' of it says, and the system's log",
        }
        for folder, error in islice(log.unread.items(), MOST)
    ]
